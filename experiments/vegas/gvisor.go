package vegas

import (
	"fmt"
	"time"

	"tcpwheel/experiments/internal/testbed"
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
	s, err := testbed.NewStacks(testbed.StacksPlan{Seed: f.key, Client: subject, Server: f.timers.Config(), NoSACK: true,
		Up: up, UpKey: sim.LinkKey(f.key, "client>server"), Down: down, DownKey: sim.LinkKey(f.key, "server>client"),
		Trace: true})
	if err != nil {
		return out, err
	}
	var conn *sockets.Conn
	bytes, begun, running := uint64(kinds[f.kind].flight*mss), 0, false
	next := func(now wheel.Time) {
		s.Net.Clock.AfterFunc(max(1, f.begins(begun, now).Sub(now)), func() {
			begun++
			running = true
			s.Write(conn, int(bytes))
		})
	}
	total := f.losses() * (f.between() + 1)
	s.Arrived = func(now wheel.Time, from int, _ *virtual.Packet) {
		// The ACK of the last byte ends an exchange.
		if from == testbed.ListenEnd && running && s.Acked == uint64(begun)*bytes {
			if running = false; begun < total {
				next(now)
			}
		}
	}
	s.Serve(testbed.Sink)
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
	return out, losses.waits(s.Retransmissions, f.losses(), &out)
}
