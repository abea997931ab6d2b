package lanes

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// MemoryLimit is where a program that plays a Run for hours collects garbage more often, in bytes.
const MemoryLimit = 110 << 20

// Player plays a Run for pages: it advances it, makes frames, and carries out controls.
type Player struct {
	run      *Run
	rec      []*Recorder
	speed    float64
	paused   bool
	restarts int
	shown    *Frame
}

// NewPlayer returns a player of a run, which it owns from then on.
func NewPlayer(run *Run) *Player {
	p := &Player{speed: 1}
	p.take(run)
	p.sample()
	return p
}

func (p *Player) take(run *Run) {
	p.run, p.rec = run, nil
	for _, l := range run.Lanes {
		p.rec = append(p.rec, l.watch())
	}
}

// Tick advances the run by a span of real time, and makes the next frame.
func (p *Player) Tick(real time.Duration) error {
	if !p.paused {
		if err := p.run.AdvanceTo(p.run.now.Add(time.Duration(float64(real) * p.speed))); err != nil {
			return err
		}
	}
	p.sample()
	return nil
}

// Frame returns the latest frame. It does not change.
func (p *Player) Frame() *Frame { return p.shown }

// sample makes a frame, unless it would be the latest again.
func (p *Player) sample() {
	r := p.run
	if f := p.shown; f != nil && f.Time == seconds(r.now) && f.Paused == p.paused && f.Speed == p.speed && f.Restarts == p.restarts && f.Actions == r.Actions() {
		return
	}
	f := &Frame{
		Time: seconds(r.now), Speed: p.speed, Paused: p.paused, Seed: r.Seed, Restarts: p.restarts, Actions: r.Actions(),
		Initial: r.initial.text(","), Conditions: r.conditions.text(" "), Verdict: Verdict(r.Results()), Losses: r.lossViews(),
		Policies: append(tcptimers.Names(), gvisorLane), Begun: r.names, Comparison: described(r.names), Comparisons: Comparisons,
		Differences: differences(r.names),
	}
	for i, l := range r.Lanes {
		f.Lanes = append(f.Lanes, l.view(p.rec[i]))
	}
	p.shown = f
}

// Heading says what the lanes differ in.
func (p *Player) Heading() string { return p.run.Heading() }

// Results returns the results so far.
func (p *Player) Results() []Result { return p.run.Results() }

// LossText says what became of the user's latest loss: see Run.LossText.
func (p *Player) LossText() string { return p.run.LossText() }

// Close ends the run.
func (p *Player) Close() { p.run.Close() }

// head is how much of another run is made at once, so that a page has something to compare.
const head = wheel.Time(10 * time.Second)

// replace puts another run in the place of the one that is shown, and brings it to a time.
func (p *Player) replace(run *Run, to wheel.Time) error {
	p.run.Close()
	p.take(run)
	p.restarts++
	return run.AdvanceTo(to)
}

// Control carries out a control of a page: an action of a Run, or one of these.
//
//	pause on|off    stops the run, and lets it go on
//	step            stops it after the next event
//	speed X         virtual seconds in a real one
//	lanes A,B       the run again, with other lanes or a comparison, up to now or to 10 s
//	restart QUERY   another run, from 0: seed, lanes, initial and actions as in a page's address
func (p *Player) Control(name, text string) error {
	err := p.control(name, text)
	if err == nil {
		p.sample()
	}
	return err
}

func (p *Player) control(name, text string) error {
	run := p.run
	switch name {
	case "":
		return errors.New("no name")
	case "pause":
		p.paused = text != "off"
	case "step":
		p.paused = true
		return run.AdvanceTo(run.nextEvent())
	case "speed":
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !(x >= 0.0001 && x <= 10) {
			return fmt.Errorf("speed: %q, want 0.0001 to 10", text)
		}
		p.speed = x
	case "lanes":
		to := min(run.now, head)
		other, err := run.Again(to, strings.Split(text, ","))
		if err != nil {
			return err
		}
		return p.replace(other, to)
	case "restart":
		other, err := again(run, text)
		if err != nil {
			return fmt.Errorf("restart: %w", err)
		}
		return p.replace(other, 0)
	default:
		return run.Do(name, text)
	}
	return nil
}

// again makes the run that the address of a page describes. What it leaves out stays.
func again(run *Run, text string) (*Run, error) {
	q, err := url.ParseQuery(text)
	if err != nil {
		return nil, err
	}
	seed, lanes, initial := run.Seed, run.names, run.initial
	if x := q.Get("seed"); x != "" {
		if seed, err = strconv.ParseUint(x, 10, 64); err != nil {
			return nil, fmt.Errorf("seed %q, want a number", x)
		}
	}
	if x := q.Get("lanes"); x != "" {
		lanes = strings.Split(x, ",")
	}
	if x := q.Get("initial"); x != "" {
		initial = DefaultConditions()
		for part := range strings.SplitSeq(x, ",") {
			name, value, _ := strings.Cut(part, "=")
			if err := initial.Set(name, value); err != nil {
				return nil, err
			}
		}
	}
	actions, err := ParseActions(q.Get("actions"))
	if err != nil {
		return nil, err
	}
	return NewRun(seed, lanes, initial, actions)
}
