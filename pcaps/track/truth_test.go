package track

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// scenario is a connection in the simulator, of which all is known: what its sender's engine has sent and why, and what arrived.
type scenario struct {
	policy       string
	sack, stamps bool
	rtt          time.Duration
	rate         uint64
	loss         sim.Losses
	upstream     bool // the loss is between the sender and the middle, and not behind it
	reorder      float64
	jitter       time.Duration
	app          func() host.App
	seed         uint64
	span         time.Duration
}

func (s scenario) String() string {
	return fmt.Sprintf("%s rtt=%v sack=%v ts=%v reorder=%v loss=%v seed=%d", s.policy, s.rtt, s.sack, s.stamps, s.reorder, s.loss, s.seed)
}

// truth is what is known of one transmission of the sender.
type truth struct {
	at       wheel.Time
	seq, end tcp.Seq
	attempt  uint32
	stamp    uint32
	una, max tcp.Seq // SND.UNA and SND.NXT before it
	kind     Kind
	rexmit   bool
	goBack   bool
	inPlace  bool // a probe that leaves in place of a timeout, at the instant for which that was due: nothing tells them apart
	spurious bool // octets of an earlier transmission have arrived, or will
	opens    bool // an episode
	arrived  bool
}

// world runs a scenario and has what was seen at three points, and the truth.
type world struct {
	scenario
	packets [3][]capture.Packet // at the sender, in the middle, at the receiver
	sent    []truth
	which   [3]map[int64]int // the packet by its number at that point is that transmission

	net      *host.World
	queue    []tcp.TraceEvent // segments that were traced and not handed to the link yet
	caOf     map[uint64]tcp.CAState
	una, max tcp.Seq

	armed          wheel.Time // when a retransmission timer was last armed
	due, dueBefore wheel.Time // for when, and for when before that instant

	file   *sim.Pcapng // where what is captured at the sender goes too; nil for nowhere
	octets []byte

	sender   *host.Host
	receiver *host.Host

	paws        uint64 // segments that the receiver has dropped by then for their timestamp
	lastArrived int

	counts tcp.Counters // of the sender, at the transmission before
}

var (
	senderAddr   = netip.MustParseAddr("10.1.0.1")
	receiverAddr = netip.MustParseAddr("10.2.0.1")
)

const (
	atSender = iota
	inMiddle
	atReceiver
)

// Trace implements tcp.Tracer.
func (w *world) Trace(ev *tcp.TraceEvent) {
	switch ev.Kind {
	case tcp.TraceUpdated:
		w.una = ev.Vars.SndUna
		if ev.Changed&tcp.TraceCAState != 0 {
			w.caOf[ev.Conn] = ev.Vars.CAState
		}
	case tcp.TraceArmed:
		if ev.Timer == tcptimers.Rexmit {
			if ev.T > w.armed {
				w.dueBefore = w.due
			}
			w.armed, w.due = ev.T, ev.Deadline
		}
	case tcp.TraceSent:
		w.queue = append(w.queue, *ev)
		w.queue[len(w.queue)-1].Vars.CAState = w.caOf[ev.Conn]
	}
}

// tap listens on a link: to what is sent, to what arrives, or to both. A point is counted from 1 here, and 0 is none.
type tap struct {
	w             *world
	sent, arrived int
	first, last   bool // the link is the sender's, or leads to the receiver
}

// Sent implements sim.Tap.
func (t *tap) Sent(now wheel.Time, d *host.Datagram, _ sim.Fate) {
	if t.first {
		t.w.noteSent(now, d)
	}
	if t.sent > 0 {
		t.w.capture(t.sent-1, now, d)
	}
}

// Arrived implements sim.Tap.
func (t *tap) Arrived(now wheel.Time, d *host.Datagram) {
	if !t.last {
	} else if n := t.w.receiver.Counters().PAWSEstab; n > t.w.paws {
		t.w.paws = n
		t.w.sent[t.w.lastArrived].arrived = false // its timestamp was too old: RFC 7323 §5.3
	}
	if t.arrived > 0 {
		t.w.capture(t.arrived-1, now, d)
	}
	if i := t.w.find(d); t.last && i >= 0 && !d.Corrupt {
		t.w.sent[i].arrived, t.w.lastArrived = true, i
	}
}

// noteSent takes the truth of what the sender hands to its link: the engine has just traced it.
func (w *world) noteSent(now wheel.Time, d *host.Datagram) {
	ev := w.queue[0]
	w.queue = w.queue[1:]
	n := segLen(d)
	if n == 0 {
		return
	}
	h := &d.Body.Header
	c := w.sender.Counters()
	probed, expired := c.TCPLossProbes > w.counts.TCPLossProbes, c.TCPTimeouts > w.counts.TCPTimeouts
	w.counts = c
	t := truth{
		at: now, seq: h.Seq, end: h.Seq.Add(n), attempt: d.Attempt, stamp: h.Options.TSVal, una: w.una, max: w.max,
		rexmit: ev.Rexmit > 0 && (d.Body.Len > 0 || h.Flags.HasAny(tcp.SYN|tcp.FIN)),
	}
	if len(w.sent) == 0 {
		w.max = h.Seq
	}
	w.max = tcp.MaxSeq(w.max, t.end)
	if t.rexmit {
		switch {
		case h.Flags.Has(tcp.SYN):
			t.kind = SYN
		case probed && ev.Timed:
			// A probe takes the place of a timeout that is due at the same instant, and the trace names the timer of that.
			t.kind = TLP
			due := w.due
			if w.armed == now {
				due = w.dueBefore
			}
			t.inPlace = due <= now
		case ev.Timed && ev.Timer == tcptimers.Rexmit:
			t.kind, t.goBack = RTO, !expired
		case ev.Timed && ev.Timer == tcptimers.Persist:
			t.kind = Probe
		case ev.Vars.CAState == tcp.CALoss:
			t.kind, t.goBack = RTO, true
		default:
			t.kind = Fast
		}
	}
	w.sent = append(w.sent, t)
}

func segLen(d *host.Datagram) uint32 {
	h := &d.Body.Header
	return tcp.Arrival{Len: d.Body.Len, SYN: h.Flags.Has(tcp.SYN), FIN: h.Flags.Has(tcp.FIN)}.SegLen()
}

// find returns the transmission that a datagram of the sender is, -1 if it carries nothing.
func (w *world) find(d *host.Datagram) int {
	h := &d.Body.Header
	end := h.Seq.Add(segLen(d))
	for i := len(w.sent) - 1; i >= 0 && end != h.Seq; i-- {
		t := &w.sent[i]
		if t.seq == h.Seq && t.end == end && t.attempt == d.Attempt && t.stamp == h.Options.TSVal {
			return i
		}
	}
	return -1
}

func (w *world) capture(point int, now wheel.Time, d *host.Datagram) {
	p := capture.Packet{
		Number: int64(len(w.packets[point]) + 1), Time: now.Add(time.Hour), Header: d.Body.Header, Len: d.Body.Len, TTL: 64, HasID: true,
	}
	p.Src = netip.AddrPortFrom(w.net.Addr(d.From), d.Body.Header.SrcPort)
	p.Dst = netip.AddrPortFrom(w.net.Addr(d.To), d.Body.Header.DstPort)
	if d.Corrupt {
		p.Problems |= capture.BadChecksum
	}
	if p.Src.Addr() == senderAddr {
		if i := w.find(d); i >= 0 {
			w.which[point][p.Number] = i
		}
	}
	w.packets[point] = append(w.packets[point], p)
	if w.file != nil && point == atSender {
		w.octets = w.net.Serializer().Serialize(w.octets[:0], d)
		if err := w.file.WritePacket(0, p.Time, w.octets, d.Size, ""); err != nil {
			panic(err)
		}
	}
}

// config is that of the engines.
func (s *scenario) config(side byte) (tcp.EngineConfig, error) {
	policy, err := tcptimers.NewPolicy(s.policy)
	cfg := tcp.EngineConfig{Conn: tcp.DefaultConfig(policy), Seed: s.seed + uint64(side)<<32}
	cfg.Conn.SACK, cfg.Conn.Timestamps = s.sack, s.stamps
	cfg.Key[0] = side
	return cfg, err
}

// run lets the scenario happen.
func run(t *testing.T, s scenario) *world {
	t.Helper()
	return runTo(t, s, nil)
}

// runTo has what is captured at the sender written too, unless file is nil.
func runTo(t *testing.T, s scenario, file *sim.Pcapng) *world {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%v: %v", s, err)
		}
	}
	net, err := host.NewWorld(sim.Config{Seed: s.seed})
	check(err)
	w := &world{scenario: s, net: net, file: file, caOf: map[uint64]tcp.CAState{}}
	for i := range w.which {
		w.which[i] = map[int64]int{}
	}
	cfg, err := s.config(0)
	check(err)
	cfg.Trace = w
	a, err := net.NewHost(senderAddr, cfg)
	check(err)
	w.sender = a
	cfg, err = s.config(1)
	check(err)
	b, err := net.NewHost(receiverAddr, cfg)
	check(err)
	w.receiver = b

	access := sim.LinkConfig{Delay: s.rtt / 8}
	narrow := sim.LinkConfig{
		Rate: s.rate, Delay: s.rtt / 4, Queue: sim.Limit{Packets: 60}, Reorder: sim.Reorder{Probability: s.reorder, Extra: s.rtt / 10},
		Jitter: sim.Jitter{Amount: s.jitter},
	}
	lossy := access
	if s.upstream {
		lossy.Loss = s.loss
	} else {
		narrow.Loss = s.loss
	}
	back := sim.LinkConfig{Rate: s.rate, Delay: s.rtt / 4, Jitter: sim.Jitter{Amount: s.jitter}}
	var nodes [4]sim.NodeID
	left, right := sim.NewRouter(net.Net), sim.NewRouter(net.Net)
	for i, n := range []struct {
		name string
		node sim.Node[host.Body]
	}{{"a", a}, {"left", left}, {"right", right}, {"b", b}} {
		nodes[i], err = net.Net.AddNode(n.name, n.node)
		check(err)
	}
	aOut, aIn, err := net.Net.Connect(nodes[0], nodes[1], lossy, access)
	check(err)
	there, by, err := net.Net.Connect(nodes[1], nodes[2], narrow, back)
	check(err)
	bIn, bOut, err := net.Net.Connect(nodes[2], nodes[3], access, access)
	check(err)
	check(net.Attach(a, nodes[0], aOut))
	check(net.Attach(b, nodes[3], bOut))
	left.Route(nodes[3], there)
	left.Route(nodes[0], aIn)
	right.Route(nodes[3], bIn)
	right.Route(nodes[0], by)
	net.Net.Tap(aOut, &tap{w: w, sent: atSender + 1, arrived: inMiddle + 1, first: true})
	net.Net.Tap(aIn, &tap{w: w, arrived: atSender + 1})
	net.Net.Tap(by, &tap{w: w, arrived: inMiddle + 1})
	net.Net.Tap(bIn, &tap{w: w, arrived: atReceiver + 1, last: true})
	net.Net.Tap(bOut, &tap{w: w, sent: atReceiver + 1})

	check(b.Listen(80, tcp.ListenConfig{Backlog: 8}, func() host.App { return host.Apps{&host.Sink{}, &host.Closer{}} }))
	_, err = a.Dial(b, 80, nil, s.app())
	check(err)
	net.Net.Run(wheel.Time(s.span))
	if faults := net.Faults(); len(faults) > 0 {
		t.Fatalf("%v: %v", s, faults[0])
	}
	w.settle()
	return w
}

// settle works out what each transmission was in the end.
func (w *world) settle() {
	var recover tcp.Seq
	open := false
	for i := range w.sent {
		t := &w.sent[i]
		if !t.rexmit {
			continue
		}
		if !open || t.una.AtOrAfter(recover) {
			open, t.opens, recover = true, true, t.max
		}
		covered := t.seq
		for again := true; again && covered.Before(t.end); {
			again = false
			for k := range i {
				if o := &w.sent[k]; o.arrived && o.seq.AtOrBefore(covered) && o.end.After(covered) {
					covered, again = o.end, true
				}
			}
		}
		t.spurious = !covered.Before(t.end)
	}
}

// follow gives what was captured at a point to a tracker, and returns the flow of the sender.
func (w *world) follow(t *testing.T, point int) *Flow {
	t.Helper()
	var f *Flow
	tr := New(Config{Done: func(c *Conn) {
		if c.ID == 0 {
			f = &c.Flows[0]
		}
	}})
	for i := range w.packets[point] {
		tr.Add(&w.packets[point][i])
	}
	tr.Close()
	if f == nil { // nothing came as far as there
		f = &Flow{}
	}
	return f
}
