package spike

import (
	"errors"

	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/virtual"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// gvisor is the name of gVisor's own TCP with NewReno. Without a response a subject in a gVisor
// stack has neither SACK nor timestamps, and gVisor's neither RACK nor probes; with all three
// responses it has all that it has.
const gvisor = "gVisor"

var newReno = testbed.Subject{Kind: testbed.GVisor, Control: "newreno"}

// stacks connects a subject in a gVisor stack to a server with this project's TCP.
func (p *Plan) stacks(subject testbed.Subject, response string, window int, up, down sim.LinkConfig) (*testbed.Stacks,
	error) {
	_, server := config(&timers{lab: testbed.MustTimers("per-segment control=newreno")})
	apply(&server, response)
	subject.NoSACK = subject.NoSACK || response == none
	return testbed.NewStacks(testbed.StacksPlan{Seed: 1, Client: subject,
		Change: func(c *tcp.Config) { apply(c, response) }, Server: server, NoSACK: response == none,
		ServerBuffer: window, Up: up, Down: down, Trace: true})
}

// stackSpike is spike with a subject in a gVisor stack, which does not report its window.
func stackSpike(p *Plan, subject testbed.Subject, seed int, s *Spike) error {
	const mss = 1448
	link := sim.LinkConfig{Rate: uint64(p.Rate), Overhead: 38}
	g, err := p.stacks(subject, s.Response, p.Window*mss, link, link)
	if err != nil {
		return err
	}
	begin := wheel.Time(p.Warm) + wheel.Time(testbed.Uniform(uint64(seed), 0xe23)*float64(tcptimers.SlowTick))
	var last [2]wheel.Time // when the last packet of a direction arrives: packets keep their order
	g.Sent = func(_ wheel.Time, from int, _ *virtual.Packet, fate *sim.Fate) {
		rtt := p.RTT
		if fate.At >= begin && fate.At < begin.Add(p.Lasts) {
			rtt = s.Peak
		}
		last[from] = max(last[from], fate.At.Add(rtt/2))
		fate.At = last[from]
	}
	g.Serve(testbed.Sink)
	g.Dial(0, func(c *sockets.Conn) error {
		for b := make([]byte, 64*mss); ; {
			if _, err := c.Write(b); err != nil {
				return err
			}
		}
	})
	err = g.Run(begin, nil)
	again, acked, timeouts := len(g.Retransmissions), g.Acked, g.Net.Counts(testbed.DialEnd).Timeouts
	if err == nil {
		err = g.Run(begin.Add(p.Watch), nil)
	}
	s.Retransmissions, s.Bytes = len(g.Retransmissions)-again, g.Acked-acked
	s.Timeouts = int(g.Net.Counts(testbed.DialEnd).Timeouts - timeouts)
	if err == nil && acked == 0 {
		err = errors.New("nothing has arrived before the spike")
	}
	return g.Finish(err)
}
