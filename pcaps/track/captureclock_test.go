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
		{"bursts of few times", ms, 20, nil, ms},
		{"one packet by another clock", ms, 200, []wheel.Time{7*wheel.Time(ms) + 1}, 0},
	} {
		var k captureClock
		for _, at := range test.before {
			k.note(at)
		}
		for i := range test.n {
			at := wheel.Time(time.Hour + time.Duration(i*i%97+i)*test.tick)
			for range 3 - 2*min(test.n/50, 1) { // short captures are bursts
				k.note(at)
			}
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

// TestClockThatGoesAhead captures by a clock that is set back by 30 ms, twice: so it went ahead at
// an unknown time between both, and what seems to take a round trip may have taken less. A single
// packet out of order in the file is no such step.
func TestClockThatGoesAhead(t *testing.T) {
	for _, test := range []struct {
		behind int // packets of the time before each step
		want   Spuriousness
	}{{0, Necessary}, {1, Necessary}, {2, Undecided}} {
		l := newLab(t, Config{})
		l.open(0)
		l.send(100, true, 1, 1000, 1)
		l.send(150, false, 1, 0, 1001)
		for i := range 2 {
			at := 1000 * float64(i+1)
			l.send(at, true, 0, 0, 0, withFlags(tcp.SYN), withPort(uint16(4001+10*i)))
			for k := range test.behind {
				l.send(at-30+float64(k), true, 0, 0, 0, withFlags(tcp.SYN), withPort(uint16(4002+10*i+k)))
			}
		}
		l.send(3000, true, 1001, 1000, 1)
		l.send(3300, true, 1001, 1000, 1)
		l.send(3350, false, 1, 0, 2001)
		l.tr.Close()
		for _, c := range l.conns {
			if c.ID == 0 && c.Flows[0].Episodes[0].Spurious != test.want {
				t.Errorf("%d packets behind: spurious %v, want %v", test.behind, c.Flows[0].Episodes[0].Spurious, test.want)
			}
		}
	}
}

// TestKindByCoarseClock retransmits 0.1 ms after two duplicate ACKs, which made it leave. On a
// clock of 16 ms they may have come much earlier, so that it may have been a timer.
func TestKindByCoarseClock(t *testing.T) {
	for tick, want := range map[wheel.Time]Kind{1: Fast, 16 * wheel.Time(ms): Unknown} {
		l := newLab(t, Config{})
		coarse := func(p *capture.Packet) { p.Time -= p.Time % tick }
		l.open(0, coarse)
		at := 96.0
		for i := range 80 {
			l.send(at, true, 1+100*i, 100, 1, coarse)
			l.send(at+50, false, 1, 0, 101+100*i, coarse)
			at += 64
		}
		for i := range 5 {
			l.send(at, true, 8001+100*i, 100, 1, coarse)
		}
		at += 320
		l.send(at, false, 1, 0, 8001, coarse)
		l.send(at, false, 1, 0, 8001, coarse)
		l.send(at+0.1, true, 8001, 100, 1, coarse)
		l.send(at+60, false, 1, 0, 8501, coarse)
		if e := l.only(); e.Kind != want {
			t.Errorf("a clock of %v: %v (%s), want %v", time.Duration(tick), e.Kind, e.Retransmissions[0].rule, want)
		}
	}
}

// TestVerdictBeforeTheTickIsKnown judges a retransmission by a clock of 16 ms that has shown too
// few times yet. Later ones take the verdict back.
func TestVerdictBeforeTheTickIsKnown(t *testing.T) {
	for _, later := range []int{0, 80} {
		l := newLab(t, Config{})
		coarse := func(p *capture.Packet) { p.Time -= p.Time % wheel.Time(16*time.Millisecond) }
		l.open(0, coarse)
		l.send(112, true, 1, 100, 1, coarse)
		l.send(162, false, 1, 0, 101, coarse)
		l.send(208, true, 101, 100, 1, coarse)
		l.send(448, true, 101, 100, 1, coarse)
		l.send(480, false, 1, 0, 201, coarse)
		for i := range later {
			l.send(float64(1000+64*i), true, 201+100*i, 100, 1, coarse)
			l.send(float64(1050+64*i), false, 1, 0, 301+100*i, coarse)
		}
		want := map[int]Spuriousness{0: Spurious, 80: Undecided}[later]
		if e := l.only(); e.Spurious != want {
			t.Errorf("%d later: spurious %v by %v, want %v", later, e.Spurious, e.Evidence, want)
		}
	}
}
