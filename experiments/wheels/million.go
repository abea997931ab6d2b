package wheels

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/declared"
	"tcpwheel/wheel"
)

// millionPlan is the plan of the study.
type millionPlan struct {
	Connections int               `plan:"connections" min:"1000" max:"50000000"`
	Keepalive   time.Duration     `plan:"keepalive" min:"1s" max:"24h"`
	Tick        time.Duration     `plan:"tick" min:"1us" max:"1s"`
	Facilities  []millionFacility `plan:"facilities"`
	Rotations   int               `plan:"rotations" min:"1" max:"1000"`
	Active      int               `plan:"active" min:"1" max:"1000"`
	Packets     int               `plan:"packets" min:"1" max:"10000000"`
	Watched     time.Duration     `plan:"watched" min:"10ms" max:"1h"`
	RTO         time.Duration     `plan:"rto" min:"1ms" max:"1m"`
	DelAck      time.Duration     `plan:"delack" min:"1ms" max:"500ms"`
	Seeds       int               `plan:"seeds" min:"1" max:"100"`
}

// interval returns the keepalive interval in ticks.
func (p *millionPlan) interval() uint64 { return uint64((p.Keepalive + p.Tick - 1) / p.Tick) }

// millionFacility is a facility by its text.
type millionFacility struct {
	Text, Scheme  string
	Slots, Levels int // 0 is the default
	Lazy          bool
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *millionFacility) UnmarshalText(text []byte) error {
	*f = millionFacility{Text: string(text)}
	for i, word := range strings.Fields(f.Text) {
		key, value, has := strings.Cut(word, "=")
		n, err := strconv.Atoi(value)
		switch {
		case i == 0 && !has:
			f.Scheme = word
		case key == "slots" && has && err == nil:
			f.Slots = n
		case key == "levels" && has && err == nil:
			f.Levels = n
		case word == "lazy":
			f.Lazy = true
		default:
			return fmt.Errorf("%q: want slots=, levels= or lazy after the scheme", word)
		}
	}
	if f.Scheme == "runtime" {
		return fmt.Errorf("scheme %q has no virtual time", f.Scheme)
	}
	w, err := f.open(time.Millisecond, false)
	if err == nil && f.Slots == 0 && strings.HasPrefix(w.Scheme(), "scheme6") {
		err = fmt.Errorf("%q: want slots= too", f.Text)
	}
	return err
}

// Allowed implements plan.Allower.
func (f *millionFacility) Allowed() string {
	return "a scheme of package wheel, then slots=, levels= or lazy"
}

// String returns the text.
func (f millionFacility) String() string { return f.Text }

func (f *millionFacility) open(tick time.Duration, count bool) (wheel.Facility, error) {
	return wheel.New(f.Scheme, wheel.Config{Tick: tick, Slots: f.Slots, Levels: f.Levels, Lazy: f.Lazy, Count: count})
}

// hashed reports whether the facility is a hashed wheel, Scheme 6.
func (f *millionFacility) hashed() bool { return strings.HasPrefix(f.Scheme, "scheme6") }

// millionMode is the behaviour of the connections.
type millionMode string

// The modes.
const (
	millionIdle   millionMode = "idle"   // no timer expires
	millionSteady millionMode = "steady" // keepalive timers expire
	millionActive millionMode = "active" // keepalive timers expire, and some connections are active
)

// millionCell is the counts of one facility and mode under one seed.
type millionCell struct {
	Facility string      `json:"facility"`
	Mode     millionMode `json:"mode"`
	Seed     int         `json:"seed"`

	Ticks    uint64       `json:"ticks"`
	Counts   wheel.Counts `json:"counts"`
	Busiest  uint64       `json:"busiest"`  // visits, moves and comparisons of the tick with the most
	Expiring uint64       `json:"expiring"` // expiries of the tick with the most
	Calls    uint64       `json:"calls"`    // of START and STOP
}

// millionRow is a cell with its facility.
type millionRow struct {
	Facility string `json:"facility"`
	Scheme   string `json:"scheme"`
	Style    string `json:"style" help:"the scheme, and whether it is lazy"`
	Slots    int    `json:"slots" help:"0 is the scheme's default"`
	Levels   int    `json:"levels" help:"0 is the scheme's default"`
	Lazy     bool   `json:"lazy" help:"by a word of the facility; the packed Scheme 6 always is"`
	Hashed   bool   `json:"hashed" help:"Scheme 6 in any layout"`
	Mode     string `json:"mode" help:"of the connections: idle, steady or active"`
	Seed     int    `json:"seed"`

	Ticks       uint64 `json:"ticks"`
	Visits      uint64 `json:"visits" help:"of timers by ticks"`
	Moves       uint64 `json:"moves"`
	Migrations  uint64 `json:"migrations"`
	Comparisons uint64 `json:"comparisons"`
	Expiries    uint64 `json:"expiries"`
	Wakeups     uint64 `json:"wakeups"`
	Busiest     uint64 `json:"busiest" help:"visits, moves and comparisons of the tick with the most"`
	Calls       uint64 `json:"calls" help:"of START and STOP"`
}

// millionRows returns the cells with their facilities.
func millionRows(p *millionPlan, cells []millionCell) (all []millionRow) {
	for _, c := range cells {
		i := slices.IndexFunc(p.Facilities, func(f millionFacility) bool { return f.Text == c.Facility })
		f, n := &p.Facilities[i], c.Counts
		row := millionRow{
			Facility: c.Facility, Scheme: f.Scheme, Style: f.Scheme, Slots: f.Slots, Levels: f.Levels, Lazy: f.Lazy,
			Hashed: f.hashed(), Mode: string(c.Mode), Seed: c.Seed,
			Ticks: c.Ticks, Visits: n.TickVisits, Moves: n.Moves, Migrations: n.Migrations, Comparisons: n.Comparisons,
			Expiries: n.Expiries, Wakeups: n.Wakeups, Busiest: c.Busiest, Calls: c.Calls,
		}
		if f.Lazy {
			row.Style += " lazy"
		}
		all = append(all, row)
	}
	return all
}

// Million is the study.
var Million = declared.DefineRows(experiments.Spec[millionPlan, millionCell]{
	ID: "E22", Name: "million", Bed: "wheel", Class: experiments.Shape, Folder: "wheels/million", Files: files,
	Check: func(p *millionPlan) error {
		if p.Keepalive < 2*p.Watched || p.interval() < 1000 {
			return fmt.Errorf("keepalive: %v, want at least twice %v (watched), and 1000 ticks", p.Keepalive, p.Watched)
		}
		return nil
	},
	Cells: millionCells,
	Live:  []experiments.LivePart[millionPlan]{{Name: "clock", Run: millionClock}},
}, millionRows)
