package sim

import (
	"math"
	"math/bits"
)

// stream is a counter-based generator: the n-th draw is a function of the stream and n. It is SplitMix64 (Steele, Lea and
// Flood, OOPSLA 2014) entered at its n-th step.
type stream uint64

const golden = 0x9e3779b97f4a7c15

// Mix64 is the output function of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a bijection that spreads each bit of z over all 64.
// It keeps no secrets. O(1).
func Mix64(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// purpose tells the streams of one link apart.
type purpose uint64

const (
	forLoss purpose = iota + 1 // and those after it are other things than loss
	forState
	forJitter
	forJitter2
	forJitter3
	forReorder
	forDuplicate
	forCorrupt
	forBit
)

// newStream returns the stream of a purpose under key.
func newStream(key uint64, p purpose) stream {
	return stream(Mix64(Mix64(key+golden) + uint64(p)*golden))
}

// LinkKey returns the key under which the link of that name draws in a plan with that seed.
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

// newChance turns p in [0, 1] into a chance. A p above 0 and below 2^-53 is never drawn.
func newChance(p float64) chance { return chance(math.Ldexp(p, 53)) }

// hit reports whether the n-th draw of s falls under c.
func (c chance) hit(s stream, n uint64) bool { return c != 0 && chance(s.at(n)>>11) < c }

// below returns a number in [0, bound) from a draw of 64 bits: its upper part, scaled. bound is at most 2^53, so that no number
// is likelier than another by more than 2^-11.
func below(draw, bound uint64) uint64 {
	hi, _ := bits.Mul64(draw, bound)
	return hi
}

// normal returns a standard normal deviate in units of 2^-16, from three draws: the sum of twelve uniform numbers of 16
// bits less its mean. Its variance is that of the normal distribution up to 2^-32, and it is cut off at 6.
func normal(a, b, c uint64) int64 {
	const mean = 12 * (1<<16 - 1) / 2
	sum := int64(0)
	for _, w := range [3]uint64{a, b, c} {
		sum += int64(w&0xffff + w>>16&0xffff + w>>32&0xffff + w>>48)
	}
	return sum - mean
}
