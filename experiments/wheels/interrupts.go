package wheels

import (
	"fmt"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/stat"
	"tcpwheel/wheel"
)

// interruptsPlan is the plan of the study.
type interruptsPlan struct {
	Intervals []int `plan:"intervals" min:"1" max:"1000000000" order:"rising"`
	Phases    int   `plan:"phases" min:"1" max:"100000"`
	Timers    []int `plan:"timers" min:"1" max:"1000000" order:"rising"`
	Mean      int   `plan:"mean" min:"16" max:"1000000"`
	Turns     int   `plan:"turns" min:"1" max:"1000"`
	Seeds     int   `plan:"seeds" min:"1" max:"1000"`
}

// interruptsCell is what was counted in one facility under one seed.
type interruptsCell struct {
	Facility string          `json:"facility"`
	Seed     int             `json:"seed"`
	Alone    []interruptsRun `json:"alone"`    // by interval, one timer at a time
	Together []interruptsRun `json:"together"` // by interval, timers that start together
	Many     []interruptsRun `json:"many"`     // by number of timers
}

// interruptsRun is how often the host was woken.
type interruptsRun struct {
	Timers     int    `json:"timers"`
	Interval   int    `json:"interval"` // or its mean
	Interrupts uint64 `json:"interrupts"`
	Most       uint64 `json:"most,omitempty"`   // for one timer
	Across     uint64 `json:"across,omitempty"` // for one that waits across the end of the last wheel of a hierarchy
	Expiries   uint64 `json:"expiries"`
	Ticks      uint64 `json:"ticks,omitempty"`     // that passed
	Uncounted  bool   `json:"uncounted,omitempty"` // the facility's own count differs
}

// Interrupts is the study.
var Interrupts = experiments.Define(experiments.Spec[interruptsPlan, interruptsCell]{
	ID: "E6", Name: "interrupts", Class: experiments.Exact, Folder: "wheels/interrupts", Files: files,
	Question: "How often must a host wake up for its timers if empty slots cost nothing?",
	Cells:    interruptsCells,
	Judge:    interruptsJudge,
})

// interruptsFacility is a wheel, or what stands beside it.
type interruptsFacility struct {
	name, scheme  string
	slots, levels int
}

var interruptsFacilities = []interruptsFacility{
	{"Scheme 6, 256 slots", "scheme6-list", 256, 0},
	{"Scheme 6, 4096 slots", "scheme6-list", 4096, 0},
	{"Scheme 7, 3 × 256", "scheme7", 256, 3},
	{"Scheme 7, 5 × 16", "scheme7", 16, 5},
	{"heap", "scheme3", 0, 0},
}

func (f *interruptsFacility) open() (wheel.Facility, error) {
	return wheel.New(f.scheme, wheel.Config{Tick: 1, Slots: f.slots, Levels: f.levels, Count: true})
}

// law returns how often a host is woken for a timer of j ticks at most, and whether it is that often exactly.
func (f *interruptsFacility) law(j int) (most uint64, exact bool) {
	switch {
	case f.levels > 0:
		return uint64(f.levels), false
	case f.slots > 0:
		return uint64(j-1)/uint64(f.slots) + 1, true
	}
	return 1, true
}

// reach returns after how many ticks the last wheel of a hierarchy begins anew, 0 if it is none.
func (f *interruptsFacility) reach() wheel.Time {
	if f.levels == 0 {
		return 0
	}
	return wheel.Time(stat.Power(float64(f.slots), f.levels))
}

func interruptsFind(name string) *interruptsFacility {
	for i := range interruptsFacilities {
		if interruptsFacilities[i].name == name {
			return &interruptsFacilities[i]
		}
	}
	panic(fmt.Sprintf("BUG: no facility %q", name))
}
