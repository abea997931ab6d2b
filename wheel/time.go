package wheel

import (
	"math"
	"math/bits"
	"time"
)

// Time is an instant: nanoseconds since an epoch that the caller picks. It is 8 bytes and
// comparable, so that every segment can afford one. Only the real-time driver reads a clock.
type Time int64

// Add returns t+d, clamped to the range of Time.
func (t Time) Add(d time.Duration) Time {
	sum := t + Time(d)
	switch {
	case d > 0 && sum < t:
		return math.MaxInt64
	case d < 0 && sum > t:
		return math.MinInt64
	}
	return sum
}

// Sub returns t-u, clamped to the range of time.Duration.
func (t Time) Sub(u Time) time.Duration {
	d := t - u
	switch {
	case u < 0 && d < t:
		return math.MaxInt64
	case u > 0 && d > t:
		return math.MinInt64
	}
	return time.Duration(d)
}

// Before reports whether t is earlier than u.
func (t Time) Before(u Time) bool { return t < u }

// After reports whether t is later than u.
func (t Time) After(u Time) bool { return t > u }

// String formats t as the duration since the epoch, as time.Duration does.
func (t Time) String() string { return time.Duration(t).String() }

// ticker converts instants to tick numbers and back. Tick k is at origin + k·size, so origin is
// the phase of the tick. Division by size is a multiplication by its reciprocal (Granlund and
// Montgomery, PLDI 1994), exact for all numerators below 2^63: a 64-bit division would be the
// most expensive instruction of START.
type ticker struct {
	origin Time
	size   time.Duration // ≥ 1 ns
	magic  uint64        // ⌈2^(63+shift) / size⌉
	shift  uint8         // ⌈log2 size⌉
}

func newTicker(origin Time, size time.Duration) ticker {
	shift := uint8(bits.Len64(uint64(size - 1)))
	// 2^(63+shift)/size, rounded up. The high word is below size, since 2^(shift-1) < size.
	hi, lo := uint64(1)<<shift>>1, uint64(0)
	if shift == 0 {
		lo = 1 << 63
	}
	q, r := bits.Div64(hi, lo, uint64(size))
	if r != 0 {
		q++
	}
	return ticker{origin: origin, size: size, magic: q, shift: shift}
}

// div returns n/size for n < 2^63.
func (k *ticker) div(n uint64) uint64 {
	hi, _ := bits.Mul64(n<<1, k.magic)
	return hi >> (k.shift & 63)
}

// since returns at-origin, 0 if at is before the origin, and at most 2^63-1 (292 years).
func (k *ticker) since(at Time) uint64 {
	if at <= k.origin {
		return 0
	}
	n := uint64(at) - uint64(k.origin)
	if n > math.MaxInt64 {
		return math.MaxInt64
	}
	return n
}

// ceil returns the first tick not before at: deadlines round up, so that no timer is early (RFC
// 6298 §5).
func (k *ticker) ceil(at Time) uint64 {
	return k.up(k.since(at))
}

// up returns the first tick that is not before n ns after the origin.
func (k *ticker) up(n uint64) uint64 {
	if n == 0 {
		return 0
	}
	return k.div(n-1) + 1
}

// floor returns the last tick not after at.
func (k *ticker) floor(at Time) uint64 { return k.div(k.since(at)) }

// time returns the instant of a tick, clamped to the range of Time.
func (k *ticker) time(tick uint64) Time {
	hi, lo := bits.Mul64(tick, uint64(k.size))
	// The difference is exact although it may wrap around.
	if hi != 0 || lo > math.MaxInt64-uint64(k.origin) {
		return math.MaxInt64
	}
	return k.origin + Time(lo)
}
