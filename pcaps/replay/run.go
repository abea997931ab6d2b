package replay

import (
	"cmp"
	"slices"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Key is how a transmission of a replay is matched with captured ones, to learn its fate.
type Key uint8

const (
	// ByRange: the n-th transmission of bytes fares as their n-th in the capture did. It flatters a
	// policy that retransmits sooner, if what lost the first copies would have lost more of them.
	ByRange Key = iota

	// ByTime: a transmission fares as what left then did. Of packets that were lost one after the
	// other, all that leaves from the first to the last is lost. After the last of them the capture
	// does not show how long the path still lost: that is taken to be no longer.
	ByTime

	// ByIndex: the n-th packet with data fares as the n-th captured one did.
	ByIndex

	Keys = int(iota) // how many there are
)

var keyNames = [Keys]string{"range", "time", "index"}

// String returns "range", "time" or "index".
func (k Key) String() string { return keyNames[min(int(k), Keys-1)] }

// Options are how a captured connection is run.
type Options struct {
	Policy     tcptimers.Policy // of both ends, but for their ACKs
	Key        Key
	Congestion string // control; "" is newreno

	// Own has both ends acknowledge by the policy, and send new data by congestion control, and not
	// as in the capture.
	Own bool

	log bool // Outcome.log is wanted, for tests: it is large
}

// Outcome is what became of a connection that was replayed from end to end.
type Outcome struct {
	Transmissions   int  // of data, both ends
	FilledIn        int  // whose fates the capture does not show
	Retransmissions int  // not the first of their bytes
	Spurious        int  // whose bytes had arrived, or would
	Complete        bool // all bytes were written and received

	log []Event // in the order of passing the point of capture, with Options.log
}

// A run has at most so many events for each transmission of the capture, and so many more.
const eventsEach, eventsMore = 50, 20_000

// run is a replay at work: two ends and the paths between them.
type run struct {
	captured *CapturedConn
	options  *Options
	net      *network
	configs  [2]*tcp.Config
	ends     [2]*end
	paths    [2]*path
	horizon  wheel.Time // the first fate that was drawn by chance; 0: none

	outcome Outcome

	measures bool // when ACKs arrive is wanted, and all transmissions
}

// newRun makes a run that has no ends yet.
func (s *CapturedConn) newRun(o *Options) (*run, error) {
	net, err := sim.NewNetwork[struct{}](sim.Config{})
	if err != nil {
		return nil, err
	}
	r := &run{captured: s, options: o, net: net}
	for d := range r.paths {
		r.paths[d] = &path{run: r, flow: d, trace: &s.Paths[d]}
	}
	return r, nil
}

// newEnd makes an end that has done nothing.
func (s *CapturedConn) newEnd(side int, o *Options, d decider, net *network, c carrier) (*end, error) {
	cfg, path, err := s.config(side, o, d)
	if err != nil {
		return nil, err
	}
	e := &end{side: side, captured: s, net: net, cfg: cfg, path: path, decider: d, carrier: c}
	e.out = outputFor(cfg, side, s.Begin)
	e.app = app{e: e, writes: s.Ends[side].Writes}
	e.app.alarm.do = e.app.act
	if !o.Own {
		e.acks = newACKPacer(e)
	}
	return e, nil
}

// Run replays the connection from end to end under a policy. The same connection and options give
// the same outcome, to the nanosecond. It costs about a microsecond for each packet, and memory in
// proportion.
func (s *CapturedConn) Run(o Options) (*Outcome, error) {
	r, err := s.newRun(&o)
	if err != nil {
		return nil, err
	}
	for d := range r.ends {
		if r.ends[d], err = s.newEnd(d, &o, timers{o.Policy}, r.net, r); err != nil {
			return nil, err
		}
	}
	once(r.net, s.Begin, r.ends[0].dial)
	r.steps(s.End.Add(overtime), r.over, lingering)
	r.outcome.Complete = r.complete()
	slices.SortStableFunc(r.outcome.log, func(a, b Event) int { return cmp.Or(cmp.Compare(a.At, b.At), a.Flow-b.Flow) })
	return &r.outcome, nil
}

// steps handles events up to an instant, or until something is done and a little longer.
func (r *run) steps(end wheel.Time, done func() bool, longer time.Duration) {
	n := eventsMore
	for d := range r.paths {
		n += eventsEach * r.captured.Paths[d].Transmissions
	}
	for ; n > 0 && r.net.Now() < end && r.net.Step(); n-- {
		if done() {
			end = min(end, r.net.Now().Add(longer))
		}
	}
}

// over reports whether nothing more can happen: both ends are closed, or all is written, received
// and acknowledged.
func (r *run) over() bool {
	a, b := &r.ends[0].app, &r.ends[1].app
	if a.closed && (b.closed || r.ends[1].conn == nil) {
		return true
	}
	return r.complete() && r.paths[0].away+r.paths[1].away == 0 && r.ends[0].unacked() == 0 && r.ends[1].unacked() == 0
}

// complete reports whether all was written and received.
func (r *run) complete() bool {
	a, b := &r.ends[0].app, &r.ends[1].app
	return a.finished() && b.finished() && a.received() == b.total && b.received() == a.total
}

// add counts a transmission.
func (o *Outcome) add(x *transmission) {
	o.Transmissions++
	o.FilledIn += count(x.filledIn)
	o.Retransmissions += count(x.try > 1)
	o.Spurious += count(x.spurious)
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
