package script

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// runner is one run of a script. A step that finds a difference ends it by a panic with a *Failure, which run catches; none
// leaves the package.
type runner struct {
	script *Script
	plan   *plan
	cfg    Config
	report Report

	engine     *tcp.Engine
	begin, now wheel.Time
	base       time.Duration // from which relative times count, since begin
	pos        Pos           // of the event at hand

	flows   []*flow
	current *flow // under test: of packets without ports, and of code
	files   map[int64]*file
	conns   map[*tcp.Socket]*conn
	queue   []sent // that the script has not claimed
	blocked []*blocked
	trace   []traced

	freePort, freeRemote uint16
	trying               bool // the blocked calls are being tried
	stirred              bool // the engine has done something since the last step
	steps                int  // timers that have expired, about
}

// sent is a packet that the engine has sent.
type sent struct {
	packet tcp.Packet
	at     wheel.Time
	flow   *flow
	line   int // of the trace
}

func newRunner(s *Script, p *plan, cfg Config) *runner {
	return &runner{
		script: s, plan: p, cfg: cfg,
		report:   Report{Name: s.Name},
		begin:    wheel.Time(p.start),
		now:      wheel.Time(p.start),
		files:    map[int64]*file{},
		conns:    map[*tcp.Socket]*conn{},
		freePort: p.ephemeralPort, freeRemote: p.remotePort,
	}
}

// run carries out all events, and returns the first difference.
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
	var err error
	if r.engine, err = tcp.NewEngine(r.begin, r.engineConfig()); err != nil {
		r.fail("the engine cannot be made: %v", err)
	}
	for _, e := range events(r.script) {
		r.pos = e.Start
		r.event(e)
		r.report.Events++
	}
	r.finish()
	return nil
}

func (r *runner) engineConfig() tcp.EngineConfig {
	cfg := r.plan.engine
	cfg.Trace = r
	cfg.Key = [16]byte{'d', 'r', 'i', 'l', 'l'}
	for i := range 8 {
		cfg.Key[8+i] = byte(cfg.Seed >> (8 * i))
	}
	return cfg
}

// elapsed returns the time since the script began.
func (r *runner) elapsed() time.Duration { return r.now.Sub(r.begin) }

func (r *runner) event(e *Event) {
	t := e.Time
	at := t.Start
	if t.Relative {
		at += r.base
	}
	if p, ok := e.Action.(*Packet); ok && p.Dir == Outbound {
		r.expect(p, t)
		return
	}
	if at < r.base || r.begin.Add(at) < r.now && at+r.plan.tolerance < r.elapsed() {
		r.fail("the event is at %s, and the script has come to %s", seconds9(at), seconds9(max(r.base, r.elapsed())))
	}
	r.base = at
	r.advance(r.begin.Add(at), nil)
	switch a := e.Action.(type) {
	case *Packet:
		r.inject(a)
	case *ICMP:
		r.injectICMP(a)
	case *Call:
		r.call(a, t)
	case *Settings:
		for _, v := range a.List {
			r.note("sysctl %s=%s", v.Name, v.Value)
			if err := r.plan.sysctl(v.Name, v.Value, false); err != nil {
				r.fail("%v", err)
			}
		}
		if err := r.plan.conn.Check(); err != nil {
			r.fail("%v", err)
		}
	case *Code:
		r.code(a)
	}
}

// patience is how long a run waits for what may come at any time.
const patience = 24 * time.Hour

// maxSteps is how often timers may expire in a run.
const maxSteps = 1 << 22

// advance lets time pass up to an instant, or until done says so, and the timers expire that are due by then.
func (r *runner) advance(to wheel.Time, done func() bool) {
	for ; done == nil || !done(); r.steps++ {
		at, ok := r.engine.NextTimeout()
		for _, b := range r.blocked {
			if b.wake && (!ok || b.wakeAt < at) {
				at, ok = b.wakeAt, true
			}
		}
		if !ok || at > to {
			break
		}
		if r.steps > maxSteps {
			r.fail("%d timers have expired, the last at %s: the script takes too long, or they do not come to rest", r.steps, seconds9(r.elapsed()))
		}
		r.now = max(r.now, at)
		r.engine.Advance(r.now)
		if r.stirred || len(r.blocked) > 0 { // NextTimeout may be early, by rounds of the wheel
			r.step()
		}
	}
	if done == nil && to > r.now {
		r.now = to
		r.engine.Advance(r.now)
		r.step()
	}
}

// step takes what the engine has done, checks it, and lets blocked calls return.
func (r *runner) step() {
	for i := range r.engine.Packets() {
		r.took(&r.engine.Packets()[i])
	}
	for _, n := range r.engine.Notices() {
		r.conn(n.Socket).noticed(n.Events)
	}
	r.engine.Reset()
	r.stirred = false
	if err := r.engine.Check(); err != nil {
		r.fail("an invariant of the engine does not hold: %v", err)
	}
	r.engine.Sockets(func(s *tcp.Socket) {
		if err := s.Conn().Check(); err != nil {
			r.fail("an invariant of the connection from %v to %v does not hold: %v", s.Local(), s.Remote(), err)
		}
	})
	r.retry()
}

// took takes a packet that the engine has sent.
func (r *runner) took(p *tcp.Packet) {
	r.report.Sent++
	f := r.flow(p.Src, p.Dst)
	f.sent(p)
	r.queue = append(r.queue, sent{*p, r.now, f, len(r.trace)})
	r.trace = append(r.trace, traced{r.elapsed(), r.show(f, p)})
	if p.Len == 0 {
		return
	}
	switch written := r.conn(p.Socket).written; {
	case p.Offset+uint64(p.Len) > written:
		r.fail("a packet carries octets %d to %d of %d that were written", p.Offset, p.Offset+uint64(p.Len), written)
	case uint32(p.Header.Seq) != f.rawISS+1+uint32(p.Offset):
		r.fail("a packet carries octets from %d on at sequence number %d", p.Offset, f.scriptSeq(p.Header.Seq))
	}
}

// finish checks that nothing is left over, and that everything can be cleared away.
func (r *runner) finish() {
	for len(r.blocked) > 0 {
		b := r.blocked[0]
		r.pos = b.event
		r.advance(r.begin.Add(b.due+r.plan.tolerance), nil)
		if !b.done {
			r.differ(fmt.Sprintf("the call has not returned at %s", seconds9(r.elapsed())), b.call.String(), "")
		}
	}
	if len(r.queue) > 0 {
		q := r.queue[0]
		r.differ(fmt.Sprintf("the script ends, and a packet is left that it does not expect (of %d)", len(r.queue)), "",
			r.at(q.at)+" "+r.show(q.flow, &q.packet))
	}
	for _, fd := range slices.Sorted(maps.Keys(r.files)) {
		if c := r.files[fd].conn; c != nil && c.errno != "" && !c.asked {
			r.fail("the script ends, and it has not noticed that descriptor %d is at its end: %s (a call that returns the error, or an "+
				"assert on tcpi_state, does)", fd, c.errno)
		}
	}
	defer func(trace []traced, sent int, now wheel.Time) {
		r.trace, r.report.Sent, r.now = trace, sent, now // what follows is not the script's
	}(r.trace, r.report.Sent, r.now)
	var all []*tcp.Socket
	r.engine.Sockets(func(s *tcp.Socket) { all = append(all, s) })
	for _, s := range all {
		r.engine.Abort(r.now, s)
		r.step()
	}
	for _, f := range r.listeners() {
		f.listener.Close(r.now)
		r.step()
	}
	if at, ok := r.engine.NextTimeout(); ok {
		r.fail("all connections were aborted, and a timer is left at %s", r.at(at))
	}
}

// info returns what a connection tells of itself.
func info(s *tcp.Socket, now wheel.Time) tcp.Info { return s.Conn().Info(now) }
