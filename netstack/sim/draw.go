package sim

import (
	"math"
	"math/bits"
)

// stream is a counter-based generator: draw n is a function of the stream and n. It is SplitMix64
// (Steele, Lea and Flood, OOPSLA 2014), entered at its n-th step.
type stream uint64

const golden = 0x9e3779b97f4a7c15

// Mix64 is the output function of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a bijection that
// spreads each bit of z over all 64. It is not cryptographic.
func Mix64(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// purpose distinguishes the streams of one link.
type purpose uint64

const (
	forLoss purpose = iota + 1
	forState
	forJitter
	forJitter2
	forJitter3
	forReorder
	forDuplicate
	forCorrupt
	forBit
	forHold
	forHold2
)

// newStream returns the stream of a purpose under key.
func newStream(key uint64, p purpose) stream {
	return stream(Mix64(Mix64(key+golden) + uint64(p)*golden))
}

// LinkKey returns the key of the draws of the named link in a plan with that seed.
func LinkKey(seed uint64, name string) uint64 {
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return Mix64(Mix64(seed+golden) ^ h)
}

// at returns the n-th draw, of 64 bits.
func (s stream) at(n uint64) uint64 { return Mix64(uint64(s) + n*golden) }

// chance is a probability as a bound on the upper 53 bits of a draw.
type chance uint64

// newChance converts p in [0, 1]. A p between 0 and 2^-53 never hits.
func newChance(p float64) chance { return chance(math.Ldexp(p, 53)) }

// hit reports whether draw n of s is below c.
func (c chance) hit(s stream, n uint64) bool { return c != 0 && chance(s.at(n)>>11) < c }

// below maps a draw to [0, bound). With bound at most 2^53, no result is more than 2^-11 likelier
// than another.
func below(draw, bound uint64) uint64 {
	hi, _ := bits.Mul64(draw, bound)
	return hi
}

// normal returns a standard normal deviate in units of 2^-16 from three draws: the sum of twelve
// uniform 16-bit numbers less its mean. Its variance is exact to 2^-32. It never exceeds 6.
func normal(a, b, c uint64) int64 {
	const mean = 12 * (1<<16 - 1) / 2
	sum := int64(0)
	for _, w := range [3]uint64{a, b, c} {
		sum += int64(w&0xffff + w>>16&0xffff + w>>32&0xffff + w>>48)
	}
	return sum - mean
}
