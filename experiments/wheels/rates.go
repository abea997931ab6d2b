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
	Per    bool          `json:"per_segment"` // one timer for each segment
	Trip   time.Duration `json:"trip_ns"`     // round trip without a queue
	Busy   int           `json:"busy"`        // packets a second of many connections; 0 means one flow

	Watched time.Duration `json:"watched_ns"`
	Sent    uint64        `json:"sent"`     // data segments that the client sent
	Arrived uint64        `json:"arrived"`  // data segments that the server received
	AcksIn  uint64        `json:"acks_in"`  // segments that the client received
	AcksOut uint64        `json:"acks_out"` // segments that the server sent
	// Retransmissions of the client, from the start of the run.
	Retransmissions uint64       `json:"retransmissions"`
	Sides           [2]ratesSide `json:"sides"` // the client, and the server
}

// ratesSide is what one host did with its timers.
type ratesSide struct {
	Kinds []ratesKind `json:"kinds"` // without the kinds that did nothing
	// Peak is the greatest number of timers that ran at once, of all kinds.
	Peak int `json:"peak"`
	// The wheel's own counts over the same time. Looks are its visits of timers.
	Starts   uint64 `json:"starts"`
	Stops    uint64 `json:"stops"`
	Expiries uint64 `json:"expiries"`
	Looks    uint64 `json:"looks"`
}

// ratesKind counts the operations on the timers of one kind.
type ratesKind struct {
	Name    string `json:"name"`
	Started uint64 `json:"started"` // starts of a timer that did not run
	Moved   uint64 `json:"moved"`   // starts of a timer that ran
	Stopped uint64 `json:"stopped"`
	Expired uint64 `json:"expired"`
	Before  int    `json:"before"` // timers that ran at the start
	After   int    `json:"after"`  // and at the end

	Mean  float64       `json:"mean"`     // running timers, mean over time
	Lived time.Duration `json:"lived_ns"` // mean time from start to stop or expiry
}

// ratesRow is the timers of one kind of one host in a run.
type ratesRow struct {
	Timers string        `json:"timers"`
	Policy string        `json:"policy" help:"the timers without their options"`
	Per    bool          `json:"per_segment" help:"one timer for each segment"`
	Trip   time.Duration `json:"trip_ns" help:"round trip without a queue"`
	Busy   int           `json:"busy" unit:"packets per second" help:"of many connections; 0 is one flow"`

	Sent            uint64 `json:"sent" unit:"segments" help:"with data, by the client"`
	Arrived         uint64 `json:"arrived" unit:"segments" help:"with data, at the server"`
	AcksIn          uint64 `json:"acks_in" unit:"segments" help:"that the client received"`
	AcksOut         uint64 `json:"acks_out" unit:"segments" help:"that the server sent"`
	Retransmissions uint64 `json:"retransmissions" help:"of the client, from the start of the run"`

	Side    string        `json:"side" help:"client or server"`
	Kind    string        `json:"kind" help:"of timer; all is all of them"`
	Started uint64        `json:"started" help:"starts of a timer that did not run"`
	Moved   uint64        `json:"moved" help:"starts of a timer that ran"`
	Stopped uint64        `json:"stopped"`
	Expired uint64        `json:"expired"`
	Before  int           `json:"before" unit:"timers" help:"that ran at the start"`
	After   int           `json:"after" unit:"timers" help:"that ran at the end"`
	Mean    float64       `json:"mean_running" unit:"timers" help:"that ran, mean over time"`
	Lived   time.Duration `json:"lived_ns" help:"mean time from start to stop or expiry"`

	Peak     int    `json:"peak" unit:"timers" help:"that ran at once at most, of kind all"`
	Starts   uint64 `json:"wheel_starts" help:"counted by the wheel, of kind all"`
	Stops    uint64 `json:"wheel_stops" help:"the same"`
	Expiries uint64 `json:"wheel_expiries" help:"the same"`
	Looks    uint64 `json:"looks" unit:"visits" help:"of timers by the wheel, of kind all"`
}

// ratesRows returns a row for each kind of timer of each host. Those of claims are always there.
func ratesRows(_ *ratesPlan, cells []ratesCell) (all []ratesRow) {
	for _, c := range cells {
		for side, s := range c.Sides {
			row := ratesRow{
				Timers: c.Timers, Policy: strings.Fields(c.Timers)[0], Per: c.Per, Trip: c.Trip, Busy: c.Busy,
				Sent: c.Sent, Arrived: c.Arrived, AcksIn: c.AcksIn, AcksOut: c.AcksOut,
				Retransmissions: c.Retransmissions, Side: []string{"client", "server"}[side],
			}
			add := func(name string, k ratesKind) {
				r := row
				r.Kind, r.Started, r.Moved, r.Stopped, r.Expired = name, k.Started, k.Moved, k.Stopped, k.Expired
				r.Before, r.After, r.Mean, r.Lived = k.Before, k.After, k.Mean, k.Lived
				all = append(all, r)
			}
			for _, k := range s.Kinds {
				add(k.Name, k)
			}
			for _, name := range []string{"rexmit", "delack"} {
				if k := s.kind(name); k == (ratesKind{Name: name}) {
					add(name, k)
				}
			}
			row.Peak, row.Starts, row.Stops, row.Expiries, row.Looks = s.Peak, s.Starts, s.Stops, s.Expiries, s.Looks
			add("all", s.all())
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
	ID: "E21", Name: "rates", Class: experiments.Exact, Folder: "wheels/rates", Files: files,
	Cells: ratesCells,
}, ratesRows)
