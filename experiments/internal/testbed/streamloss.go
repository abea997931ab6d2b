package testbed

import (
	"fmt"
	"math"

	"tcpwheel/netstack/sim"
	"tcpwheel/wheel"
)

// Key hashes a seed and parts that name a random number, such as a flow, an offset and an attempt.
// The result is the same for all policies.
func Key(seed uint64, parts ...uint64) uint64 {
	const golden = 0x9e3779b97f4a7c15 // SplitMix64's step
	h := sim.Mix64(seed + golden)
	for _, p := range parts {
		h = sim.Mix64(h ^ sim.Mix64(p+golden))
	}
	return h
}

// Uniform returns Key as a number in [0, 1).
func Uniform(seed uint64, parts ...uint64) float64 {
	return float64(float64(Key(seed, parts...)>>11) * 0x1p-53)
}

// StreamLoss is a sim.Loss that loses data packets by their place in the stream and their attempt,
// so that policies that differ lose the same bytes.
type StreamLoss struct {
	P     float64 // probability of a loss, for a data packet
	Empty float64 // and for a packet without data, by its number
	Burst uint64  // bytes of the stream that share a fate in an attempt; 0 is each packet alone
	// Rule decides instead, if not nil, about the attempt-th transmission, from 1, of bytes from start
	// to end.
	Rule func(now wheel.Time, start, end uint64, attempt uint32) bool
}

// String implements sim.Loss.
func (f *StreamLoss) String() string {
	return fmt.Sprintf("stream loss %v/%v/%d", f.P, f.Empty, f.Burst)
}

// Check implements sim.Loss.
func (f *StreamLoss) Check() error {
	for _, p := range []float64{f.P, f.Empty} {
		if !(p >= 0 && p <= 1) {
			return fmt.Errorf("testbed: probability of a loss %v, want 0 to 1", p)
		}
	}
	return nil
}

// Start implements sim.Loss. key depends on the link's name and the network's seed.
func (f *StreamLoss) Start(key uint64) sim.Dropper { return &streamDropper{f, key} }

type streamDropper struct {
	plan *StreamLoss
	key  uint64
}

// Lost implements sim.Dropper.
func (f *streamDropper) Lost(now wheel.Time, n uint64, p *sim.Packet) bool {
	if p.End == p.Start {
		return f.plan.Empty > 0 && Uniform(f.key, math.MaxUint64, n) < f.plan.Empty
	}
	if f.plan.Rule != nil {
		return f.plan.Rule(now, p.Start, p.End, p.Attempt)
	}
	place := p.Start
	if f.plan.Burst > 0 {
		place -= place % f.plan.Burst
	}
	return f.plan.P > 0 && Uniform(f.key, place, uint64(p.Attempt)) < f.plan.P
}
