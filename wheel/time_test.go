package wheel

import (
	"math"
	"math/big"
	"math/rand"
	"testing"
	"time"
)

// clamped returns x clamped to the range of int64.
func clamped(x *big.Int) int64 {
	switch {
	case x.IsInt64():
		return x.Int64()
	case x.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

// anyInstant draws from the whole range of int64, and often from where something may overflow or
// round.
func anyInstant(rng *rand.Rand) Time {
	at := Time(rng.Uint64() >> rng.Intn(64))
	switch rng.Intn(4) {
	case 0:
		return -at
	case 1:
		return math.MaxInt64 - at>>1
	case 2:
		return math.MinInt64 + at>>1
	}
	return at
}

func TestTimeAddAndSubClamp(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	ends := []Time{0, 1, -1, math.MaxInt64, math.MaxInt64 - 1, math.MinInt64, math.MinInt64 + 1}
	try := func(a, b Time) {
		x, y := big.NewInt(int64(a)), big.NewInt(int64(b))
		if got, want := a.Add(time.Duration(b)), Time(clamped(new(big.Int).Add(x, y))); got != want {
			t.Fatalf("Time(%d).Add(%d) = %d, want %d", int64(a), int64(b), int64(got), int64(want))
		}
		if got, want := a.Sub(b), time.Duration(clamped(new(big.Int).Sub(x, y))); got != want {
			t.Fatalf("Time(%d).Sub(%d) = %d, want %d", int64(a), int64(b), int64(got), int64(want))
		}
	}
	for _, a := range ends {
		for _, b := range ends {
			try(a, b)
		}
	}
	for range 100_000 {
		try(anyInstant(rng), anyInstant(rng))
	}
}

func TestTimeComparesAndPrints(t *testing.T) {
	early, late := Time(-1), Time(1_500_000)
	if !early.Before(late) || late.Before(early) || early.Before(early) {
		t.Error("Before does not order -1 ns and 1.5 ms")
	}
	if !late.After(early) || early.After(late) || late.After(late) {
		t.Error("After does not order -1 ns and 1.5 ms")
	}
	if got, want := late.String(), "1.5ms"; got != want {
		t.Errorf("Time(%d).String() = %q, want %q", int64(late), got, want)
	}
}

// bigTicker is ticker in unbounded integers, with the one bound of the contract: 2^63-1 ns after
// the origin.
type bigTicker struct{ origin, size *big.Int }

func newBigTicker(origin Time, size time.Duration) bigTicker {
	return bigTicker{big.NewInt(int64(origin)), big.NewInt(int64(size))}
}

func (k bigTicker) since(at Time) *big.Int {
	n := new(big.Int).Sub(big.NewInt(int64(at)), k.origin)
	if n.Sign() < 0 {
		return new(big.Int)
	}
	if !n.IsInt64() {
		return big.NewInt(math.MaxInt64)
	}
	return n
}

func (k bigTicker) floor(at Time) uint64 {
	return new(big.Int).Div(k.since(at), k.size).Uint64()
}

func (k bigTicker) ceil(at Time) uint64 {
	q, r := new(big.Int).DivMod(k.since(at), k.size, new(big.Int))
	if r.Sign() != 0 {
		q.Add(q, big.NewInt(1))
	}
	return q.Uint64()
}

func (k bigTicker) time(tick uint64) Time {
	at := new(big.Int).SetUint64(tick)
	return Time(clamped(at.Mul(at, k.size).Add(at, k.origin)))
}

// tickSizes are the ends of the range of Config.Tick, powers of two and their neighbours, and
// common values.
func tickSizes(rng *rand.Rand) []time.Duration {
	sizes := []time.Duration{1, 2, 3, 7, 10, time.Microsecond, time.Millisecond, 4 * time.Millisecond,
		200 * time.Millisecond, 500 * time.Millisecond, time.Second, time.Minute, time.Hour - 1, time.Hour}
	for shift := 2; shift < 42; shift++ {
		for d := time.Duration(-1); d <= 1; d++ {
			if s := time.Duration(1)<<shift + d; s <= time.Hour {
				sizes = append(sizes, s)
			}
		}
		if s := time.Duration(rng.Int63n(int64(1)<<shift) + 1); s <= time.Hour {
			sizes = append(sizes, s)
		}
	}
	return sizes
}

func TestTickerAgreesWithUnboundedIntegers(t *testing.T) {
	rng := rand.New(rand.NewSource(2))
	for _, size := range tickSizes(rng) {
		for range 20 {
			origin := anyInstant(rng)
			k, twin := newTicker(origin, size), newBigTicker(origin, size)
			for range 20 {
				at := anyInstant(rng)
				switch rng.Intn(3) {
				case 0:
					at = origin.Add(time.Duration(rng.Int63() >> rng.Intn(63)))
				case 1: // close to a tick
					at = twin.time(twin.floor(at)).Add(time.Duration(rng.Intn(3) - 1))
				}
				if got, want := k.floor(at), twin.floor(at); got != want {
					t.Fatalf("tick %d from %d: floor(%d) = %d, want %d", size, int64(origin), int64(at), got, want)
				}
				if got, want := k.ceil(at), twin.ceil(at); got != want {
					t.Fatalf("tick %d from %d: ceil(%d) = %d, want %d", size, int64(origin), int64(at), got, want)
				}
				for _, tick := range []uint64{k.floor(at), k.ceil(at), 1<<63 - 1, 1 << 63} {
					if got, want := k.time(tick), twin.time(tick); got != want {
						t.Fatalf("tick %d from %d: time(%d) = %d, want %d", size, int64(origin), tick, got, want)
					}
				}
			}
		}
	}
}

func TestTickerDividesExactlyAtEveryStep(t *testing.T) {
	rng := rand.New(rand.NewSource(3))
	for _, size := range tickSizes(rng) {
		k := newTicker(0, size)
		last := uint64(math.MaxInt64) / uint64(size)
		for _, q := range []uint64{0, 1, 2, last / 2, last - 1, last, uint64(rng.Int63()) % (last + 1)} {
			for d := uint64(0); d < 3; d++ {
				n := q*uint64(size) + d - 1
				if n > math.MaxInt64 {
					continue
				}
				if got, want := k.div(n), n/uint64(size); got != want {
					t.Fatalf("tick %d: div(%d) = %d, want %d", size, n, got, want)
				}
			}
		}
		if got, want := k.div(math.MaxInt64), last; got != want {
			t.Fatalf("tick %d: div(2^63-1) = %d, want %d", size, got, want)
		}
	}
}

// TestDeadlinesRoundUpAndNowRoundsDown shows why no timer is early: RFC 6298 §5, "a segment is
// never retransmitted too early".
func TestDeadlinesRoundUpAndNowRoundsDown(t *testing.T) {
	rng := rand.New(rand.NewSource(4))
	for _, size := range tickSizes(rng) {
		origin := Time(rng.Int63n(1 << 40))
		k := newTicker(origin, size)
		for range 100 {
			at := origin + Time(rng.Int63n(1<<61)>>rng.Intn(60))
			down, up := k.time(k.floor(at)), k.time(k.ceil(at))
			if down > at || at.Sub(down) >= size {
				t.Fatalf("tick %d: %d rounds down to %d, want less than a tick before it", size, int64(at), int64(down))
			}
			if up < at || up.Sub(at) >= size {
				t.Fatalf("tick %d: %d rounds up to %d, want less than a tick after it", size, int64(at), int64(up))
			}
			tick := k.ceil(at)
			if c, f := k.ceil(up), k.floor(up); c != tick || f != tick {
				t.Fatalf("tick %d: tick %d and back: ceil %d, floor %d", size, tick, c, f)
			}
		}
	}
}

func TestTickerClampsAtTheEnds(t *testing.T) {
	for _, test := range []struct {
		origin      Time
		size        time.Duration
		at          Time
		floor, ceil uint64
	}{
		{origin: 100, size: 10, at: 99, floor: 0, ceil: 0},
		{origin: 100, size: 10, at: math.MinInt64, floor: 0, ceil: 0},
		{origin: 0, size: 1, at: math.MaxInt64, floor: 1<<63 - 1, ceil: 1<<63 - 1},
		{origin: 0, size: 2, at: math.MaxInt64, floor: 1<<62 - 1, ceil: 1 << 62},
		{origin: math.MinInt64, size: 1, at: -1, floor: 1<<63 - 1, ceil: 1<<63 - 1},
		{origin: math.MinInt64, size: 1, at: 0, floor: 1<<63 - 1, ceil: 1<<63 - 1},
		{origin: math.MinInt64, size: 1, at: math.MaxInt64, floor: 1<<63 - 1, ceil: 1<<63 - 1},
		{origin: math.MaxInt64, size: time.Hour, at: math.MaxInt64, floor: 0, ceil: 0},
	} {
		k := newTicker(test.origin, test.size)
		if got := k.floor(test.at); got != test.floor {
			t.Errorf("tick %v from %d: floor(%d) = %d, want %d", test.size, test.origin, test.at, got, test.floor)
		}
		if got := k.ceil(test.at); got != test.ceil {
			t.Errorf("tick %v from %d: ceil(%d) = %d, want %d", test.size, test.origin, test.at, got, test.ceil)
		}
	}
	k := newTicker(0, time.Hour)
	if got := k.time(1<<64 - 1); got != math.MaxInt64 {
		t.Errorf("time(2^64-1) of hours = %d, want the last instant", got)
	}
}
