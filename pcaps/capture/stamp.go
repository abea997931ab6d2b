package capture

import (
	"math"
	"math/bits"

	"tcpwheel/wheel"
)

// resolution is the unit of pcapng's stamps: 10^-exponent seconds or, with the highest bit set,
// 2^-exponent, counted from offset seconds after 1970. Options if_tsresol and if_tsoffset set it.
type resolution struct {
	code   uint8
	offset int64
}

// microseconds is the default without options.
const microseconds = 6

// nanoseconds returns the time of a stamp, rounded down and limited to the range of wheel.Time
// (1678 to 2262).
func (r resolution) nanoseconds(stamp uint64) wheel.Time {
	const second = 1_000_000_000
	var ns, over uint64
	switch exponent := r.code & 0x7f; {
	case r.code&0x80 != 0 && exponent > 63:
		hi, _ := bits.Mul64(stamp, second)
		ns = hi >> min(exponent-64, 63)
	case r.code&0x80 != 0:
		hi, lo := bits.Mul64(stamp, second)
		over, ns = hi>>exponent, lo>>exponent|hi<<(64-exponent)
	case exponent <= 9:
		over, ns = bits.Mul64(stamp, power10(9-exponent))
	default:
		ns = stamp
		if exponent -= 9; exponent > 19 {
			ns = 0
		} else {
			ns /= power10(exponent)
		}
	}
	if over != 0 || ns > math.MaxInt64 {
		ns = math.MaxInt64
	}
	return addSeconds(wheel.Time(ns), r.offset)
}

func power10(n uint8) uint64 {
	p := uint64(1)
	for ; n > 0; n-- {
		p *= 10
	}
	return p
}

func addSeconds(t wheel.Time, seconds int64) wheel.Time {
	const most = math.MaxInt64 / 1_000_000_000
	shift := wheel.Time(max(-most, min(most, seconds)) * 1_000_000_000)
	switch sum := t + shift; {
	case shift > 0 && sum < t:
		return math.MaxInt64
	case shift < 0 && sum > t:
		return math.MinInt64
	default:
		return sum
	}
}
