package wheel

// Counts are the elementary operations of a facility since it was made or since ResetCounts: the
// subject of the paper's Table II, exact and the same on every machine. A facility counts only if
// Config.Count is set.
//
// A visit is one look at one timer record: by START to find the place, by STOP to find the
// record, or by PER TICK BOOKKEEPING to see whether it is due. The last look at an expiring timer
// is a TickVisit.
type Counts struct {
	Starts   uint64 `json:"starts"`   // calls that armed or moved a timer
	Stops    uint64 `json:"stops"`    // calls of Stop and Free that stopped a running timer
	Expiries uint64 `json:"expiries"` // timers passed to EXPIRY PROCESSING

	StartVisits uint64 `json:"start_visits"` // records looked at by START, without the started one
	StopVisits  uint64 `json:"stop_visits"`  // records looked at by STOP, without the stopped one
	TickVisits  uint64 `json:"tick_visits"`  // records looked at by PER TICK BOOKKEEPING

	Comparisons uint64 `json:"comparisons"` // comparisons of two expiry ticks, to sort
	Moves       uint64 `json:"moves"`       // records moved after START, migrations included
	Migrations  uint64 `json:"migrations"`  // moves to a finer wheel of the hierarchy (Scheme 7)
	Wakeups     uint64 `json:"wakeups"`     // ticks with a busy slot (Appendix A's interrupts)
}

// Visits returns the sum of all visits.
func (c Counts) Visits() uint64 { return c.StartVisits + c.StopVisits + c.TickVisits }

// Sub returns the counts since before.
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
