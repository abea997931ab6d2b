package sim

import (
	"testing"
	"time"

	"tcpwheel/wheel"
)

// TestHold: a link that holds packets lets them go in order and together, once in each span, after
// times between the least and the longest, and never before they would arrive.
func TestHold(t *testing.T) {
	const delay, least, longest, every = 20 * ms, 300 * ms, 1000 * ms, 2000 * ms
	l := newTestLink(t, LinkConfig{Delay: time.Duration(delay),
		Hold: Hold{Longest: time.Duration(longest), Least: time.Duration(least), Every: time.Duration(every)}})
	begins := map[wheel.Time]wheel.Time{} // of the holds that ended at an instant: their first arrival
	held, last := 0, wheel.Time(0)
	for at := wheel.Time(0); at < 200*every; at += ms {
		f := l.sendSize(at, 1000)
		late := f.At - (at + delay)
		if f.At < last || late < 0 || late > longest || f.Held != (late > 0) {
			t.Fatalf("sent at %v, arrives at %v, held %t, after one at %v", at, f.At, f.Held, last)
		}
		if last = f.At; f.Held {
			held++
			if _, ok := begins[f.At]; !ok {
				begins[f.At] = at + delay
			}
		}
	}
	spans := map[wheel.Time]bool{}
	for end, begin := range begins {
		if spans[begin/every] || end-begin > longest || end-begin < least-ms {
			t.Errorf("held from %v to %v, want %v to %v, once in each span", begin, end, least, longest)
		}
		spans[begin/every] = true
	}
	if len(spans) != 200 || held < 200*620 || held > 200*680 {
		t.Errorf("%d holds of %d packets, want 200 of 650 each in the mean", len(spans), held)
	}
}

func TestHoldIsChecked(t *testing.T) {
	for _, h := range []Hold{{Longest: time.Second, Least: 2 * time.Second}, {Longest: time.Second, Every: time.Millisecond}} {
		if _, err := NewLink(LinkConfig{Hold: h}, 1); err == nil {
			t.Errorf("%+v is accepted", h)
		}
	}
}
