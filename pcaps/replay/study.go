package replay

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"time"

	"tcpwheel/pcaps/track"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel/stat"
)

// Study replays connections under the control and several policies.
type Study struct {
	Choices    []Choice
	Congestion string // control; "" is newreno
}

// Result is what a study has found of a connection.
type Result struct {
	File           string
	ID             int
	Client, Server netip.AddrPort
	Model          string            // timers that explain the captured ones; "" for none
	Fitted         *tcptimers.Policy // if Model is "fitted"
	SYNs           track.SYNTimeouts
	Captured       *CapturedConn

	Control  []Recovery      // of each loss, with the captured retransmission times
	Gates    []Gate          // whether each loss counts
	Doubts   []time.Duration // how far the control's times may be off
	Policies []PolicyResult  // by choice

	// Err is why RunAll could not replay the connection: then it has none of the above. A
	// *track.PanicError is a bug.
	Err error

	lossy int // the end with the most losses
}

// PolicyResult is what became of a connection under a choice.
type PolicyResult struct {
	Unknown    bool             // the choice is "captured", and the captured timers are not known
	Recoveries [Keys][]Recovery // of each loss, by key
	Whole      *Outcome         // of the whole connection, by range

	timers tcptimers.Policy
}

// NewResult returns the result of a connection that is not replayed yet. Its captured timers are
// the best explanation of this connection's, at the end with the most losses.
func NewResult(file string, c *track.Conn, s *CapturedConn) *Result {
	client := &c.Flows[0]
	r := &Result{File: file, ID: c.ID, Client: client.Src, Server: client.Dst, SYNs: client.Timers().SYNs, Captured: s}
	if len(c.Flows[1].Episodes) > len(client.Episodes) {
		r.lossy = 1
	}
	r.Model = c.Flows[r.lossy].Timers().Best
	return r
}

// SetTimers takes the captured timers from all connections of the end with the most losses, instead
// of this one: those of a stack if it is the only one that explains them, else fitted ones, else
// none.
func (r *Result) SetTimers(hosts *track.Hosts) {
	r.Model, r.Fitted = "", nil
	h := hosts.Host(r.addr(r.lossy))
	if h == nil {
		return
	}
	t := h.Timers()
	if len(t.Stacks) == 1 {
		r.Model = t.Stacks[0]
	} else if p, ok := t.Policy(); ok && len(t.Stacks) == 0 {
		r.Model, r.Fitted = p.Name, &p
	}
}

// Run replays a connection.
func (st *Study) Run(file string, c *track.Conn, s *CapturedConn) (*Result, error) {
	r := NewResult(file, c, s)
	return r, st.RunAgain(r)
}

// RunAll replays the connections of results, several at once, in place of what they have. It calls
// done after each, perhaps from several goroutines at once. An error, or a panic, of one is its Err
// and does not keep the others from it: RunAll itself fails only when ctx ends.
func (st *Study) RunAll(ctx context.Context, results []*Result, done func()) error {
	tasks := make([]func() error, len(results))
	for i, r := range results {
		tasks[i] = func() error {
			defer done()
			if ctx.Err() == nil {
				r.Err = st.RunAgain(r)
			}
			return ctx.Err()
		}
	}
	return together(tasks, make(chan struct{}, runtime.GOMAXPROCS(0)))
}

// RunAgain replays the connection of a result, in place of what it has, on as many processors as
// there are. A panic is a *track.PanicError.
func (st *Study) RunAgain(r *Result) error {
	return track.Guard(func() error { return st.run(r) })
}

func (st *Study) run(r *Result) error {
	base := tcptimers.MustPolicy("per-segment")
	control := &contender{decider: times{captured: r.Captured, part: 1, measures: base}, keys: 1}
	early := &contender{decider: times{captured: r.Captured, part: sooner, measures: base}, keys: 1}
	heard := &contender{decider: timers{byACKs()}, keys: 1}
	all := []*contender{control, early, heard}
	r.Policies = make([]PolicyResult, len(st.Choices))
	tried := make([]*contender, len(st.Choices))
	var tasks []func() error
	for i := range st.Choices {
		p, ok, err := st.Choices[i].of(r)
		if err != nil {
			return err
		}
		if r.Policies[i].Unknown = !ok; !ok {
			continue
		}
		r.Policies[i].timers = p
		tried[i] = &contender{decider: timers{p}, keys: Keys}
		all = append(all, tried[i])
		tasks = append(tasks, func() (err error) {
			r.Policies[i].Whole, err = r.Captured.Run(Options{Policy: p, Congestion: st.Congestion})
			return err
		})
	}
	for _, g := range groups(all) {
		tasks = append(tasks, func() error { return r.Captured.compare(st.Congestion, g) })
	}
	if err := together(tasks, processors); err != nil {
		return err
	}
	r.Control, r.Gates, r.Doubts = control.recoveries[0], make([]Gate, len(r.Captured.Losses)), make([]time.Duration, len(r.Captured.Losses))
	for i := range r.Gates {
		l := &r.Captured.Losses[i]
		r.Gates[i] = gate(l, control.followed[i], &control.recoveries[0][i], &early.recoveries[0][i])
		r.Doubts[i] = (control.recoveries[0][i].TRec - l.TRec).Abs() + r.Captured.doubt(l, &heard.recoveries[0][i])
	}
	for i, c := range tried {
		if c != nil {
			r.Policies[i].Recoveries = c.recoveries
		}
	}
	return nil
}

// byACKs returns a policy whose timers never expire: it finds losses by three ACKs alone.
func byACKs() tcptimers.Policy {
	p := tcptimers.MustPolicy("rfc6298")
	p.Bounds = tcptimers.Bounds{Initial: time.Hour, Min: time.Hour, Max: time.Hour}
	return p
}

// processors has a place for each replay that runs.
var processors = make(chan struct{}, runtime.GOMAXPROCS(0))

// together does tasks, as many at once as slots has room for, and returns their errors. A panic is
// one of them.
func together(tasks []func() error, slots chan struct{}) error {
	errs := make([]error, len(tasks))
	var all sync.WaitGroup
	for i, task := range tasks {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			errs[i] = track.Guard(task)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// Recovery returns what became of a loss under a choice by a key, and whether it counts: the loss
// has passed the gate and is not Early, and the policy has repaired it by fates that the capture
// shows.
func (r *Result) Recovery(loss, choice int, key Key) (*Recovery, bool) {
	p := &r.Policies[choice]
	if p.Unknown {
		return nil, false
	}
	rec := &p.Recoveries[key][loss]
	return rec, r.Gates[loss] == Passed && !r.Captured.Losses[loss].Early && rec.Repaired && !rec.FilledIn && !rec.Beyond
}

// Quantile returns the q-quantile of all, as in package stat; 0 of none. It sorts them.
func Quantile[T cmp.Ordered](all []T, q float64) T {
	if len(all) == 0 {
		var zero T
		return zero
	}
	slices.Sort(all)
	return all[stat.Rank(len(all), q)]
}
