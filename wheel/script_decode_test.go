package wheel

import (
	"math"
	"time"
)

// decodeConfig reads the parameters of a facility from the first bytes.
func decodeConfig(bytes []byte) (cfg Config, rest []byte) {
	s := script{bytes: bytes}
	cfg.Slots = []int{2, 8, 256}[s.byte()%3]
	cfg.Levels = int(s.byte() % 4)
	cfg.Tick = []time.Duration{1, 7, time.Millisecond}[s.byte()%3]
	cfg.Origin = []Time{0, -12345, 1 << 62, -1 << 62, math.MinInt64, 1_000_003}[s.byte()%6]
	cfg.Count = s.byte()%2 == 0
	cfg.Rounding = Rounding(s.byte() % 4 % 3)
	return cfg, s.bytes
}

func (s *script) byte() byte {
	if len(s.bytes) == 0 {
		return 0
	}
	b := s.bytes[0]
	s.bytes = s.bytes[1:]
	return b
}

// ticks returns the duration of n ticks.
func (s *script) ticks(n uint64) time.Duration {
	if n > math.MaxInt64/uint64(s.cfg.Tick) {
		return math.MaxInt64
	}
	return time.Duration(n) * s.cfg.Tick
}

// span decodes a duration that is not negative.
func (s *script) span() time.Duration {
	switch b := s.byte(); b % 4 {
	case 0:
		return time.Duration(b)
	case 1:
		return s.ticks(uint64(b))
	case 2:
		return s.ticks(1 << (b % usualBits))
	default:
		return s.ticks(uint64(b)) + time.Duration(s.byte())
	}
}

// instant decodes an instant. Most are soon, and on, next to or just between ticks where errors
// are likely.
func (s *script) instant() Time {
	kind := s.byte()
	now, n := s.twin.now(), uint64(s.byte())
	offset := time.Duration(kind>>6) - 1 // -1 to 2 ns
	switch kind % 16 {
	case 0: // this very tick
		return now
	case 1, 2, 3:
		return now.Add(s.ticks(n%8 + 1))
	case 4:
		return now.Add(s.ticks(n)).Add(offset)
	case 5:
		return now.Add(time.Duration(n))
	case 6: // the past
		return now.Add(-s.ticks(n)).Add(offset)
	case 7: // whole rotations, plus or minus one tick
		return now.Add(s.ticks(uint64(s.cfg.Slots) * (n % 5))).Add(s.cfg.Tick * offset)
	case 8: // where the wheels of a hierarchy turn together
		mask := uint64(1)<<(n%usualBits) - 1
		return s.twin.time((s.twin.cur | mask) + 1).Add(s.cfg.Tick * offset)
	case 9, 10:
		return now.Add(s.ticks(n << (kind >> 4)))
	case 11:
		return now.Add(s.ticks(1 << (n % usualBits))).Add(s.cfg.Tick * offset)
	case 12, 13: // with another timer
		if len(s.twin.running) > 0 {
			at, _ := s.twin.deadline(s.twin.running[int(n)%len(s.twin.running)].timer)
			return at.Add(offset &^ 2)
		}
		return now
	case 14:
		return now.Add(s.ticks(n % 3)).Add(offset)
	}
	switch far := n % 8; {
	case far < 3:
		return now.Add(s.ticks(1 << (n / 8 * 2))).Add(offset)
	case far < 5:
		return math.MaxInt64 - Time(kind>>6)
	case far == 5:
		return math.MinInt64 + Time(kind>>6)
	default:
		return s.cfg.Origin.Add(offset)
	}
}
