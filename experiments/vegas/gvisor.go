package vegas

import (
	"fmt"
	"time"

	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/virtual"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// gvisor is the name of gVisor's own TCP in the place of a text of timers. It has a floor on the
// timeout, and a clock of nanoseconds.
const gvisor = "gVisor"

// gvisorFlow is a flow from gVisor's TCP to a server with the flow's timers, over the links that
// two engines have.
type gvisorFlow struct {
	testbed.Wire
	*flow
	stacks          *testbed.Stacks
	bytes           uint64 // of an exchange
	n               int    // exchanges begun
	running         bool
	conn            *sockets.Conn
	iss             tcp.Seq // of the client
	timeouts        uint64  // of the client, until the last packet
	retransmissions []testbed.Retransmission
}

// gvisor runs the flow with gVisor's TCP in the place of the client's engine. SACK is off, and with
// it gVisor's RACK and probes.
func (f flow) gvisor() (out Flow, err error) {
	out.Waits = []float64{}
	losses := watch{}
	up, down := f.links(&losses)
	g := &gvisorFlow{flow: &f, bytes: uint64(kinds[f.kind].flight * mss)}
	// The keys are those of a Pair's links, for the same delays.
	if g.Wire, err = testbed.NewWire(up, down, [2]uint64{sim.LinkKey(f.key, "client>server"), sim.LinkKey(f.key,
		"server>client")}); err != nil {
		return out, err
	}
	g.stacks, err = testbed.NewStacks(virtual.Config{Seed: f.key, Wire: g, TCP: [2]virtual.TCP{
		testbed.DialEnd:   {GVisor: true, NoSACK: true, Control: "newreno"},
		testbed.ListenEnd: {Config: netstack.Config{Conn: f.timers.Config()}, NoSACK: true},
	}})
	if err != nil {
		return out, err
	}
	g.stacks.Serve(func(c *sockets.Conn) error { return testbed.Discard(c, func(int) {}) })
	g.stacks.Dial(0, func(c *sockets.Conn) error {
		g.conn = c
		g.next(g.stacks.Net.Now())
		return nil
	})
	total := f.losses() * (f.between() + 1)
	done := func() bool { return g.n == total && !g.running }
	err = g.stacks.Run(wheel.Time(100*time.Hour), done)
	if err == nil && !done() {
		err = fmt.Errorf("%d exchanges, and then none", g.n)
	}
	if left := g.stacks.Close(); err == nil {
		err = left
	}
	if err != nil {
		return out, err
	}
	return out, losses.waits(g.retransmissions, f.losses(), &out)
}

// next begins the next exchange when it is its turn.
func (g *gvisorFlow) next(now wheel.Time) {
	at := g.begins(g.n, now)
	g.stacks.Net.Clock.AfterFunc(max(1, at.Sub(now)), func() {
		g.n++
		g.running = true
		g.stacks.Go(func() error {
			_, err := g.conn.Write(make([]byte, g.bytes))
			return err
		})
	})
}

// Send implements virtual.Wire. A timeout has caused the first retransmission after the counter of
// timeouts moved.
func (g *gvisorFlow) Send(now wheel.Time, from int, p *virtual.Packet) (time.Duration, bool) {
	if from == testbed.DialEnd && p.Header.Flags.Has(tcp.SYN) {
		g.iss = p.Header.Seq
	}
	fate, attempt := g.Pass(now, from, p)
	if from == testbed.DialEnd && p.End > p.Start {
		timeouts := g.stacks.Net.Counts(testbed.DialEnd).Timeouts
		if attempt > 1 {
			g.retransmissions = append(g.retransmissions, testbed.Retransmission{At: now, Attempt: int(attempt),
				Timed: timeouts > g.timeouts, Timer: tcptimers.Rexmit})
		}
		g.timeouts = timeouts
	}
	return testbed.Transit(now, fate)
}

// Arrive implements virtual.Wire: the ACK of the last byte ends an exchange.
func (g *gvisorFlow) Arrive(now wheel.Time, from int, p *virtual.Packet) bool {
	if from == testbed.ListenEnd && g.running && uint64(p.Header.Ack.Sub(g.iss.Add(1))) == uint64(g.n)*g.bytes {
		if g.running = false; g.n < g.losses()*(g.between()+1) {
			g.next(now)
		}
	}
	return true
}
