package wheels

import (
	"strings"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/declared"
	"tcpwheel/experiments/internal/testbed"
)

// ratesPlan is the plan of the study.
type ratesPlan struct {
	Rate       int              `plan:"rate" unit:"rate" min:"1000000" max:"100000000000"`
	Overhead   int              `plan:"overhead" min:"0" max:"1000"`
	RoundTrips []time.Duration  `plan:"round_trips" min:"100us" max:"1s" order:"rising"`
	Window     float64          `plan:"window" min:"1" max:"2"`
	Watched    time.Duration    `plan:"watched" min:"10ms" max:"1m"`
	Settle     time.Duration    `plan:"settle" min:"100ms" max:"1m"`
	Timers     []testbed.Timers `plan:"timers"`

	Connections   int           `plan:"connections" min:"1" max:"10000"`
	Busy          []int         `plan:"busy" min:"1000" max:"1000000"`
	BusyRoundTrip time.Duration `plan:"busy_round_trip" min:"100us" max:"1s"`
}

// ratesCell is the counts of one flow, or of many connections, over the time Watched.
type ratesCell struct {
	Timers string        `json:"timers"`
	Per    bool          `json:"per_segment" help:"one timer for each segment"`
	Trip   time.Duration `json:"trip_ns" help:"round trip without a queue"`
	Busy   int           `json:"busy" unit:"packets per second" help:"of many connections; 0 is one flow"`

	Watched         time.Duration `json:"watched_ns" help:"the time of all counts"`
	Sent            uint64        `json:"sent" unit:"segments" help:"with data, by the client"`
	Arrived         uint64        `json:"arrived" unit:"segments" help:"with data, at the server"`
	AcksIn          uint64        `json:"acks_in" unit:"segments" help:"that the client received"`
	AcksOut         uint64        `json:"acks_out" unit:"segments" help:"that the server sent"`
	Retransmissions uint64        `json:"retransmissions" help:"of the client, from the start of the run"`
	Sides           [2]ratesSide  `json:"sides"` // the client, and the server
}

// ratesSide is what one host did with its timers: the kinds that did anything, and the wheel's own
// counts over the same time.
type ratesSide struct {
	Kinds    []ratesKind `json:"kinds"`
	Peak     int         `json:"peak" unit:"timers" help:"that ran at once at most, of kind all"`
	Starts   uint64      `json:"starts" column:"wheel_starts" help:"counted by the wheel, of kind all"`
	Stops    uint64      `json:"stops" column:"wheel_stops" help:"the same"`
	Expiries uint64      `json:"expiries" column:"wheel_expiries" help:"the same"`
	Looks    uint64      `json:"looks" unit:"visits" help:"of timers by the wheel, of kind all"`
}

// ratesKind counts the operations on the timers of one kind.
type ratesKind struct {
	Name    string        `json:"name" column:"kind" help:"of timer; all is all of them"`
	Started uint64        `json:"started" help:"starts of a timer that did not run"`
	Moved   uint64        `json:"moved" help:"starts of a timer that ran"`
	Stopped uint64        `json:"stopped"`
	Expired uint64        `json:"expired"`
	Before  int           `json:"before" unit:"timers" help:"that ran at the start"`
	After   int           `json:"after" unit:"timers" help:"that ran at the end"`
	Mean    float64       `json:"mean" column:"mean_running" unit:"timers" help:"that ran, mean over time"`
	Lived   time.Duration `json:"lived_ns" help:"mean time from start to stop or expiry"`
}

// ratesRow is the timers of one kind of one host in a run.
type ratesRow struct {
	ratesCell
	Policy string `json:"policy" help:"the timers without their options"`
	Side   string `json:"side" help:"client or server"`
	ratesKind
	ratesSide
}

// ratesRows returns a row for each kind of timer of each host. Those of claims are always there.
func ratesRows(_ *ratesPlan, cells []ratesCell) (all []ratesRow) {
	for _, c := range cells {
		for side, s := range c.Sides {
			row := ratesRow{ratesCell: c, Policy: strings.Fields(c.Timers)[0], Side: []string{"client", "server"}[side]}
			for _, row.ratesKind = range s.Kinds {
				all = append(all, row)
			}
			for _, name := range []string{"rexmit", "delack"} {
				if row.ratesKind = s.kind(name); row.ratesKind == (ratesKind{Name: name}) {
					all = append(all, row)
				}
			}
			row.ratesKind, row.ratesSide = s.all(), s
			row.Name = "all"
			all = append(all, row)
		}
	}
	return all
}

// kind returns the counts of one kind, 0 if none.
func (s *ratesSide) kind(name string) ratesKind {
	for _, k := range s.Kinds {
		if k.Name == name {
			return k
		}
	}
	return ratesKind{Name: name}
}

// all returns the sums over all kinds.
func (s *ratesSide) all() (sum ratesKind) {
	for _, k := range s.Kinds {
		sum.Started += k.Started
		sum.Moved += k.Moved
		sum.Stopped += k.Stopped
		sum.Expired += k.Expired
		sum.Before += k.Before
		sum.After += k.After
		sum.Mean += k.Mean
	}
	return sum
}

// Rates is study E21: how often TCP starts, moves and stops timers.
var Rates = declared.DefineRows(experiments.Spec[ratesPlan, ratesCell]{
	ID: "E21", Name: "rates", Bed: "pair", Class: experiments.Exact, Folder: "wheels/rates", Files: files,
	Cells: ratesCells,
}, ratesRows)
