package vegas

import (
	"fmt"
	"time"

	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/virtual"
	"tcpwheel/wheel"
)

// gvisor is the name of gVisor's own TCP in the place of a text of timers. It has a floor on the
// timeout, and a clock of nanoseconds.
const gvisor = "gVisor"

// bare is that TCP: SACK is off, and with it gVisor's RACK and probes.
var bare = testbed.Subject{Kind: testbed.GVisor, NoSACK: true, Control: "newreno"}

// onStacks runs the flow with a subject in a gVisor stack in the place of the client's engine, over
// the links that two engines have.
func (f flow) onStacks() (out Waits, err error) {
	subject := f.subject
	if subject.Kind == "" {
		subject = bare
	}
	out.Waits = []float64{}
	losses := watch{}
	up, down := f.links(&losses)
	// The keys are those of a Pair's links, for the same delays.
	w, err := testbed.NewWire(up, down, [2]uint64{sim.LinkKey(f.key, "client>server"), sim.LinkKey(f.key,
		"server>client")})
	if err != nil {
		return out, err
	}
	s, err := testbed.NewStacks(virtual.Config{Seed: f.key, Wire: w, TCP: [2]virtual.TCP{
		testbed.DialEnd:   subject.Stack(),
		testbed.ListenEnd: {Config: netstack.Config{Conn: f.timers.Config()}, NoSACK: true},
	}})
	if err != nil {
		return out, err
	}
	w.Follow(s)
	var conn *sockets.Conn
	bytes, begun, running := uint64(kinds[f.kind].flight*mss), 0, false
	next := func(now wheel.Time) {
		s.Net.Clock.AfterFunc(max(1, f.begins(begun, now).Sub(now)), func() {
			begun++
			running = true
			s.Go(func() error {
				_, err := conn.Write(make([]byte, bytes))
				return err
			})
		})
	}
	total := f.losses() * (f.between() + 1)
	w.Arrived = func(now wheel.Time, from int, _ *virtual.Packet) {
		// The ACK of the last byte ends an exchange.
		if from == testbed.ListenEnd && running && w.Acked == uint64(begun)*bytes {
			if running = false; begun < total {
				next(now)
			}
		}
	}
	s.Serve(func(c *sockets.Conn) error { return testbed.Discard(c, func(int) {}) })
	s.Dial(0, func(c *sockets.Conn) error {
		conn = c
		next(s.Net.Now())
		return nil
	})
	done := func() bool { return begun == total && !running }
	err = s.Run(wheel.Time(100*time.Hour), done)
	if err == nil && !done() {
		err = fmt.Errorf("%d exchanges, and then none", begun)
	}
	if err = s.Finish(err); err != nil {
		return out, err
	}
	return out, losses.waits(w.Retransmissions, f.losses(), &out)
}
