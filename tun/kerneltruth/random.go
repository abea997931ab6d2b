package kerneltruth

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"tcpwheel/internal/quantity"
	"tcpwheel/netstack/sim"
)

// Random returns a scenario drawn from a seed. It lasts some seconds, over IPv4 or IPv6, with:
//
//   - round trips of 1 to 200 ms and rates of 2 to 200 Mbit/s;
//   - up to 10 % loss, single or in bursts, up to 5 % reordering, and jitter;
//   - a router or none, with the losses on either side of it;
//   - up to six connections, with transfers of 1 byte to 1 MB in one direction or in turns;
//   - sometimes no SACK, no timestamps, or BBR.
func Random(seed uint64) Scenario {
	r := rng{rand.New(rand.NewPCG(seed, 0x6b65726e656c73))}
	rtt := time.Duration(r.logUniform(1, 200) * float64(time.Millisecond))
	s := Scenario{Name: fmt.Sprintf("random-%d", seed), Seed: seed, IPv6: r.chance(0.5), Limit: quantity.DurationText(8 * time.Second), Connections: 1 + r.IntN(6)}
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

// rng draws the parts of a scenario.
type rng struct{ *rand.Rand }

func (r rng) logUniform(from, to float64) float64 {
	return from * math.Exp(r.Float64()*math.Log(to/from))
}

func (r rng) chance(p float64) bool { return r.Float64() < p }

// path draws the links. One has the lower rate, and one, perhaps the same, loses packets.
func (r rng) path(s *Scenario, rtt time.Duration) {
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

// impair makes a link lose at most that share of its packets, and perhaps reorder them.
func (r rng) impair(c *sim.LinkConfig, most float64, rtt time.Duration) {
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

// turns draws the turns: a transfer from a, requests and responses, or transfers from both sides in
// turn.
func (r rng) turns(s *Scenario) {
	size := func() int { return int(r.logUniform(1, 1<<20)) }
	pause := func() quantity.DurationText {
		return quantity.DurationText(time.Duration(r.logUniform(1, 400) * float64(time.Millisecond)))
	}
	switch r.IntN(3) {
	case 0:
		s.Turns = []Turn{{From: "a", Bytes: max(size(), 20_000)}, {From: "b", Bytes: 1}}
	case 1:
		s.Turns = []Turn{{From: "b", Bytes: 1 + r.IntN(500), Pause: pause()}, {From: "a", Bytes: min(size(), 200_000)}}
		s.Rounds = 30
	case 2:
		s.Turns = []Turn{
			{From: "a", Bytes: min(size(), 20_000), Pause: pause(), Times: 1 + r.IntN(10)},
			{From: "b", Bytes: min(size(), 20_000), Pause: pause()},
		}
		s.Rounds = 20
	}
}
