package lanes

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// MemoryLimit is where a program that plays a Run for hours collects garbage more often, in bytes.
const MemoryLimit = 110 << 20

// Player plays a Run for pages: it advances it, makes frames, keeps their log, and carries out
// controls. Nothing that it does takes longer than a frame, but for the beginning of a run.
type Player struct {
	take     take
	speed    float64
	paused   bool
	restarts int
	shown    *Frame
	work     *work // nil: none
}

// take is a run, what is recorded of it, and the log of its frames.
type take struct {
	run *Run
	rec []*Recorder
	log *history
}

// work is another run on its way to the time of the one that is shown.
type work struct {
	take
	what string
	to   wheel.Time
}

// workStep is the virtual time of one piece of work.
const workStep = 100 * time.Millisecond

// NewPlayer returns a player of a run, which it owns from then on.
func NewPlayer(run *Run) *Player {
	p := &Player{take: newTake(run), speed: 1}
	p.sample()
	return p
}

func newTake(run *Run) take {
	t := take{run: run, log: newHistory()}
	for _, l := range run.Lanes {
		t.rec = append(t.rec, l.watch())
	}
	t.log.add(t.frame())
	return t
}

// frame returns the frame of now. The player adds what only it knows.
func (t *take) frame() *Frame {
	r := t.run
	f := &Frame{
		Time: r.now, Speed: 1, Seed: r.Seed, Actions: r.Actions(), Initial: r.initial.text(","), Conditions: r.conditions.text(" "),
		Verdict: Verdict(r.Results()), Losses: r.lossViews(), Policies: append(tcptimers.Names(), gvisorLane), Begun: r.names,
	}
	asked := make([]int, len(r.Lanes))
	for i, l := range r.Lanes {
		for _, n := range l.asked {
			asked[i] += n
		}
	}
	for i, l := range r.Lanes {
		v := l.view(t.rec[i])
		v.Behind = slices.Max(asked) - asked[i]
		f.Lanes = append(f.Lanes, v)
	}
	return f
}

// advance brings a run to a time, and logs it.
func (t *take) advance(to wheel.Time) error {
	for t.run.now < to {
		if err := t.run.AdvanceTo(min(to, max(t.log.next, t.run.now+1))); err != nil {
			return err
		}
		if t.log.due(t.run.now) {
			t.log.add(t.frame())
		}
	}
	return nil
}

// Tick advances the run by a span of real time, and makes the next frame. The run stands still
// while another one is on its way.
func (p *Player) Tick(real time.Duration) error {
	if !p.paused && p.work == nil {
		if err := p.take.advance(p.take.run.now.Add(time.Duration(float64(real) * p.speed))); err != nil {
			return err
		}
	}
	p.sample()
	return nil
}

// Work does a piece of the work that a control began, and reports whether there is more. Call it
// between ticks: it takes some milliseconds.
func (p *Player) Work() (more bool, err error) {
	w := p.work
	if w == nil {
		return false, nil
	}
	if err := w.advance(min(w.to, w.run.now.Add(workStep))); err != nil {
		p.cancel()
		return false, err
	}
	if w.run.now < w.to {
		return true, nil
	}
	p.work = nil
	p.replace(w.take)
	return false, nil
}

// replace puts another run in the place of the one that is shown.
func (p *Player) replace(t take) {
	p.take.run.Close()
	p.take = t
	p.restarts++
	p.sample()
}

// cancel drops the work.
func (p *Player) cancel() {
	if p.work != nil {
		p.work.run.Close()
		p.work = nil
	}
}

// begin begins to bring a run to a time. What was on its way is dropped: presses do not queue up.
func (p *Player) begin(what string, run *Run, to wheel.Time) {
	p.cancel()
	if to <= 0 {
		p.replace(newTake(run))
		return
	}
	p.work = &work{newTake(run), what, to}
}

// Frame returns the latest frame. It does not change.
func (p *Player) Frame() *Frame { return p.shown }

// sample makes a frame, unless it would be the latest again.
func (p *Player) sample() {
	var w *WorkView
	if p.work != nil {
		w = &WorkView{p.work.what, float64(p.work.run.now) / float64(p.work.to)}
	}
	run := p.take.run
	if f := p.shown; f != nil && w == nil && f.Work == nil && f.Time == run.now && f.Paused == p.paused && f.Speed == p.speed &&
		f.Restarts == p.restarts && f.Actions == run.Actions() {
		return
	}
	f := p.take.frame()
	f.Speed, f.Paused, f.Restarts, f.Work = p.speed, p.paused, p.restarts, w
	p.shown = f
}

// Past returns frames of the log from one time to another as a JSON list, with some before and
// after, and at most half a minute of them.
func (p *Player) Past(from, to wheel.Time) []byte { return p.take.log.past(max(from, 0), to) }

// Mark is a moment that a page marks on its axis of time.
type Mark struct {
	At   wheel.Time    `json:"at_ns"` // the loss
	Took time.Duration `json:"took_ns,omitempty"`
	Lane int           `json:"lane"` // -1 for what happens to all lanes
	What string        `json:"what"`
}

// slowest is how many of a lane's recoveries Marks returns.
const slowest = 50

// Marks returns the actions of the user and the slowest recoveries of each lane.
func (p *Player) Marks() []Mark {
	all := []Mark{}
	run := p.take.run
	for _, a := range run.actions[:run.done] {
		all = append(all, Mark{At: a.At, Lane: -1, What: a.Name + " " + a.Text})
	}
	for i, l := range run.Lanes {
		rec := slices.Clone(l.stats.Recoveries)
		slices.SortStableFunc(rec, func(a, b Recovery) int { return cmp.Compare(b.Took, a.Took) })
		for _, r := range rec[:min(slowest, len(rec))] {
			all = append(all, Mark{r.At - wheel.Time(r.Took), r.Took, i, r.By})
		}
	}
	return all
}

// Lanes returns the number of lanes.
func (p *Player) Lanes() int { return len(p.take.rec) }

// WriteCapture writes the last minute of a lane as pcapng.
func (p *Player) WriteCapture(w io.Writer, lane int) error {
	if lane < 0 || lane >= p.Lanes() {
		return fmt.Errorf("no lane %d, want 0 to %d", lane, p.Lanes()-1)
	}
	return p.take.rec[lane].capture.write(w, p.take.run.Lanes[lane].Name)
}

// Results returns the results so far.
func (p *Player) Results() []Result { return p.take.run.Results() }

// LossText says what became of the user's latest loss: see Run.LossText.
func (p *Player) LossText() string { return p.take.run.LossText() }

// Close ends the run.
func (p *Player) Close() {
	p.cancel()
	p.take.run.Close()
}

// Control carries out a control of a page: an action of a Run, or one of these.
//
//	pause on|off    stops the run, and lets it go on
//	step            stops it after the next event
//	speed X         virtual seconds in a real one
//	branch SECONDS  another run, with the same actions up to then, which goes on from there
//	lanes A,B,C     another run with other lanes, up to now
//	restart QUERY   another run, from 0: seed, lanes, initial and actions as in a page's address
//	cancel          drops the run that is on its way
func (p *Player) Control(name, text string) error {
	run := p.take.run
	switch name {
	case "":
		return errors.New("no name")
	case "pause":
		p.paused = text != "off"
	case "step":
		p.paused = true
		if p.work == nil {
			return p.step()
		}
	case "speed":
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !(x >= 0.0001 && x <= 10) {
			return fmt.Errorf("speed: %q, want 0.0001 to 10", text)
		}
		p.speed = x
	case "cancel":
		p.cancel()
	case "branch":
		s, err := strconv.ParseFloat(text, 64)
		if err != nil || !(s >= 0 && s <= time.Duration(run.now).Seconds()) {
			return fmt.Errorf("branch: %q, want seconds from 0 to now", text)
		}
		to := wheel.Time(s * 1e9)
		other, err := run.Again(to, nil)
		if err != nil {
			return err
		}
		p.begin(fmt.Sprintf("the run up to %.1f s", s), other, to)
	case "lanes":
		names := strings.Split(text, ",")
		other, err := run.Again(run.now, names)
		if err != nil {
			return err
		}
		p.begin("all lanes from 0, with "+changed(run.names, names), other, run.now)
	case "restart":
		other, err := again(run, text)
		if err != nil {
			return fmt.Errorf("restart: %w", err)
		}
		p.begin("the run of the address", other, 0)
	default:
		if p.work != nil {
			return errors.New("another run is on its way: wait for it, or cancel it")
		}
		return run.Do(name, text)
	}
	return nil
}

// step runs to the next event, and logs it.
func (p *Player) step() error {
	next := p.take.run.nextEvent()
	return p.take.advance(next)
}

// changed names the lanes that are new.
func changed(before, after []string) string {
	var all []string
	for _, name := range after {
		if !slices.Contains(before, name) {
			all = append(all, name)
		}
	}
	if len(all) == 0 {
		return strings.Join(after, ", ")
	}
	return strings.Join(all, ", ")
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
