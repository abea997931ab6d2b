package truth

import (
	"fmt"
	"net/netip"
	"time"

	"tcpwheel/internal/pcapng"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/track"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Scenario is a simulated connection from a to b over two routers. Losses, reordering and a queue
// affect the direction to b; all ACKs arrive.
type Scenario struct {
	Policy           tcptimers.Policy // of both ends
	SACK, Timestamps bool
	RTT              time.Duration
	Rate             uint64 // of the link between the routers, bit/s
	Loss             sim.Losses
	Upstream         bool // lose packets before the first router, not behind it
	Reorder          float64
	Jitter           time.Duration
	App              func() host.App
	Seed             uint64
	Span             time.Duration

	Sender netip.Addr // 10.1.0.1 if not valid

	// Files receive captures at the sender, behind the first router, and at the receiver, without
	// most of the payload. Each needs an interface 0 of pcapng.LinkTypeRaw. nil for none. Stamps count
	// from Epoch.
	Files [3]*pcapng.Writer
	Epoch wheel.Time
}

// String describes the plan.
func (s *Scenario) String() string {
	return fmt.Sprintf("%s rtt=%v sack=%v ts=%v reorder=%v loss=%v seed=%d", s.Policy.Name, s.RTT, s.SACK, s.Timestamps, s.Reorder, s.Loss, s.Seed)
}

// Simulated is the outcome of a scenario: captures at AtA, InMiddle and AtB, and the truth about
// the sender.
type Simulated struct {
	*Flow
	Scenario Scenario
	Packets  [3][]capture.Packet

	net              *host.World
	sender, receiver *host.Host

	engine      engine
	paws        uint64 // segments that the receiver has dropped so far by PAWS
	lastArrived int
	attempts    []attempt // of Flow.Sent

	buf []byte
	err error // of writing
}

// attempt distinguishes transmissions of the same bytes.
type attempt struct{ number, stamp uint32 }

var (
	senderAddr   = netip.MustParseAddr("10.1.0.1")
	receiverAddr = netip.MustParseAddr("10.250.0.1")
)

// Simulate runs a scenario.
func Simulate(s Scenario) (*Simulated, error) {
	if !s.Sender.IsValid() {
		s.Sender = senderAddr
	}
	w := &Simulated{Scenario: s, Flow: newFlow(netip.AddrPort{}, netip.AddrPortFrom(receiverAddr, 80))}
	if err := w.build(); err != nil {
		return nil, fmt.Errorf("%v: %w", &s, err)
	}
	w.net.Net.Run(wheel.Time(s.Span))
	if faults := w.net.Faults(); len(faults) > 0 {
		return nil, fmt.Errorf("%v: %w", &s, faults[0])
	}
	if w.err != nil {
		return nil, w.err
	}
	for _, i := range w.settle() {
		w.Sent[i].Reported = true // no ACK is lost
	}
	return w, nil
}

// links returns the sender's link, the links between the routers there and back, and all others.
func (s *Scenario) links() (lossy, narrow, back, access sim.LinkConfig) {
	access = sim.LinkConfig{Delay: s.RTT / 8}
	narrow = sim.LinkConfig{
		Rate: s.Rate, Delay: s.RTT / 4, Queue: sim.Limit{Packets: 60}, Reorder: sim.Reorder{Probability: s.Reorder, Extra: s.RTT / 10},
		Jitter: sim.Jitter{Amount: s.Jitter},
	}
	lossy = access
	if s.Upstream {
		lossy.Loss = s.Loss
	} else {
		narrow.Loss = s.Loss
	}
	back = sim.LinkConfig{Rate: s.Rate, Delay: s.RTT / 4, Jitter: sim.Jitter{Amount: s.Jitter}}
	return lossy, narrow, back, access
}

// build creates hosts, routers and links.
func (w *Simulated) build() (err error) {
	s := &w.Scenario
	check := func(e error) {
		if err == nil {
			err = e
		}
	}
	w.net, err = host.NewWorld(sim.Config{Seed: s.Seed})
	if err != nil {
		return err
	}
	w.engine.caOf = map[uint64]tcp.CAState{}
	config := func(side byte) tcp.EngineConfig {
		cfg := tcp.EngineConfig{Conn: tcp.DefaultConfig(s.Policy), Seed: s.Seed + uint64(side)<<32}
		cfg.Conn.SACK, cfg.Conn.Timestamps = s.SACK, s.Timestamps
		cfg.Key[0] = side
		if side == 0 {
			cfg.Trace = &w.engine
		}
		return cfg
	}
	if w.sender, err = w.net.NewHost(s.Sender, config(0)); err != nil {
		return err
	}
	if w.receiver, err = w.net.NewHost(receiverAddr, config(1)); err != nil {
		return err
	}
	lossy, narrow, back, access := s.links()
	var nodes [4]sim.NodeID
	net := w.net.Net
	left, right := sim.NewRouter(net), sim.NewRouter(net)
	for i, n := range []struct {
		name string
		node sim.Node[host.Body]
	}{{"a", w.sender}, {"left", left}, {"right", right}, {"b", w.receiver}} {
		id, e := net.AddNode(n.name, n.node)
		nodes[i] = id
		check(e)
	}
	if err != nil {
		return err
	}
	connect := func(i, k int, there, back sim.LinkConfig) (out, in sim.LinkID) {
		out, in, e := net.Connect(nodes[i], nodes[k], there, back)
		check(e)
		return out, in
	}
	aOut, aIn := connect(0, 1, lossy, access)
	there, by := connect(1, 2, narrow, back)
	bIn, bOut := connect(2, 3, access, access)
	if err != nil {
		return err
	}
	check(w.net.Attach(w.sender, nodes[0], aOut))
	check(w.net.Attach(w.receiver, nodes[3], bOut))
	left.Route(nodes[3], there)
	left.Route(nodes[0], aIn)
	right.Route(nodes[3], bIn)
	right.Route(nodes[0], by)
	net.Tap(aOut, &tap{w: w, sent: AtA + 1, arrived: InMiddle + 1, first: true})
	net.Tap(aIn, &tap{w: w, arrived: AtA + 1})
	net.Tap(by, &tap{w: w, arrived: InMiddle + 1})
	net.Tap(bIn, &tap{w: w, arrived: AtB + 1, last: true})
	net.Tap(bOut, &tap{w: w, sent: AtB + 1})
	check(w.receiver.Listen(80, tcp.ListenConfig{Backlog: 8}, func() host.App { return host.Apps{&host.Sink{}, &host.Closer{}} }))
	_, e := w.sender.Dial(w.receiver, 80, nil, s.App())
	check(e)
	return err
}

// tap observes a link: what is sent, what arrives, or both. Points count from 1 here; 0 is none.
type tap struct {
	w             *Simulated
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
	w := t.w
	if t.last {
		if n := w.receiver.Counters().PAWSEstab; n > w.paws {
			w.paws = n
			w.Flow.Sent[w.lastArrived].Arrived = false // its timestamp was too old (RFC 7323 §5.3)
		}
	}
	if t.arrived > 0 {
		w.capture(t.arrived-1, now, d)
	}
	if i := w.find(d); t.last && i >= 0 && !d.Corrupt {
		w.Flow.Sent[i].Arrived, w.lastArrived = true, i
	}
}

// noteSent records a datagram that the sender hands to its link.
func (w *Simulated) noteSent(now wheel.Time, d *host.Datagram) {
	t, ok := w.engine.sent(now, d, w.sender.Counters())
	if !ok {
		return
	}
	t.At = now.Add(w.Scenario.since())
	w.Sent = append(w.Sent, t)
	w.attempts = append(w.attempts, attempt{d.Attempt, d.Body.Header.Options.TSVal})
}

// since returns the start of the simulator's clock.
func (s *Scenario) since() time.Duration { return time.Hour + time.Duration(s.Epoch) }

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

// snapLen is the number of bytes kept of a packet in a file.
const snapLen = 128

func (w *Simulated) capture(point int, now wheel.Time, d *host.Datagram) {
	p := capture.Packet{
		Number: int64(len(w.Packets[point]) + 1), Time: now.Add(w.Scenario.since()), Header: d.Body.Header, Len: d.Body.Len, TTL: 64, HasID: true,
	}
	p.Src = netip.AddrPortFrom(w.net.Addr(d.From), d.Body.Header.SrcPort)
	p.Dst = netip.AddrPortFrom(w.net.Addr(d.To), d.Body.Header.DstPort)
	if d.Corrupt {
		p.Problems |= capture.BadChecksum
	}
	if p.Src.Addr() == w.Scenario.Sender {
		w.Src = p.Src
		if i := w.find(d); i >= 0 {
			w.note(point, p.Number, i)
		}
	}
	w.Packets[point] = append(w.Packets[point], p)
	if h := &p.Header; point == AtA && p.Dst.Addr() == w.Scenario.Sender && h.Flags.Has(tcp.ACK) {
		if n := len(w.reports); n == 0 || h.Ack.After(w.reports[n-1].una) {
			w.reports = append(w.reports, ackNews{at: p.Time, una: h.Ack})
		}
	}
	if file := w.Scenario.Files[point]; file != nil && w.err == nil {
		w.buf = w.net.Serializer().Serialize(w.buf[:0], d)
		w.err = file.WritePacket(0, p.Time, w.buf[:min(len(w.buf), snapLen)], d.Size, "")
	}
}

// Track analyses the capture at a point with package track and returns the sender's flow.
func (w *Simulated) Track(point int) *track.Flow {
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

// Class returns the class of the capture at a point.
func (w *Simulated) Class(point int) Class {
	return Class{Side: Side(point), SACK: w.Scenario.SACK, Timestamps: w.Scenario.Timestamps}
}

// Compare analyses the capture at a point and compares it with the truth. It calls note, if not
// nil, for each difference.
func (w *Simulated) Compare(point int, note func(format string, args ...any)) *Tally {
	if note == nil {
		note = func(string, ...any) {}
	}
	return w.compare(w.Track(point), point, func(packet int64) int64 { return packet }, w.Class(point), note)
}
