package script

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// runner is one run of a script. A difference panics with a *Failure, which run recovers; no panic
// leaves the package.
type runner struct {
	script *Script
	setup  *setup
	cfg    Config
	report Report

	host       Host
	begin, now wheel.Time
	timeBase   time.Duration // relative times count from here, since begin
	pos        Pos           // of the current event

	flows   []*flow
	current *flow // under test: packets without ports, and code, refer to it
	files   map[int64]*file
	ids     map[uint64]*flow // by the number of the connection in traces
	queue   []sentPacket     // not expected yet
	blocked []*blocked
	trace   []traced

	freePort uint16
	retrying bool // blocked calls are being retried
	closed   bool // the host is
	steps    int  // expired timers, roughly
}

// sentPacket is a packet from the host.
type sentPacket struct {
	packet tcp.Packet
	at     wheel.Time
	flow   *flow
	line   int // in the trace
}

func newRunner(s *Script, p *setup, cfg Config) *runner {
	return &runner{
		script: s, setup: p, cfg: cfg,
		report:   Report{Name: s.Name},
		begin:    wheel.Time(p.Start),
		now:      wheel.Time(p.Start),
		files:    map[int64]*file{},
		ids:      map[uint64]*flow{},
		freePort: ephemeralPort,
	}
}

// run carries out all events and returns the first difference.
func (r *runner) run() (failed *Failure) {
	defer func() {
		switch f := recover().(type) {
		case nil:
		case *Failure:
			failed = f
		default:
			panic(f)
		}
		r.report.Virtual = r.now.Sub(r.begin)
		for _, l := range r.trace {
			r.report.Trace = append(r.report.Trace, l.String())
		}
	}()
	for _, e := range r.script.Events {
		r.pos = e.Pos
		r.event(e)
		r.report.Events++
	}
	r.finish()
	return nil
}

func (r *runner) hostConfig() HostConfig {
	cfg := r.setup.Engine
	cfg.Trace = r
	cfg.Key = [16]byte{'d', 'r', 'i', 'l', 'l'}
	for i := range 8 {
		cfg.Key[8+i] = byte(cfg.Seed >> (8 * i))
	}
	return HostConfig{Now: r.begin, Local: r.setup.local, Remote: r.setup.remote, Engine: cfg}
}

// elapsed returns the time since the script's start.
func (r *runner) elapsed() time.Duration { return r.now.Sub(r.begin) }

// due returns when an event is due, since the script's start.
func (r *runner) due(t Time) time.Duration {
	if t.Relative {
		return r.timeBase + t.At
	}
	return t.At
}

// checkOrder ends the run if an event is due before the present.
func (r *runner) checkOrder(due time.Duration) {
	if now := max(r.timeBase, r.elapsed()); due < now {
		r.fail("the event is at %s, and the script is at %s", traceTime(due), traceTime(now))
	}
}

func (r *runner) event(e *Event) {
	due := r.due(e.Time)
	r.watch(due)
	if p, ok := e.Action.(*Packet); ok && p.Sent {
		r.expect(p, e.Time)
		return
	}
	r.checkOrder(due)
	r.timeBase = due
	r.advance(r.begin.Add(due), nil)
	switch a := e.Action.(type) {
	case *Packet:
		r.inject(a)
	case *ICMP:
		r.injectICMP(a)
	case *Call:
		r.call(a, e.Time)
	case *Assert:
		r.assert(a)
	}
}

// watch takes samples for Config.Watch: now, and halfway to the next event, at at.
func (r *runner) watch(at time.Duration) {
	if r.cfg.Watch == nil {
		return
	}
	r.sample()
	if middle := r.begin.Add(r.elapsed() + (at-r.elapsed())/2); middle > r.now {
		r.advance(middle, nil)
		r.sample()
	}
}

func (r *runner) sample() {
	s := Sample{Event: r.pos, Elapsed: r.elapsed()}
	for _, f := range r.flows {
		if i := r.info(f); i != nil {
			s.Info = append(s.Info, *i)
		}
	}
	r.cfg.Watch(s)
}

// maxWait is how long a run waits for a packet that may come at any time.
const maxWait = 24 * time.Hour

// maxSteps bounds the timer expiries of a run.
const maxSteps = 1 << 22

// advance lets time pass until to, or until done returns true. Timers expire meanwhile.
func (r *runner) advance(to wheel.Time, done func() bool) {
	for ; done == nil || !done(); r.steps++ {
		at, ok := r.host.NextTimeout()
		if !ok || at > to {
			break
		}
		if r.steps > maxSteps {
			r.fail("%d timers have expired, the last at %s: the script takes too long, or the timers never end", r.steps, traceTime(r.elapsed()))
		}
		r.now = max(r.now, at)
		r.host.Advance(r.now)
		r.step()
	}
	if done == nil && to > r.now {
		r.now = to
		r.host.Advance(r.now)
		r.step()
	}
}

// step takes and checks the host's output, and retries blocked calls.
func (r *runner) step() {
	r.takePackets()
	if err := r.host.Check(); err != nil {
		r.fail("the host breaks an invariant: %v", err)
	}
	r.retry()
}

// takePackets queues the packets that the host sent, and reports whether there were any.
func (r *runner) takePackets() bool {
	sent := r.host.Packets()
	for i := range sent {
		p := &sent[i]
		r.report.Sent++
		f := r.flow(p.Src, p.Dst)
		f.observe(p)
		r.queue = append(r.queue, sentPacket{*p, r.now, f, len(r.trace)})
		r.trace = append(r.trace, traced{r.elapsed(), r.show(f, p)})
	}
	return len(sent) > 0
}

// finish checks that no packet or error is left, and that aborting all connections leaves nothing.
func (r *runner) finish() {
	for len(r.blocked) > 0 {
		b := r.blocked[0]
		r.pos = b.event
		r.advance(r.begin.Add(b.due), nil)
		if !b.done {
			r.failWith(fmt.Sprintf("the call has not returned at %s", traceTime(r.elapsed())), b.call.Text, "")
		}
	}
	if len(r.queue) > 0 {
		q := r.queue[0]
		r.failWith(fmt.Sprintf("the script ends with an unexpected packet (of %d)", len(r.queue)), "",
			r.at(q.at)+" "+r.show(q.flow, &q.packet))
	}
	for _, fd := range slices.Sorted(maps.Keys(r.files)) {
		f := r.files[fd]
		if i := r.info(f.flow); f.flow == nil || f.flow.asked || i == nil || i.State != tcp.StateClosed {
			continue
		}
		if errno := f.socket.Error(); errno != "" {
			r.fail("the script ends, and has not noticed that descriptor %d failed: %s (a call that returns the error, or an "+
				"assert on tcpi_state, does)", fd, errno)
		}
	}
	trace, now := r.trace, r.now
	r.closed = true
	err := r.host.Close()
	r.trace, r.now = trace, now // undo the traces of the aborts
	if err != nil {
		r.fail("%v", err)
	}
}

// info returns the state of a flow's connection, or nil if there is none.
func (r *runner) info(f *flow) *tcp.Info {
	if f == nil {
		return nil
	}
	i, ok := r.host.Info(f.local, f.remote)
	if !ok {
		return nil
	}
	return &i
}
