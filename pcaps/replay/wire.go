package replay

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// wire is what a script keeps of the capture for open loops.
type wire struct {
	packets []packet
	syn     [2]tcp.Options
	hasSYN  [2]bool
	base    [2]tcp.Seq
	got     [2][]feed // what each end received
	heard   [2][]hearing
	again   [2][]repeat
}

// feed is a packet as it arrives at an end.
type feed struct {
	at         wheel.Time
	packet     int
	start, end int64
	ack        int64
}

// feeds keeps what arrived at each end.
func (m *maker) feeds() {
	w := &m.script.wire
	w.packets, w.base, w.heard = m.packets, m.base, m.hearings()
	for d := range w.again {
		w.again[d] = m.script.Ways[d].repeats()
	}
	for d := range m.deeds {
		f := &m.conn.Flows[d]
		w.syn[d], w.hasSYN[d] = f.SYN, f.HasSYN
		for _, x := range m.deeds[d] {
			if p := &m.packets[x.order]; x.sends && p.hasTS {
				if t := &m.script.wireStamps[d]; len(*t) == 0 || int32(p.tsval-(*t)[len(*t)-1].ts) > 0 {
					*t = append(*t, stampAt{x.at, p.tsval})
				}
			}
			if !x.sends && !x.reset {
				w.got[d] = append(w.got[d], feed{x.at, x.order, x.start, x.end, x.ack})
			}
		}
	}
}

// WireOutcome is what an engine did that was fed what an end received.
type WireOutcome struct {
	Want, Got []Event // what the end sent in the capture, and the engine

	// First is how many first transmissions of octets the capture has, and FirstRight how many of them the engine made within 1 ms of
	// then; Again and AgainRight are retransmissions.
	First, FirstRight int
	Again, AgainRight int
	Median, P95       time.Duration // by how much they are off, all of them
	More              int           // transmissions of the engine that the capture does not have

	Divergence *Divergence // the first one: other octets, or more than 1 ms off
}

// wireBand is by how much a transmission may be off in an open loop.
const wireBand = time.Millisecond

// CanWire returns the Refusal with which Wire would refuse, nil if it would not.
func (s *Script) CanWire() error {
	if s.wire.packets == nil {
		return refuse("it was not made of a capture")
	}
	if !s.wire.hasSYN[0] || !s.wire.hasSYN[1] {
		return refuse("the capture has not the whole handshake")
	}
	return nil
}

// Wire runs one end, 0 for the client, as an engine under the policy that gets the captured packets of the other end at the times at which
// they arrived, with sequence numbers and timestamps rewritten to its own: an open loop, in which nothing that the engine does changes
// what it hears. Its application is the script's. It needs the handshake.
func (s *Script) Wire(end int, o Options) (*WireOutcome, error) {
	if err := s.CanWire(); err != nil {
		return nil, err
	}
	w := &wireRun{run: run{script: s, options: o, out: &Outcome{}}, end: end, sentTS: []stampAt{}}
	if err := w.build(); err != nil {
		return nil, err
	}
	limit := s.End.Add(lingers)
	steps := stepsMore + stepsEach*len(s.wire.packets)
	for n := 0; n < steps && w.world.Net.Now() < limit && w.world.Net.Step(); n++ {
	}
	return w.compare(), nil
}

// wireRun is an open loop at work.
type wireRun struct {
	run
	end    int
	next   int // of what it gets
	timer  wheel.Timer
	peer   sim.NodeID
	node   sim.NodeID
	iss    tcp.Seq
	began  bool
	place  int64
	sentTS []stampAt
	log    []Event
}

// stampAt is a timestamp of the engine, and when it was sent first.
type stampAt struct {
	at wheel.Time
	ts uint32
}

var wireAddrs = [2]netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, 1}), netip.AddrFrom4([4]byte{10, 0, 0, 2})}

func (w *wireRun) build() error {
	var err error
	if w.world, err = host.NewWorld(sim.Config{Seed: 1}); err != nil {
		return err
	}
	net := w.world.Net
	cfg, err := w.config(w.end)
	if err != nil {
		return err
	}
	addrs := wireAddrs
	if w.script.IPv6 {
		addrs = [2]netip.Addr{netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2")}
	}
	var nodes [2]sim.NodeID
	for i := range 2 {
		if w.hosts[i], err = w.world.NewHost(addrs[i], cfg); err != nil {
			return err
		}
		var node sim.Node[host.Body] = w
		if i == w.end {
			node = w.hosts[i]
		}
		if nodes[i], err = net.AddNode([2]string{"client", "server"}[i], node); err != nil {
			return err
		}
	}
	ab, ba, err := net.Connect(nodes[0], nodes[1], sim.LinkConfig{}, sim.LinkConfig{})
	if err != nil {
		return err
	}
	for i, via := range []sim.LinkID{ab, ba} {
		if err := w.world.Attach(w.hosts[i], nodes[i], via); err != nil {
			return err
		}
	}
	w.node, w.peer = nodes[w.end], nodes[1-w.end]
	w.apps[w.end] = newApp(&w.run, w.end)
	w.timer = net.NewTimer(w)
	if w.end == 1 {
		err := w.hosts[1].Listen(serverPort, tcp.ListenConfig{Backlog: 1}, func() host.App { return w.apps[1] })
		if err != nil {
			return err
		}
	} else {
		net.StartTimer(net.NewTimer(dialer{&w.run}), w.script.Begin)
	}
	if got := w.script.wire.got[w.end]; len(got) > 0 {
		net.StartTimer(w.timer, got[0].at)
	}
	return nil
}

// Receive implements sim.Node: the engine has sent a packet.
func (w *wireRun) Receive(now wheel.Time, _ sim.LinkID, d *host.Datagram) {
	h := &d.Body.Header
	if !w.began {
		w.began, w.iss = true, h.Seq
	}
	pos := w.place + int64(int32(h.Seq-(w.iss+tcp.Seq(w.place))))
	w.place = max(w.place, pos)
	end := pos + int64(d.Body.Len)
	for _, f := range []tcp.Flags{tcp.SYN, tcp.FIN} {
		if h.Flags.Has(f) {
			end++
		}
	}
	if h.Flags.Has(tcp.RST) {
		return
	}
	if n := len(w.sentTS); h.Options.HasTimestamps && (n == 0 || w.sentTS[n-1].ts != h.Options.TSVal) {
		w.sentTS = append(w.sentTS, stampAt{now, h.Options.TSVal})
	}
	e := Event{At: now, Flow: w.end, Flags: h.Flags, Start: uint64(max(pos, 0)), End: uint64(max(end, 0))}
	if h.Flags.Has(tcp.ACK) {
		e.Ack = uint64(h.Ack - w.script.wire.base[1-w.end])
	}
	w.log = append(w.log, e)
}

// Expire implements sim.Handler: the next packet arrives.
func (w *wireRun) Expire(now wheel.Time) {
	got := w.script.wire.got[w.end]
	for w.next < len(got) && got[w.next].at <= now {
		w.feed(now, &got[w.next])
		w.next++
	}
	if w.next < len(got) {
		w.world.Net.StartTimer(w.timer, got[w.next].at)
	}
}

// feed hands the engine a packet of the capture, in its own numbers.
func (w *wireRun) feed(now wheel.Time, f *feed) {
	k := &w.script.wire
	p := &k.packets[f.packet]
	if w.end == 0 && !w.began || p.flags.Has(tcp.RST) {
		return
	}
	ports := [2]uint16{32768, serverPort}
	if s := w.apps[0]; w.end == 0 && s.session != nil {
		ports[0] = s.session.Socket().Local().Port()
	}
	var d host.Datagram
	d.From, d.To = w.peer, w.node
	h := &d.Body.Header
	h.SrcPort, h.DstPort = ports[1-w.end], ports[w.end]
	h.Seq, h.Flags, h.Window = p.seq, p.flags, p.window
	if p.flags.Has(tcp.ACK) {
		h.Ack = w.iss + tcp.Seq(p.ack-k.base[w.end])
	}
	o := &h.Options
	if p.flags.Has(tcp.SYN) {
		*o = k.syn[1-w.end]
	}
	o.HasTimestamps, o.TSVal, o.TSEcr = p.hasTS, p.tsval, 0
	if p.hasTS && p.flags.Has(tcp.ACK) {
		o.TSEcr = w.echo(p.ecr)
	}
	o.NumSACK = p.sacks
	for i := range p.sacks {
		o.SACK[i] = tcp.Range{Start: w.iss + tcp.Seq(p.sack[i].Start-k.base[w.end]), End: w.iss + tcp.Seq(p.sack[i].End-k.base[w.end])}
	}
	d.Body.Len, d.Body.Offset = p.len, uint64(max(f.start-1, 0))
	d.Start, d.End, d.Attempt = d.Body.Offset, d.Body.Offset+uint64(p.len), 1
	d.Size = 40 + uint32(h.HeaderLen()) + p.len
	w.hosts[w.end].Receive(now, 0, &d)
}

// echo returns the engine's timestamp for one of the captured end: what it had sent last when the captured end sent that.
func (w *wireRun) echo(ecr uint32) uint32 {
	s := w.script
	at := wheel.Time(-1)
	i, found := slices.BinarySearchFunc(s.wireStamps[w.end], ecr, func(a stampAt, ts uint32) int { return int(int32(a.ts - ts)) })
	if found {
		at = s.wireStamps[w.end][i].at
	}
	if len(w.sentTS) == 0 {
		return 0
	}
	last := w.sentTS[len(w.sentTS)-1].ts
	if at < 0 {
		return last
	}
	k, _ := slices.BinarySearchFunc(w.sentTS, at.Add(wireBand), func(a stampAt, at wheel.Time) int { return cmp.Compare(a.at, at) })
	return w.sentTS[max(k-1, 0)].ts
}

// Detected returns how long after the try-th transmission of octets the next one left the engine, and when, and whether there was one.
func (o *WireOutcome) Detected(start uint64, try int) (after time.Duration, at wheel.Time, ok bool) {
	n := 0
	before := wheel.Time(0)
	for _, e := range o.Got {
		if e.Start > start || e.End <= start {
			continue
		}
		if n++; n == try+1 {
			return e.At.Sub(before), e.At, true
		}
		before = e.At
	}
	return 0, 0, false
}

// compare puts what the engine sent beside what the captured end sent.
func (w *wireRun) compare() *WireOutcome {
	s := w.script
	out := &WireOutcome{Got: w.log}
	half := s.Ends[w.end].Half / 2
	for _, e := range s.log {
		if e.Flow == w.end {
			e.At = e.At.Add(-half)
			out.Want = append(out.Want, e)
		}
	}
	var off []time.Duration
	for _, p := range out.Pairs() {
		if p.Want == nil {
			out.More++
			continue
		}
		if d, ok := p.Off(); ok {
			off = append(off, d.Abs())
		}
		n, good := &out.First, &out.FirstRight
		if p.Try > 1 {
			n, good = &out.Again, &out.AgainRight
		}
		*n++
		if p.Right() {
			*good++
		} else if out.Divergence == nil {
			out.Divergence = &Divergence{Index: p.index, Want: p.Want, Got: p.Got}
		}
	}
	out.Median, out.P95 = Quantile(off, 0.5), Quantile(off, 0.95)
	return out
}
