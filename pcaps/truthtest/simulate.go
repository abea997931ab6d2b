package truthtest

import (
	"fmt"
	"net/netip"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/track"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Point is a point of capture.
type Point uint8

const (
	AtSender Point = iota
	InMiddle       // behind the first router
	AtReceiver

	Points = iota
)

// String returns "sender", "middle" or "receiver".
func (p Point) String() string { return [...]string{"sender", "middle", "receiver"}[p] }

// Scenario is a connection between two hosts over two routers. The client is the sender. Losses,
// reordering and a queue affect what it sends; all ACKs arrive.
type Scenario struct {
	Policy           tcptimers.Policy // of both ends
	SACK, Timestamps bool
	RTT              time.Duration
	Rate             uint64 // of the link between the routers, bit/s
	Loss             sim.Losses
	Upstream         bool // lose packets before the first router, not behind it
	Reorder          float64
	Jitter           time.Duration
	App              func() host.App // of the sender
	Seed             uint64
	Span             time.Duration

	Sender netip.Addr    // Sender if not valid
	Start  time.Duration // of the connection; the captures' clock begins an hour earlier
}

// Addresses of the ends.
var (
	Sender   = netip.MustParseAddr("10.1.0.1")
	Receiver = netip.MustParseAddr("10.250.0.1")
)

// String describes the scenario.
func (s *Scenario) String() string {
	return fmt.Sprintf("%s rtt=%v sack=%v ts=%v reorder=%v loss=%v seed=%d", s.Policy.Name, s.RTT, s.SACK, s.Timestamps, s.Reorder, s.Loss, s.Seed)
}

// Simulated is the outcome of a scenario: captures, and the truth about the sender.
type Simulated struct {
	Flow
	Scenario Scenario
	Packets  [Points][]capture.Packet

	world            *host.World
	sender, receiver *host.Host
	cause            cause
	paws             uint64 // segments that the receiver has dropped so far by PAWS
	last             int    // the transmission that arrived last
	attempts         []attempt
}

// attempt distinguishes transmissions of the same bytes.
type attempt struct{ number, stamp uint32 }

// Simulate runs a scenario.
func Simulate(s Scenario) *Simulated {
	if !s.Sender.IsValid() {
		s.Sender = Sender
	}
	w := &Simulated{Scenario: s, cause: cause{states: map[uint64]tcp.CAState{}}}
	w.build()
	w.world.Net.Run(wheel.Time(s.Span))
	if faults := w.world.Faults(); len(faults) > 0 {
		panic(fmt.Sprintf("BUG: %v: %v", &s, faults[0]))
	}
	w.Settle()
	return w
}

// check panics if there is an error.
func check(err error) {
	if err != nil {
		panic("BUG: truthtest: " + err.Error())
	}
}

// must returns x, and panics if there is an error.
func must[T any](x T, err error) T {
	check(err)
	return x
}

// build creates hosts, routers and links.
func (w *Simulated) build() {
	s := &w.Scenario
	w.world = must(host.NewWorld(sim.Config{Seed: s.Seed}))
	net := w.world.Net
	for side, h := range []**host.Host{&w.sender, &w.receiver} {
		cfg := tcp.EngineConfig{Conn: tcp.DefaultConfig(s.Policy), Seed: s.Seed + uint64(side)<<32}
		cfg.Conn.SACK, cfg.Conn.Timestamps = s.SACK, s.Timestamps
		cfg.Key[0] = byte(side)
		if side == 0 {
			cfg.Trace = &w.cause
		}
		*h = must(w.world.NewHost([]netip.Addr{s.Sender, Receiver}[side], cfg))
	}
	access := sim.LinkConfig{Delay: s.RTT / 8}
	back := sim.LinkConfig{Rate: s.Rate, Delay: s.RTT / 4, Jitter: sim.Jitter{Amount: s.Jitter}}
	narrow, first := back, access
	narrow.Queue, narrow.Reorder = sim.Limit{Packets: 60}, sim.Reorder{Probability: s.Reorder, Extra: s.RTT / 10}
	if s.Upstream {
		first.Loss = s.Loss
	} else {
		narrow.Loss = s.Loss
	}
	left, right := sim.NewRouter(net), sim.NewRouter(net)
	a, l := must(net.AddNode("a", w.sender)), must(net.AddNode("left", left))
	r, b := must(net.AddNode("right", right)), must(net.AddNode("b", w.receiver))
	connect := func(from, to sim.NodeID, there, back sim.LinkConfig) (out, in sim.LinkID) {
		out, in, err := net.Connect(from, to, there, back)
		check(err)
		return out, in
	}
	aOut, aIn := connect(a, l, first, access)
	there, by := connect(l, r, narrow, back)
	bIn, bOut := connect(r, b, access, access)
	check(w.world.Attach(w.sender, a, aOut))
	check(w.world.Attach(w.receiver, b, bOut))
	left.Route(b, there)
	left.Route(a, aIn)
	right.Route(b, bIn)
	right.Route(a, by)
	type at = func(wheel.Time, *host.Datagram)
	to := func(p Point) at { return func(now wheel.Time, d *host.Datagram) { w.capture(p, now, d) } }
	net.Tap(aOut, tap{func(now wheel.Time, d *host.Datagram) { w.noteSent(now, d); w.capture(AtSender, now, d) }, to(InMiddle)})
	net.Tap(aIn, tap{arrived: to(AtSender)})
	net.Tap(by, tap{arrived: to(InMiddle)})
	net.Tap(bIn, tap{arrived: w.noteArrived})
	net.Tap(bOut, tap{sent: to(AtReceiver)})
	check(w.receiver.Listen(80, tcp.ListenConfig{Backlog: 8}, func() host.App { return host.Apps{&host.Sink{}, &host.Closer{}} }))
	must(w.sender.Dial(w.receiver, 80, nil, s.App()))
}

// tap is a sim.Tap. nil functions do nothing.
type tap struct {
	sent, arrived func(wheel.Time, *host.Datagram)
}

// Sent implements sim.Tap.
func (t tap) Sent(now wheel.Time, d *host.Datagram, _ sim.Fate) {
	if t.sent != nil {
		t.sent(now, d)
	}
}

// Arrived implements sim.Tap.
func (t tap) Arrived(now wheel.Time, d *host.Datagram) {
	if t.arrived != nil {
		t.arrived(now, d)
	}
}

// noteSent records a datagram that the sender hands to its link.
func (w *Simulated) noteSent(now wheel.Time, d *host.Datagram) {
	if t, ok := w.cause.sent(now, d, w.sender.Counters()); ok {
		t.At = w.stamp(now)
		w.Sent, w.attempts = append(w.Sent, t), append(w.attempts, attempt{d.Attempt, d.Body.Header.Options.TSVal})
	}
}

// noteArrived records a datagram that reaches the receiver.
func (w *Simulated) noteArrived(now wheel.Time, d *host.Datagram) {
	if n := w.receiver.Counters().PAWSEstab; n > w.paws {
		w.paws = n
		w.Sent[w.last].Arrived = false // its timestamp was too old (RFC 7323 §5.3)
	}
	w.capture(AtReceiver, now, d)
	if i := w.find(d); i >= 0 && !d.Corrupt {
		w.Sent[i].Arrived, w.last = true, i
	}
}

// stamp returns a time by the captures' clock.
func (w *Simulated) stamp(now wheel.Time) wheel.Time { return now.Add(time.Hour + w.Scenario.Start) }

// find returns the transmission of a sender's datagram, -1 if it has no sequence space.
func (w *Simulated) find(d *host.Datagram) int {
	h := &d.Body.Header
	end := h.Seq.Add(segLen(d))
	for i := len(w.Sent) - 1; i >= 0 && end != h.Seq; i-- {
		t := &w.Sent[i]
		if t.Seq == h.Seq && t.End == end && w.attempts[i] == (attempt{d.Attempt, h.Options.TSVal}) {
			return i
		}
	}
	return -1
}

func (w *Simulated) capture(point Point, now wheel.Time, d *host.Datagram) {
	h := &d.Body.Header
	p := capture.Packet{Number: int64(len(w.Packets[point]) + 1), Time: w.stamp(now), Header: *h, Len: d.Body.Len, TTL: 64, HasID: true}
	p.Src = netip.AddrPortFrom(w.world.Addr(d.From), h.SrcPort)
	p.Dst = netip.AddrPortFrom(w.world.Addr(d.To), h.DstPort)
	if d.Corrupt {
		p.Problems |= capture.BadChecksum
	}
	w.Packets[point] = append(w.Packets[point], p)
	if p.Src.Addr() == w.Scenario.Sender {
		w.Src = p.Src
		if i := w.find(d); i >= 0 {
			w.Note(point, p.Number, i)
		}
	} else if n := len(w.Acks); point == AtSender && h.Flags.Has(tcp.ACK) && (n == 0 || h.Ack.After(w.Acks[n-1].Una)) {
		w.Acks = append(w.Acks, Ack{p.Time, h.Ack})
	}
}

// Track analyses the capture at a point and returns the sender's flow.
func (w *Simulated) Track(point Point) *track.Flow {
	f := &track.Flow{} // if nothing came that far
	tr := track.New(track.Config{Done: func(c *track.Conn) {
		if c.ID == 0 {
			f = &c.Flows[0]
		}
	}})
	for i := range w.Packets[point] {
		tr.Add(&w.Packets[point][i])
	}
	tr.Close()
	return f
}

// cause records why the sender's engine sends.
type cause struct {
	queue    []tcp.TraceEvent // segments traced and not yet handed to the link
	states   map[uint64]tcp.CAState
	begun    bool
	una, max tcp.Seq

	armed          wheel.Time // when a retransmission timer was last armed
	due, dueBefore wheel.Time // its deadline, and the deadline before that

	counts tcp.Counters // at the previous transmission
}

// Trace implements tcp.Tracer.
func (e *cause) Trace(ev *tcp.TraceEvent) {
	switch ev.Kind {
	case tcp.TraceUpdated:
		e.una = ev.Vars.SndUna
		if ev.Changed&tcp.TraceCAState != 0 {
			e.states[ev.Conn] = ev.Vars.CAState
		}
	case tcp.TraceArmed:
		if ev.Timer == tcptimers.Rexmit {
			if ev.T > e.armed {
				e.dueBefore = e.due
			}
			e.armed, e.due = ev.T, ev.Deadline
		}
	case tcp.TraceSent:
		e.queue = append(e.queue, *ev)
		e.queue[len(e.queue)-1].Vars.CAState = e.states[ev.Conn]
	}
}

// sent returns the truth about a datagram handed to the link, which the engine has just traced. ok
// is false if it has no sequence space.
func (e *cause) sent(now wheel.Time, d *host.Datagram, counts tcp.Counters) (t Sent, ok bool) {
	ev := e.queue[0]
	e.queue = e.queue[1:]
	n := segLen(d)
	if n == 0 {
		return t, false
	}
	h := &d.Body.Header
	probed, expired := counts.TCPLossProbes > e.counts.TCPLossProbes, counts.TCPTimeouts > e.counts.TCPTimeouts
	e.counts = counts
	t = Sent{
		Seq: h.Seq, End: h.Seq.Add(n), Una: e.una, Max: e.max,
		Retransmission: ev.Rexmit > 0 && (d.Body.Len > 0 || h.Flags.HasAny(tcp.SYN|tcp.FIN)),
	}
	if !e.begun {
		e.begun, e.max = true, h.Seq
	}
	e.max = tcp.MaxSeq(e.max, t.End)
	switch {
	case !t.Retransmission:
	case h.Flags.Has(tcp.SYN):
		t.Kind = track.SYN
	case probed && ev.Timed:
		// A probe replaces a timeout due at the same time, and the trace names that timer.
		t.Kind = track.TLP
		due := e.due
		if e.armed == now {
			due = e.dueBefore
		}
		t.InPlace = due <= now
	case ev.Timed && ev.Timer == tcptimers.Rexmit:
		t.Kind, t.GoBack = track.RTO, !expired
	case ev.Timed && ev.Timer == tcptimers.Persist:
		t.Kind = track.Probe
	case ev.Vars.CAState == tcp.CALoss:
		t.Kind, t.GoBack = track.RTO, true
	default:
		t.Kind = track.Fast
	}
	return t, true
}

// segLen returns the sequence space of a datagram.
func segLen(d *host.Datagram) uint32 {
	h := &d.Body.Header
	return tcp.Arrival{Len: d.Body.Len, SYN: h.Flags.Has(tcp.SYN), FIN: h.Flags.Has(tcp.FIN)}.SegLen()
}
