package track

import (
	"testing"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// TestResolution tells coarse clocks from fine ones.
func TestResolution(t *testing.T) {
	const ms, us = time.Millisecond, time.Microsecond
	for _, test := range []struct {
		name   string
		tick   time.Duration
		n      int
		before []wheel.Time
		want   time.Duration
	}{
		{"microseconds", us, 200, nil, 0},
		{"a millisecond", ms, 200, nil, ms},
		{"Windows", 15_625 * us, 200, nil, 15_625 * us},
		{"too few packets to tell", ms, 50, nil, 0},
		{"one packet by another clock", ms, 200, []wheel.Time{7*wheel.Time(ms) + 1}, 0},
	} {
		var k captureClock
		for _, at := range test.before {
			k.note(at)
		}
		for i := range test.n {
			k.note(wheel.Time(time.Hour + time.Duration(i*i%97+i)*test.tick))
		}
		if got := k.resolution(); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestClockWentBack retransmits while the capture's clock goes back by 30 ms: the ACK seems to come
// too soon, which proves nothing. With a clock that does not, the retransmission was spurious.
func TestClockWentBack(t *testing.T) {
	for _, back := range []float64{0, 40} {
		l := newLab(t, Config{})
		l.open(0)
		l.send(100, true, 1, 1000, 1)
		l.send(150, false, 1, 0, 1001)
		l.send(200, true, 1001, 1000, 1)
		l.send(420, true, 1001, 1000, 1)
		if back > 0 { // another connection shows the step
			l.send(449, true, 0, 0, 0, withFlags(tcp.SYN), withPort(4001))
			l.send(449-back, true, 0, 0, 0, withFlags(tcp.SYN), withPort(4002))
		}
		l.send(455-back, false, 1, 0, 2001)
		l.tr.Close()
		for _, c := range l.conns {
			if c.ID != 0 {
				continue
			}
			want := Spurious
			if back > 0 {
				want = Undecided
			}
			if e := c.Flows[0].Episodes[0]; e.Spurious != want {
				t.Errorf("back by %v ms: spurious %v, want %v", back, e.Spurious, want)
			}
		}
	}
}

// TestCoarseClock has a clock of 16 ms on a path of 50 ms. An ACK 32 ms after a retransmission may
// answer it or its original: the capture cannot tell.
func TestCoarseClock(t *testing.T) {
	for _, test := range []struct {
		answer float64 // the time of the ACK, in ms after the retransmission
		want   Spuriousness
	}{{16, Spurious}, {32, Undecided}, {80, Necessary}} {
		l := newLab(t, Config{})
		coarse := func(p *capture.Packet) { p.Time -= p.Time % wheel.Time(16*time.Millisecond) }
		l.open(0, coarse)
		at := 100.0
		for i := range 40 {
			l.send(at, true, 1+100*i, 100, 1, coarse)
			l.send(at+50, false, 1, 0, 101+100*i, coarse)
			at += 64
		}
		l.send(at, true, 4001, 100, 1, coarse)
		at += 240
		at -= float64(int(at) % 16)
		l.send(at, true, 4001, 100, 1, coarse)
		l.send(at+test.answer, false, 1, 0, 4101, coarse)
		if e := l.only(); e.Spurious != test.want {
			t.Errorf("answered after %v ms: spurious %v by %v, want %v", test.answer, e.Spurious, e.Evidence, test.want)
		}
	}
}
