package wheel

// Counts are the elementary operations that a facility has done since it was made, or since ResetCounts: what the
// paper's Table II is about, exact and the same on every machine. A facility counts only when Config.Count is set.
//
// A visit is one look at one timer record: by START in search of the place, by STOP in search of the record, or by
// PER TICK BOOKKEEPING to see whether it is due. The one visit in which a timer expires is among the TickVisits.
type Counts struct {
	Starts   uint64 `json:"starts"`   // calls of Schedule and ScheduleRange that armed or moved a timer
	Stops    uint64 `json:"stops"`    // calls of Stop and Free that stopped a running timer
	Expiries uint64 `json:"expiries"` // timers handed to EXPIRY PROCESSING

	StartVisits uint64 `json:"start_visits"` // records looked at by START, the started one not counted
	StopVisits  uint64 `json:"stop_visits"`  // records looked at by STOP, the stopped one not counted
	TickVisits  uint64 `json:"tick_visits"`  // records looked at by PER TICK BOOKKEEPING

	Comparisons uint64 `json:"comparisons"` // comparisons of two expiry ticks, to sort
	Moves       uint64 `json:"moves"`       // records put in another place after START had placed them, migrations included
	Migrations  uint64 `json:"migrations"`  // moves to a finer wheel of the hierarchy (Scheme 7)
	Wakeups     uint64 `json:"wakeups"`     // ticks on which there was a busy slot to look at (Appendix A's interrupts)
}

// Visits returns all visits together, whichever routine made them.
func (c Counts) Visits() uint64 { return c.StartVisits + c.StopVisits + c.TickVisits }

// Sub returns what was counted since before.
func (c Counts) Sub(before Counts) Counts {
	return Counts{
		Starts:      c.Starts - before.Starts,
		Stops:       c.Stops - before.Stops,
		Expiries:    c.Expiries - before.Expiries,
		StartVisits: c.StartVisits - before.StartVisits,
		StopVisits:  c.StopVisits - before.StopVisits,
		TickVisits:  c.TickVisits - before.TickVisits,
		Comparisons: c.Comparisons - before.Comparisons,
		Moves:       c.Moves - before.Moves,
		Migrations:  c.Migrations - before.Migrations,
		Wakeups:     c.Wakeups - before.Wakeups,
	}
}
