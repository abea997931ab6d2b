package tcp

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"tcpwheel/wheel"
)

// TestSYNCookieLifetime checks that a cookie is valid at once and for the promised 64 s, and never
// after 128 s, even when its 5-bit count wraps.
func TestSYNCookieLifetime(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 200 {
		made := wheel.Time(rng.Int64N(int64(1000 * time.Hour)))
		if rng.IntN(2) == 0 {
			made = -made
		}
		irs := Seq(rng.Uint32())
		cookie := secret.synCookie(made, server, client, irs, 1460)
		good := func(age time.Duration) bool {
			mss, ok := secret.checkSYNCookie(made.Add(age), server, client, irs, cookie)
			if ok && mss != 1460 {
				t.Fatalf("cookie of %v: MSS %d, want 1460", made, mss)
			}
			return ok
		}
		for _, age := range []time.Duration{0, 1, time.Second, cookieMinLifetime} {
			if !good(age) {
				t.Fatalf("cookie of %v is refused after %v", made, age)
			}
		}
		for _, age := range []time.Duration{CookieMaxLifetime, 3 * time.Minute, -CookieMaxLifetime, 32 * cookieTick,
			33 * cookieTick, 64 * cookieTick, -32 * cookieTick} {
			if good(age) {
				t.Fatalf("cookie of %v is taken after %v", made, age)
			}
		}
	}
	// To the nanosecond: made in tick 0, valid in ticks 0 and 1.
	cookie := secret.synCookie(0, server, client, 1, 1460)
	for now, want := range map[wheel.Time]bool{-1: false, 0: true, 2*wheel.Time(cookieTick) - 1: true, 2 * wheel.Time(cookieTick): false} {
		if _, ok := secret.checkSYNCookie(now, server, client, 1, cookie); ok != want {
			t.Errorf("cookie of 0 at %d: %v, want %v", now, ok, want)
		}
	}
}

func TestSYNCookieMSS(t *testing.T) {
	for _, tt := range []struct{ peer, want uint16 }{
		{0, 48}, {47, 48}, {48, 48}, {64, 48}, {535, 48}, {536, 536}, {1219, 536}, {1220, 1220}, {1359, 1220}, {1400, 1360},
		{1440, 1440}, {1459, 1440}, {1460, 1460}, {8939, 1460}, {8960, 8940}, {65474, 8940}, {65495, 65475}, {65535, 65475},
	} {
		cookie := secret.synCookie(5, server, client, 9, tt.peer)
		if mss, ok := secret.checkSYNCookie(5, server, client, 9, cookie); mss != tt.want || !ok {
			t.Errorf("MSS %d came back as %d, %v, want %d", tt.peer, mss, ok, tt.want)
		}
	}
}

// TestSYNCookieIsBound checks that a cookie is valid only for its ends, secret and SYN.
func TestSYNCookieIsBound(t *testing.T) {
	cookie := secret.synCookie(0, server, client, 1000, 1460)
	for _, ends := range otherEnds() {
		if _, ok := secret.checkSYNCookie(0, ends[0], ends[1], 1000, cookie); ok {
			t.Errorf("cookie for %v is taken for %v", [2]netip.AddrPort{server, client}, ends)
		}
	}
	other := NewSecret([16]byte{1})
	if _, ok := other.checkSYNCookie(0, server, client, 1000, cookie); ok {
		t.Error("cookie is taken under another secret")
	}
	for d := Seq(1); d != 0; d <<= 1 {
		if _, ok := secret.checkSYNCookie(0, server, client, 1000^d, cookie); ok {
			t.Errorf("cookie is taken for another SYN, %d", 1000^d)
		}
		// A SYN whose number and cookie are both moved has the same base.
		if _, ok := secret.checkSYNCookie(0, server, client, 1000+d, cookie+d); ok {
			t.Errorf("cookie and SYN are taken if both are moved by %d", d)
		}
		if _, ok := secret.checkSYNCookie(0, server, client, 1000, cookie^d); ok {
			t.Errorf("cookie is taken with bit %#x turned over", uint32(d))
		}
	}
}

// TestForgedSYNCookies counts forgeries. Exactly one number in 2^28 is valid: for each of 2 counts
// of 32 and each MSS, one MAC of 2^24. The test tries every 16th or 64th MAC of one count and MSS,
// including the valid one, all counts, and random numbers.
func TestForgedSYNCookies(t *testing.T) {
	if testing.Short() {
		t.Skip("counts the same without the race detector, which takes ten times as long")
	}
	const irs = 77
	now := wheel.Time(time.Hour)
	base := secret.cookieBase(server, client, irs)
	live := uint32(ticks(now, cookieTick))&cookieAgeMask<<27 | 5<<cookieMACBits

	taken := 0
	step := uint32(scaled(64, 16))
	good := uint32(secret.synCookie(now, server, client, irs, 1460)-base) & cookieMACMask
	for mac := good % step; mac <= cookieMACMask; mac += step {
		if mss, ok := secret.checkSYNCookie(now, server, client, irs, base.Add(live|mac)); ok {
			taken++
			if mss != 1460 {
				t.Errorf("MSS %d, want 1460", mss)
			}
		}
	}
	if taken != 1 {
		t.Errorf("of the MACs of one count and MSS %d are taken, want 1", taken)
	}

	// A count that is not live is rejected whatever the MAC: 30 of 32, which leaves 2.
	counts := map[uint32]bool{}
	for age := range int64(1 << cookieAgeBits) {
		made := now.Add(-time.Duration(age) * cookieTick)
		for _, mss := range cookieMSS {
			cookie := secret.synCookie(made, server, client, irs, mss)
			if _, ok := secret.checkSYNCookie(now, server, client, irs, cookie); ok {
				counts[uint32(cookie-base)>>cookieMACBits] = true
			}
		}
	}
	if want := cookieMaxAge << cookieMSSBits; len(counts) != want {
		t.Errorf("%d pairs of count and MSS are taken, want %d", len(counts), want)
	}

	rng := rand.New(rand.NewPCG(8, 8))
	taken = 0
	tries := scaled(1<<18, 1<<20)
	for range tries {
		if _, ok := secret.checkSYNCookie(now, server, client, Seq(rng.Uint32()), Seq(rng.Uint32())); ok {
			taken++
		}
	}
	if taken != 0 { // expected: 2^20/2^28
		t.Errorf("%d of %d forged cookies are taken, want 0", taken, tries)
	}
}

// TestCookieOptions checks that the options in a timestamp survive, and that it is the latest such
// timestamp not in the future.
func TestCookieOptions(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	stamps := []uint32{0, 1, 62, 63, 64, 1<<31 - 1, 1 << 31, 1<<32 - 1}
	for range 100 {
		stamps = append(stamps, rng.Uint32())
	}
	all := []cookieOptions{}
	for ws := range uint8(MaxWScale + 2) {
		for bits := range 4 {
			o := cookieOptions{HasWScale: ws <= MaxWScale, WScale: ws, SACKPermitted: bits&1 != 0, ECN: bits&2 != 0}
			if !o.HasWScale {
				o.WScale = 0
			}
			all = append(all, o)
		}
	}
	if len(all) != 1<<6 {
		t.Fatalf("%d combinations, want 64", len(all))
	}
	for _, ts := range stamps {
		said := map[uint32]bool{}
		for _, o := range all {
			got := o.TSVal(ts)
			if back := cookieOptionsFrom(got); back != o {
				t.Fatalf("%+v came back from %d as %+v", o, got, back)
			}
			// RFC 7323 §5.4: timestamps do not go back; the connection continues from ts.
			if d := ts - got; d > 63 {
				t.Fatalf("%+v.TSVal(%d) = %d, want at most 63 before", o, ts, got)
			}
			said[got] = true
		}
		if len(said) != 1<<6 {
			t.Fatalf("64 combinations say %d timestamps", len(said))
		}
	}
	if got := cookieOptionsFrom(cookieOptions{HasWScale: true, WScale: 200}.TSVal(1000)).WScale; got != MaxWScale {
		t.Errorf("a shift count of 200 came back as %d, want %d", got, MaxWScale)
	}
}

func TestSecretDoesNotAllocate(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() {
		irs := secret.ISN(4, client, server)
		cookie := secret.synCookie(4, server, client, irs, 1460)
		if _, ok := secret.checkSYNCookie(4, server, client, irs, cookie); !ok {
			t.Error("the cookie is refused")
		}
	}); n != 0 {
		t.Errorf("a cookie and its check allocate %v times, want 0", n)
	}
}

func BenchmarkSYNCookie(b *testing.B) {
	cookie := secret.synCookie(0, server, client, 1, 1460)
	b.Run("op=make", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			secret.synCookie(0, server, client, 1, 1460)
		}
	})
	b.Run("op=check", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, ok := secret.checkSYNCookie(0, server, client, 1, cookie); !ok {
				b.Fatal("refused")
			}
		}
	})
}
