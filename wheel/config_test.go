package wheel

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestConfigErrorsNameFieldValueAndBound(t *testing.T) {
	for _, scheme := range Schemes() {
		most := find(scheme).most
		if most == 0 {
			most = 1 << 24
		}
		for _, test := range []struct {
			cfg  Config
			want string
		}{
			{Config{Tick: -1}, "wheel: tick -1ns, want 1ns to 1h0m0s"},
			{Config{Tick: time.Hour + 1}, "wheel: tick 1h0m0.000000001s, want 1ns to 1h0m0s"},
			{Config{Slots: 1}, fmt.Sprintf("wheel: slots 1, want 2 to %d for %s", most, scheme)},
			{Config{Slots: -4}, fmt.Sprintf("wheel: slots -4, want 2 to %d for %s", most, scheme)},
			{Config{Slots: 2 * most}, fmt.Sprintf("wheel: slots %d, want 2 to %d for %s", 2*most, most, scheme)},
			{Config{Slots: 1000}, "wheel: slots must be a power of two: 1000"},
			{Config{Levels: -1}, "wheel: levels -1, want 1 to 8, or 0 for as many as are needed"},
			{Config{Levels: 9}, "wheel: levels 9, want 1 to 8, or 0 for as many as are needed"},
			{Config{Rounding: 3}, "wheel: rounding 3, want RoundUp, RoundNearest or RoundDown"},
		} {
			f, err := New(scheme, test.cfg)
			if err == nil || err.Error() != test.want || f != nil {
				t.Errorf("New(%s, %+v) = %v, %v, want error %s", scheme, test.cfg, f, err, test.want)
			}
		}
	}
}

func TestConfigAtItsBounds(t *testing.T) {
	for _, scheme := range Schemes() {
		for _, cfg := range []Config{
			{Tick: 1}, {Tick: time.Hour}, {Slots: 2}, {Slots: 1 << 12, Levels: 1}, {Slots: 2, Levels: 8}, {Rounding: RoundDown},
		} {
			onItsClock(t, scheme, func(t *testing.T) {
				f, err := New(scheme, cfg)
				if err != nil {
					t.Fatal(err)
				}
				tick := Time(max(cfg.Tick, 1))
				f.Schedule(f.New(0), tick)
				advanceClock(f, 3*Time(time.Hour))
				if n, done := f.Advance(3*Time(time.Hour), 0, func(Timer) {}); n != 1 || !done {
					t.Errorf("%s %+v: Advance = %d, %t, want 1 expiry", scheme, cfg, n, done)
				}
				if err := f.check(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestUnknownSchemes(t *testing.T) {
	want := fmt.Sprintf("wheel: unknown scheme %q, want one of %s", "scheme8", strings.Join(Schemes(), ", "))
	if f, err := New("scheme8", Config{}); err == nil || err.Error() != want || f != nil {
		t.Errorf("New(scheme8) = %v, %v, want error %s", f, err, want)
	}
	if got := About("scheme8"); got != "" {
		t.Errorf("About(scheme8) = %q, want nothing", got)
	}
	wantPanic(t, "BUG: wheel: unknown scheme", func() { MustNew("scheme8", Config{}) })
}

func TestSchemesAreNamedOnceAndDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, scheme := range Schemes() {
		if seen[scheme] {
			t.Errorf("two schemes are named %s", scheme)
		}
		seen[scheme] = true
		if about := About(scheme); about == "" || strings.Contains(about, "\n") {
			t.Errorf("About(%s) = %q, want one line", scheme, about)
		}
		// "Scheme returns the name by which New made the facility."
		for _, lazy := range []bool{false, true} {
			if got := MustNew(scheme, Config{Lazy: lazy}).Scheme(); got != scheme {
				t.Errorf("New(%s, lazy %t).Scheme() = %s", scheme, lazy, got)
			}
		}
	}
}

func TestRoundingPrints(t *testing.T) {
	for r, want := range map[Rounding]string{RoundUp: "up", RoundNearest: "nearest", RoundDown: "down", 7: "Rounding(7)"} {
		if got := r.String(); got != want {
			t.Errorf("Rounding(%d).String() = %q, want %q", uint8(r), got, want)
		}
	}
}
