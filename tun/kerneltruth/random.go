package kerneltruth

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"tcpwheel/netstack/sim"
)

// Random returns a scenario that is drawn from a seed: round trips of 1 to 200 ms, 2 to 200 Mbit/s, losses up to a tenth, singly and in
// bursts, on either side of a router or without one, reordering up to 5 %, jitter, 1 octet to 1 MB at a time, in one direction or in
// turns, up to six connections, over IPv4 and IPv6, some without SACK or timestamps. It lasts for some seconds.
func Random(seed uint64) Scenario {
	r := luck{rand.New(rand.NewPCG(seed, 0x6b65726e656c73))}
	rtt := time.Duration(r.logUniform(1, 200) * float64(time.Millisecond))
	s := Scenario{Name: fmt.Sprintf("random-%d", seed), Seed: seed, IPv6: r.chance(0.5), Limit: sim.DurationText(8 * time.Second), Connections: 1 + r.IntN(6)}
	r.path(&s, rtt)
	r.turns(&s)
	s.Nagle = r.chance(0.2)
	s.Sysctls = map[string]string{}
	if r.chance(0.15) {
		s.Sysctls["tcp_sack"] = "0"
	}
	if r.chance(0.15) {
		s.Sysctls["tcp_timestamps"] = "0"
	}
	if r.chance(0.2) {
		s.Control = "bbr"
	}
	return s
}

// luck draws what a scenario is made of.
type luck struct{ *rand.Rand }

func (r luck) logUniform(from, to float64) float64 {
	return from * math.Exp(r.Float64()*math.Log(to/from))
}

func (r luck) chance(p float64) bool { return r.Float64() < p }

// path draws the links, of which one is narrow and one lossy, perhaps the same.
func (r luck) path(s *Scenario, rtt time.Duration) {
	plain := func() sim.LinkConfig { return sim.LinkConfig{Delay: rtt / 4} }
	s.Near = Path{plain(), plain()}
	if r.chance(0.5) {
		s.Far = &Path{plain(), plain()}
	} else {
		s.Near.AToB.Delay, s.Near.BToA.Delay = rtt/2, rtt/2
	}
	rate := r.logUniform(2e6, 2e8)
	queue := uint32(max(10, rate/12_000*rtt.Seconds()*r.logUniform(0.5, 4)))
	narrow := &s.Near
	if s.Far != nil && r.chance(0.5) {
		narrow = s.Far
	}
	for _, c := range []*sim.LinkConfig{&narrow.AToB, &narrow.BToA} {
		c.Rate, c.Queue = uint64(rate), sim.Limit{Packets: queue}
	}
	lossy := &s.Near
	if s.Far != nil && r.chance(0.5) {
		lossy = s.Far
	}
	r.impair(&lossy.AToB, 0.1, rtt)
	if r.chance(0.6) {
		r.impair(&lossy.BToA, 0.05, rtt)
	}
}

// impair has a link lose packets, up to most of them, and perhaps put them out of order.
func (r luck) impair(c *sim.LinkConfig, most float64, rtt time.Duration) {
	p := r.Float64() * most
	switch r.IntN(3) {
	case 0:
		c.Loss = sim.Losses{sim.GilbertElliott{P: p / 4, R: 0.3, Bad: 1}}
	case 1:
		c.Loss = sim.Losses{sim.Bernoulli{P: p / 4}}
	default:
		c.Loss = sim.Losses{sim.Bernoulli{P: p}}
	}
	if r.chance(0.4) {
		c.Reorder = sim.Reorder{Probability: r.Float64() * 0.05, Extra: time.Duration(float64(rtt) * (0.05 + r.Float64()*0.5))}
	}
	if r.chance(0.4) {
		c.Jitter = sim.Jitter{Amount: rtt / time.Duration(10+r.IntN(40))}
	}
}

// turns draws who sends what: a transfer from a, questions and answers, or some from either side in turn.
func (r luck) turns(s *Scenario) {
	octets := func() int { return int(r.logUniform(1, 1<<20)) }
	pause := func() sim.DurationText {
		return sim.DurationText(time.Duration(r.logUniform(1, 400) * float64(time.Millisecond)))
	}
	switch r.IntN(3) {
	case 0:
		s.Turns = []Turn{{From: "a", Octets: max(octets(), 20_000)}, {From: "b", Octets: 1}}
	case 1:
		s.Turns = []Turn{{From: "b", Octets: 1 + r.IntN(500), Pause: pause()}, {From: "a", Octets: min(octets(), 200_000)}}
		s.Rounds = 30
	case 2:
		s.Turns = []Turn{
			{From: "a", Octets: min(octets(), 20_000), Pause: pause(), Times: 1 + r.IntN(10)},
			{From: "b", Octets: min(octets(), 20_000), Pause: pause()},
		}
		s.Rounds = 20
	}
}
