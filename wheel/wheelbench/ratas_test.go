package wheelbench

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tcpwheel/wheel"
)

func TestRatasDoesTheSameWorkOnEveryScheme(t *testing.T) {
	// Few pairs, because lists are slow. A pair exchanges the same messages on every facility,
	// also with ranges: no idle timer expires before its unit is gone.
	want, pairs := int64(0), 0
	for _, scheme := range wheel.Schemes() {
		if scheme == Runtime || scheme == "scheme7-nomigration" || scheme == "scheme7-onemigration" {
			continue // runs in real time; rounds to coarser ticks
		}
		for _, ranges := range []bool{false, true} {
			if testing.Short() && ranges {
				continue
			}
			m, err := runRatas(scheme, 0, 2, ranges, 1)
			if err != nil {
				t.Fatal(err)
			}
			if want == 0 {
				want, pairs = m.messages, m.pairs
			}
			if m.messages != want || m.deadlines != 0 || m.w.Len() != 0 {
				t.Errorf("%s, ranges %t: %d messages, %d deadlines missed, %d timers left, want %d, 0, 0",
					scheme, ranges, m.messages, m.deadlines, m.w.Len(), want)
			}
		}
	}
	for _, batch := range []int{0, 1, 64} {
		m, err := runOfMix(2, batch, 1)
		if err != nil {
			t.Fatal(err)
		}
		if m.messages != want || m.deadlines != 0 || m.w.Len() != 0 {
			t.Errorf("wheel.Of, batches of %d: %d messages, %d deadlines missed, %d timers left, want %d, 0, 0",
				batch, m.messages, m.deadlines, m.w.Len(), want)
		}
	}
	// The C++ original counts 23,000 messages a pair: 180 s of requests that take 1.0256 s each,
	// and up to 100 ticks more.
	if perPair := want / int64(pairs); perPair < 22_300 || perPair > 23_100 {
		t.Errorf("%d messages a pair, want some 22,900", perPair)
	}
}

// BenchmarkRatas runs the whole mix once per iteration. The C++ original prints the seconds of
// such a run for the same number of units.
func BenchmarkRatas(b *testing.B) {
	for _, units := range []int{1 << 4, 1 << 10, 1 << 15, 1 << 16} {
		for _, batch := range []int{0, 8, 64} {
			impl := "of"
			if batch > 0 {
				impl += fmt.Sprintf("-batch%d", batch)
			}
			b.Run(fmt.Sprintf("impl=%s/units=%d", impl, units), func(b *testing.B) {
				var messages int64
				for b.Loop() {
					m, err := runOfMix(units, batch, 1)
					if err != nil {
						b.Fatal(err)
					}
					messages += m.messages
				}
				reportMessages(b, messages)
			})
		}
		for _, scheme := range []string{"scheme6", "scheme6-eager", "scheme6-list", "scheme7", "scheme7-lazy"} {
			for _, ranges := range []bool{true, false} {
				impl := scheme
				if !ranges {
					impl += "-noranges"
				}
				b.Run(fmt.Sprintf("impl=%s/units=%d", impl, units), func(b *testing.B) {
					var messages int64
					for b.Loop() {
						slots := 1 << 16
						if strings.HasPrefix(scheme, "scheme7") {
							slots = 256
						}
						m, err := runRatas(scheme, slots, units, ranges, 1)
						if err != nil {
							b.Fatal(err)
						}
						messages += m.messages
					}
					reportMessages(b, messages)
				})
			}
		}
	}
}

func reportMessages(b *testing.B, messages int64) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(messages), "ns/message")
	b.ReportMetric(float64(messages)/float64(b.N), "messages")
}

// runRatas runs the whole mix, five minutes of virtual time, on a new facility of the named
// scheme. With ranges it extends idle timers by ScheduleRange, as the second interface of Ratas
// does.
func runRatas(scheme string, slots, pairs int, ranges bool, seed uint64) (*ratasMix, error) {
	w, err := wheel.New(scheme, wheel.Config{Tick: ratasTick, Slots: slots})
	if err != nil {
		return nil, err
	}
	m := newRatas(w, pairs, ranges, seed)
	m.begin(pairs, new(atomic.Bool))
	for now := w.Now(); now < wheel.Time(ratasEnd); {
		now = now.Add(100 * time.Millisecond)
		w.Advance(now, 0, m.expire)
	}
	return m, nil
}

// runOfMix runs the whole mix, as runRatas does, with ranges. With batch above 0, up to that many
// timers expire in one call.
func runOfMix(pairs, batch int, seed uint64) (*ofMix, error) {
	m, err := newOfMix(pairs, batch, seed)
	if err != nil {
		return nil, err
	}
	m.begin(pairs)
	for now := m.w.Now(); now < wheel.Time(ratasEnd); {
		now = now.Add(100 * time.Millisecond)
		m.advance(now)
	}
	return m, nil
}
