package demo

import (
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"tcpwheel/cmd/tcpwheel/internal/lanes"
	"tcpwheel/internal/pcapng"
	"tcpwheel/netstack"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/events"
	"tcpwheel/tun/up"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

// Live is the page of a running stack: one lane, drawn from the stack's state and events. It
// implements up.Page. It costs the stack nothing without a viewer.
type Live struct {
	hub  *hub
	mux  *http.ServeMux
	host *up.Host

	run     sync.Mutex // held by enter, leave and Close while they start or stop the sampling
	stop    func()     // nil without a viewer
	closed  bool
	sampler sync.WaitGroup

	mu         sync.Mutex
	rec        *lanes.Recorder
	conns      map[liveKey]*liveConn
	names      map[int]string // of conns, by number
	byEndpoint map[*netstack.Endpoint]int
	last       int    // the latest number of a connection
	packets    uint64 // seen
	took       []time.Duration
	recoveries int
}

// liveKey identifies a connection of the stack.
type liveKey struct{ local, remote netip.AddrPort }

// liveConn is a connection that the page has seen.
type liveConn struct {
	id    int
	base  uint32 // sequence number of byte 0
	known bool
	next  uint64 // past the last byte sent
}

const (
	maxLiveConns = 5000    // known at a time
	liveRows     = 20      // connections in the table
	maxLiveDots  = 100_000 // timers; a ring of more is not drawn, because that locks the wheels
	liveNear     = 2 * time.Millisecond
)

// NewLive returns the page of a host. It is for up.Config.Page.
func NewLive(h *up.Host) up.Page {
	l := &Live{hub: newHub(), mux: http.NewServeMux(), host: h}
	l.forget()
	l.hub.watched = l.watched
	l.mux.HandleFunc("GET /{$}", l.hub.page)
	l.mux.HandleFunc("GET /frames", l.hub.frames)
	return l
}

// ServeHTTP implements http.Handler.
func (l *Live) ServeHTTP(w http.ResponseWriter, r *http.Request) { l.mux.ServeHTTP(w, r) }

// Close implements up.Page.
func (l *Live) Close() {
	l.run.Lock()
	l.closed = true
	l.halt()
	l.run.Unlock()
	l.sampler.Wait()
}

// watched starts the sampling with the first viewer, and ends it with the last.
func (l *Live) watched(on bool) {
	l.run.Lock()
	defer l.run.Unlock()
	l.halt()
	if !on || l.closed {
		return
	}
	l.mu.Lock()
	l.forget()
	l.mu.Unlock()
	unwatch, ended := l.host.Watch(l), make(chan struct{})
	l.stop = func() { unwatch(); close(ended) }
	l.sampler.Go(func() { l.sample(ended) })
}

func (l *Live) halt() {
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
}

// forget begins the page's memory.
func (l *Live) forget() {
	l.rec = lanes.NewRecorder(liveNear)
	l.conns, l.names, l.byEndpoint = map[liveKey]*liveConn{}, map[int]string{}, map[*netstack.Endpoint]int{}
	l.took, l.recoveries = nil, 0
}

// sample makes frames until ended. It works for at most a twentieth of the time.
func (l *Live) sample(ended chan struct{}) {
	for wait := lanes.FrameEvery; ; {
		began := time.Now()
		l.hub.show(l.frame())
		wait = max(lanes.FrameEvery, 20*time.Since(began))
		select {
		case <-ended:
			return
		case <-time.After(wait):
		}
	}
}

// conn returns a connection of the stack. The caller holds the lock.
func (l *Live) conn(local, remote netip.AddrPort) *liveConn {
	k := liveKey{local, remote}
	c := l.conns[k]
	if c == nil {
		if len(l.conns) >= maxLiveConns {
			clear(l.conns)
			clear(l.names)
			clear(l.byEndpoint)
			l.rec.Forget()
		}
		l.last++
		c = &liveConn{id: l.last}
		l.conns[k], l.names[c.id] = c, remote.String()+" at port "+strconv.Itoa(int(local.Port()))
	}
	return c
}

// idOf returns the number of an endpoint's connection. The caller holds the lock.
func (l *Live) idOf(e *netstack.Endpoint) int {
	id, ok := l.byEndpoint[e]
	if !ok && e != nil {
		id = l.conn(up.EndpointAddrs(e)).id
		l.byEndpoint[e] = id
	}
	return id
}

// Seen implements up.Watcher. Events that the page does not draw leave it as it is.
func (l *Live) Seen(ev *up.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch ev.Name {
	case events.TimerStarted, events.TimerMoved, events.TimerStopped, events.TimerExpired:
		l.rec.Timer(l.idOf(ev.Timer.Endpoint), ev.Timer)
	case events.SegmentReceived:
		s := &ev.Segment
		c := l.conn(s.Local, s.Remote)
		ack := c.position(uint32(s.Header.Ack))
		l.rec.Arrived(c.id, ev.Time, ack, s.Size > 0)
		l.packet(&lanes.Transmission{At: ev.Time, Arrive: ev.Time, From: lanes.Client, Conn: c.id, Start: ack, End: ack})
	case events.SegmentSent, events.SegmentLost:
		if ev.Segment.Direction == pcapng.Outbound {
			l.left(ev)
		}
	case events.Recovered:
		l.recoveries++
		l.took = append(l.took[max(0, len(l.took)-lanes.KeptRecoveries+1):], ev.Took)
	}
}

// left draws a segment of the stack, or the place where the link dropped it.
func (l *Live) left(ev *up.Event) {
	s := &ev.Segment
	c := l.conn(s.Local, s.Remote)
	seq := uint32(s.Header.Seq)
	if s.Header.Flags.Has(tcp.SYN) {
		seq++
	}
	if !c.known || s.Header.Flags.Has(tcp.SYN) && seq != c.base {
		c.base, c.known, c.next = seq, true, 0
	}
	x := &lanes.Transmission{At: ev.Time, Arrive: ev.Time, From: lanes.Server, Conn: c.id, Start: c.position(seq)}
	x.End = x.Start + uint64(s.Size)
	c.next = max(c.next, x.End)
	if ev.Name == events.SegmentLost {
		x.Mark, x.Lost = true, events.FateLost
	} else if ev.Transmissions > 1 {
		x.Again = true
		x.CausedBy(ev.Causes)
		if l.host.Config().TCP == up.GVisor {
			x.By = "gVisor"
		}
	}
	l.packet(x)
}

func (l *Live) packet(x *lanes.Transmission) {
	x.Seq = l.packets
	l.packets++
	l.rec.Packet(x)
}

// position returns the byte of the stack's stream that has a sequence number.
func (c *liveConn) position(seq uint32) uint64 {
	return uint64(max(tcp.Seq(seq-c.base).Unwrap(int64(c.next)), 0))
}

// frame draws the stack as it is now.
func (l *Live) frame() *lanes.Frame {
	r := l.host.Report(up.Selection{State: "ESTABLISHED", Limit: liveRows})
	now := l.host.Now()
	v := lanes.LaneView{Result: l.result(&r, now)}
	f := &lanes.Frame{Live: true, Time: now, Speed: 1, Verdict: l.host.String()}
	var wheels []netstack.WheelSnapshot
	if r.Timers != nil && *r.Timers <= maxLiveDots {
		wheels, _ = netstack.Wheels(l.host.Stack())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	v.Record(l.rec)
	for _, d := range l.took {
		v.RecoveryMS = append(v.RecoveryMS, float64(d)/1e6)
	}
	v.Recoveries = l.recoveries
	if sorted := slices.Sorted(slices.Values(l.took)); len(sorted) > 0 {
		v.RecoveryP50, v.RecoveryP99 = sorted[stat.Rank(len(sorted), 0.5)].Seconds(), sorted[stat.Rank(len(sorted), 0.99)].Seconds()
	}
	v.Wheel = lanes.DrawWheel(wheels, now, l.rec, l.idOf, map[int]map[string][2]int64{})
	for i := range r.Connections {
		v.Conns = append(v.Conns, l.connView(&r.Connections[i]))
	}
	v.Names = map[int]string{}
	for _, x := range l.rec.Packets() {
		v.Names[x.Conn] = l.names[x.Conn]
	}
	f.Lanes = []lanes.LaneView{v}
	return f
}

// result is the part of a Result that a running stack has.
func (l *Live) result(r *up.Report, now wheel.Time) lanes.Result {
	x := lanes.Result{Lane: r.TCP.Policy, Time: time.Duration(now).Seconds(), Retransmissions: int(l.host.Status().Retransmissions)}
	if x.Lane == "" {
		x.Lane = r.TCP.Name
	}
	if r.Link != nil {
		x.Lost = int(r.Link.FromStack.Counts.Lost + r.Link.FromStack.Counts.QueueDropped)
	}
	if t := r.Changes; t != nil {
		x.Timers, x.Started, x.Stopped, x.Expired = true, t.Started, t.Stopped, t.Expired
	}
	return x
}

// connView is a row of the table of connections. The caller holds the lock.
func (l *Live) connView(c *up.ConnectionReport) lanes.ConnView {
	id := l.conn(c.Local, c.Remote).id
	x := lanes.ConnView{Name: l.names[id], ID: id, Timers: map[string][2]int64{}}
	if c.Info != nil {
		x.SRTTNS, x.RTTVarNS, x.RTONS, x.Cwnd = int64(c.Info.SRTT), int64(c.Info.RTTVar), int64(c.Info.RTO), c.Info.Cwnd
	}
	for _, t := range c.Timers {
		n, due := int64(t.Count), int64(t.Due)
		if before, ok := x.Timers[t.Kind.String()]; ok {
			n, due = n+before[0], min(due, before[1])
		}
		x.Timers[t.Kind.String()] = [2]int64{n, due}
	}
	return x
}
