package pacing

import (
	"context"
	"net/netip"
	"time"

	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// The bytes of a full segment with timestamps, of its packet, and of Ethernet around that.
const (
	payload  = 1448
	mtu      = 1500
	overhead = 38
)

// packetTime returns how long a link of so many bit/s takes for a full packet.
func packetTime(rate int) time.Duration {
	return time.Duration(8 * (mtu + overhead) * int64(time.Second) / int64(rate))
}

// path sets what follows from rate and round trip: the gap, and the room at the bottleneck.
func (p *Plan) path(c Cell) Cell {
	c.Gap = packetTime(c.Rate)
	c.Room = max(p.Least, int(p.Buffer*float64(c.RoundTrip)/float64(c.Gap)))
	return c
}

// segments returns the full segments of a transfer.
func (p *Plan) segments(c *Cell) int {
	return max(p.Shorter, int(float64(p.Trips)*float64(c.RoundTrip)/float64(c.Gap)))
}

// watch is a run, as it goes.
type watch struct {
	Cell
	bed     *testbed.Dumbbell
	split   time.Duration // a longer gap ends a train
	segment int           // of a transfer
	left    int           // transfers
	pause   time.Duration

	session *host.Session
	timer   wheel.Timer
	begin   wheel.Time // of the transfer
	last    wheel.Time // departure
	train   int        // packets of the current one
	done    bool
}

// transfers returns a cell's run: so many transfers of so many full segments over one connection.
func (p *Plan) transfers(c Cell, segments, objects int, split time.Duration) func(context.Context) (Cell, error) {
	return func(context.Context) (Cell, error) {
		w := &watch{Cell: c, split: split, segment: segments, left: objects, pause: c.RoundTrip}
		conn := p.Timers.Config()
		switch c.Kind {
		case ofOld:
			conn = p.OldTimers.Config()
		case ofTails:
			conn = p.TailTimers.Config()
		case ofGaps:
			conn = p.GapTimers.Config()
		}
		conn.Policy.Tick, conn.Pacing, conn.Socket.NoDelay = c.Tick, c.Paced, true
		bottleneck := sim.LinkConfig{Rate: uint64(c.Rate), Overhead: overhead, Delay: c.RoundTrip / 2}
		back := bottleneck
		bottleneck.Queue.Packets = uint32(c.Room)
		if c.Loss > 0 {
			bottleneck.Loss = sim.Losses{sim.Bernoulli{P: c.Loss}}
		}
		plan := testbed.DumbbellPlan{Seed: uint64(c.Seed), Pairs: 1, Bottleneck: bottleneck, Return: &back,
			Access: []sim.LinkConfig{{Rate: uint64(c.Rate * p.Access), Overhead: overhead}},
			Serve:  func() host.App { return &host.Sink{} }}
		plan.Host = func(side, _ int) (netip.Addr, tcp.EngineConfig) {
			return netip.AddrFrom4([4]byte{10, 0, 0, byte(side + 1)}), tcp.EngineConfig{Conn: conn, Count: true,
				Seed: testbed.Key(uint64(c.Seed), 0xe29, uint64(side)), Key: [16]byte{byte(side + 1), byte(c.Seed)}}
		}
		var err error
		if w.bed, err = testbed.NewDumbbell(plan); err != nil {
			return c, err
		}
		return w.run()
	}
}

// run runs the transfers. They begin at an instant that depends on the seed, so that ticks are met
// at any phase.
func (w *watch) run() (Cell, error) {
	net, sender := w.bed.World.Net, w.bed.Senders[0]
	net.Tap(w.bed.Links.SenderOut[0], departures{w})
	net.Tap(w.bed.Links.Bottleneck, arrivals{w})
	net.Run(wheel.Time(testbed.Uniform(uint64(w.Seed), 0xe29) * float64(20*time.Millisecond)))
	w.timer = net.NewTimer(w)
	if _, err := sender.Dial(w.bed.Receivers[0], testbed.ServePort, nil, w); err != nil {
		return w.Cell, err
	}
	for !w.done && net.Now() < wheel.Time(24*time.Hour) && net.Step() {
	}
	w.endTrain()
	w.Dropped = net.Link(w.bed.Links.Bottleneck).Counts().QueueDropped
	counters := sender.Counters()
	w.Timeouts, w.Retransmit = counters.TCPTimeouts, counters.RetransSegs
	w.Expiries = sender.Engine().Wheel().Expiries
	for _, err := range w.bed.World.Faults() {
		return w.Cell, err
	}
	return w.Cell, nil
}

// OnEvents implements host.App: it begins a transfer when the connection is open, and notes its
// end.
func (w *watch) OnEvents(now wheel.Time, s *host.Session, ev tcp.Events) {
	w.session = s
	switch {
	case ev.Has(tcp.EventConnected):
		w.Expire(now)
	case ev.Has(tcp.EventFailed):
		w.done = true
	case ev.Has(tcp.EventSent) && s.Unacked() == 0:
		w.Took += now.Sub(w.begin)
		w.Bits += float64(8 * w.segment * payload)
		if w.left--; w.left == 0 {
			w.done = true
			return
		}
		w.bed.World.Net.StartTimer(w.timer, now.Add(w.pause))
	}
}

// Expire implements sim.Handler: it begins a transfer.
func (w *watch) Expire(now wheel.Time) {
	w.begin = now
	w.session.Write(uint32(w.segment*payload), 0)
}

// departures is the tap on the sender's link, and arrivals the tap on the bottleneck.
type (
	departures struct{ *watch }
	arrivals   struct{ *watch }
)

// Sent implements sim.Tap.
func (w departures) Sent(now wheel.Time, d *host.Datagram, _ sim.Fate) {
	if d.Body.Len > 0 {
		w.depart(now)
	}
}

// depart counts a packet with data that leaves the sender.
func (w *watch) depart(now wheel.Time) {
	gap := now.Sub(w.last)
	if w.Sent++; w.Sent > 1 {
		w.GapErrors += max(float64(gap-w.Gap), float64(w.Gap-gap)) / float64(w.Gap)
		if gap >= w.split {
			w.endTrain()
		}
	}
	w.last = now
	w.train++
}

// endTrain counts a train.
func (w *watch) endTrain() {
	n := w.train
	if w.train = 0; n == 0 {
		return
	}
	w.Trains++
	w.Longest = max(w.Longest, n)
	if n == 1 {
		w.Alone++
	}
	if n <= 5 {
		w.UpTo5 += n
	}
}

// Arrived implements sim.Tap.
func (departures) Arrived(wheel.Time, *host.Datagram) {}

// Sent implements sim.Tap.
func (w arrivals) Sent(now wheel.Time, d *host.Datagram, _ sim.Fate) {
	if d.Body.Len == 0 {
		return
	}
	waiting, _ := w.bed.World.Net.Link(w.bed.Links.Bottleneck).Queued(now)
	w.QueueSum += float64(waiting)
	w.QueueMost = max(w.QueueMost, int(waiting))
}

// Arrived implements sim.Tap.
func (arrivals) Arrived(wheel.Time, *host.Datagram) {}
