package lanes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tcpwheel/internal/quantity"
	"tcpwheel/wheel"
)

// MaxLanes is the most lanes of a run.
const MaxLanes = 6

// Action changes a run at a time of its own.
type Action struct {
	At   wheel.Time
	Name string // a condition, "drop" or "tail"
	Text string // the value
}

// String returns the action as ParseActions reads it, such as "2.5s:drop=3".
func (a Action) String() string { return fmt.Sprintf("%v:%s=%s", time.Duration(a.At), a.Name, a.Text) }

// MaxActions is the most actions of a run.
const MaxActions = 1000

// ParseActions reads actions joined by commas, such as "2s:drop=1,4s:loss=5%". The error names the
// first one that is wrong, and says what is accepted.
func ParseActions(text string) (all []Action, err error) {
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		when, what, ok := strings.Cut(part, ":")
		name, value, has := strings.Cut(what, "=")
		at, err := quantity.ParseDuration(when)
		if !ok || !has || err != nil {
			return nil, fmt.Errorf("action %q, want TIME:NAME=VALUE, such as 2s:drop=1 or 4s:loss=5%%", part)
		}
		all = append(all, Action{wheel.Time(at), name, value})
	}
	if len(all) > MaxActions {
		return nil, fmt.Errorf("%d actions, want at most %d", len(all), MaxActions)
	}
	if !slices.IsSortedFunc(all, func(a, b Action) int { return int(min(max(a.At-b.At, -1), 1)) }) {
		return nil, fmt.Errorf("actions %q, want them by rising time", text)
	}
	return all, nil
}

// Run is several lanes at one virtual time.
type Run struct {
	Seed  uint64
	Lanes []*Lane

	names      []string // of the lanes at the beginning
	plans      []*webPlan
	aimed      []int // by connection of the web-like load: the first request that aim may take
	losses     []*userLoss
	initial    Conditions
	conditions Conditions
	actions    []Action // done and to be done, by time
	done       int      // how many of actions are done
	now        wheel.Time
}

// NewRun makes a run at time 0. lanes are timer policies, or "gvisor", or the key of one of
// Comparisons; none are the first of these. The error names the lane or action that is wrong.
func NewRun(seed uint64, lanes []string, c Conditions, actions []Action) (*Run, error) {
	lanes = lanesOf(lanes)
	if len(lanes) > MaxLanes {
		return nil, fmt.Errorf("%d lanes, want at most %d", len(lanes), MaxLanes)
	}
	r := &Run{Seed: seed, names: lanes, initial: c, conditions: c, actions: actions, aimed: make([]int, webConns)}
	for i := range webConns {
		r.plans = append(r.plans, newWebPlan(seed, uint64(i)))
	}
	for _, a := range actions {
		if err := r.try(a); err != nil {
			return nil, err
		}
	}
	for i, name := range lanes {
		if slices.Contains(lanes[:i], name) {
			return nil, fmt.Errorf("lane %s twice", name)
		}
		l, err := newLane(r, i, name, labels(lanes)[i])
		if err != nil {
			r.Close()
			return nil, err
		}
		r.Lanes = append(r.Lanes, l)
	}
	return r, nil
}

// Again returns the same run at time 0: its seed, conditions and actions up to a time. nil lanes
// are its own.
func (r *Run) Again(until wheel.Time, lanes []string) (*Run, error) {
	if lanes == nil {
		lanes = r.names
	}
	kept := r.actions[:0:0]
	for _, a := range r.actions {
		if a.At <= until {
			kept = append(kept, a)
		}
	}
	return NewRun(r.Seed, lanes, r.initial, kept)
}

// Heading says what the lanes differ in.
func (r *Run) Heading() string { return described(r.names).Heading }

// Now returns the virtual time.
func (r *Run) Now() wheel.Time { return r.now }

// Actions returns the actions that were done, as ParseActions reads them.
func (r *Run) Actions() string {
	var texts []string
	for _, a := range r.actions[:r.done] {
		texts = append(texts, a.String())
	}
	return strings.Join(texts, ",")
}

// try returns an error if the action cannot be done.
func (r *Run) try(a Action) error {
	c := r.conditions
	if a.Name == "drop" || a.Name == "tail" {
		if n, err := strconv.Atoi(a.Text); err != nil || n < 1 || n > 100 {
			return fmt.Errorf("%s: %q, want 1 to 100 packets", a.Name, a.Text)
		}
		return nil
	}
	return c.Set(a.Name, a.Text)
}

// Do performs an action now, and records it: Actions lists it, and Again repeats it.
func (r *Run) Do(name, text string) error {
	a := Action{r.now, name, text}
	if err := r.try(a); err != nil {
		return err
	}
	if len(r.actions) >= MaxActions {
		return fmt.Errorf("more than %d actions: begin again", MaxActions)
	}
	r.actions = append(r.actions[:r.done:r.done], a)
	r.done++
	return r.perform(a)
}

func (r *Run) perform(a Action) error {
	if a.Name == "drop" || a.Name == "tail" {
		n, err := strconv.Atoi(a.Text)
		if err != nil {
			return err
		}
		r.aim(n, a.Name == "tail")
		return nil
	}
	if err := r.conditions.Set(a.Name, a.Text); err != nil {
		return err
	}
	for _, l := range r.Lanes {
		if err := l.wire.setLinks(&r.conditions); err != nil {
			return err
		}
	}
	return nil
}

// AdvanceTo runs all lanes to a time, with the actions due until then.
func (r *Run) AdvanceTo(until wheel.Time) error {
	for r.done < len(r.actions) && r.actions[r.done].At <= until {
		a := r.actions[r.done]
		r.advance(a.At)
		r.done++
		if err := r.perform(a); err != nil {
			return err
		}
	}
	r.advance(until)
	return nil
}

// gateEvery is how often the run looks whether all lanes have an answer.
const gateEvery = wheel.Time(10 * time.Millisecond)

func (r *Run) advance(until wheel.Time) {
	for r.now < until {
		next := min(until, r.now+gateEvery-r.now%gateEvery)
		for _, l := range r.Lanes {
			if span := next.Sub(l.net.Now()); span > 0 {
				l.net.Run(span, nil)
			}
		}
		if r.now = next; r.now%gateEvery == 0 {
			r.admit()
		}
	}
}

// admit sets the times of the requests that may begin: of a connection on which all lanes have all
// answers.
func (r *Run) admit() {
	for i, p := range r.plans {
		n := len(p.due)
		if !slices.ContainsFunc(r.Lanes, func(l *Lane) bool { return l.done[i] < n }) {
			p.due = append(p.due, r.now.Add(p.request(n).wait))
		}
	}
}

// due returns when request n of a connection begins, if that is known.
func (r *Run) due(index, n int) (at wheel.Time, ok bool) {
	if p := r.plans[index]; n < len(p.due) {
		return p.due[n], true
	}
	return 0, false
}

// nextEvent returns the time of the next packet or timer of any lane, at most a second ahead.
func (r *Run) nextEvent() wheel.Time {
	next := r.now.Add(time.Second)
	for _, l := range r.Lanes {
		if at, ok := l.net.Clock.NextExpiry(); ok && at > r.now {
			next = min(next, at)
		}
	}
	return next
}

// Close ends the lanes.
func (r *Run) Close() {
	for _, l := range r.Lanes {
		l.close()
	}
}

// fate reports whether the link loses the n-th transmission of the data that begins at a byte of a
// flow. It is the same in all lanes.
func (r *Run) fate(k flowKey, start uint64, attempt int) bool {
	c := &r.conditions
	if c.Loss <= 0 {
		return false
	}
	block := start / (1448 * uint64(c.Burst))
	h := r.Seed
	for _, x := range []uint64{uint64(k.from), uint64(k.srcPort), uint64(k.dstPort), block, uint64(attempt)} {
		h = mix(h ^ x)
	}
	return float64(h>>11)/(1<<53) < c.Loss
}

// mix is a step of SplitMix64 (Steele, Lea and Flood, 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
