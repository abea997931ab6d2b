package tcp

import (
	"testing"
)

func TestSendWindowUpdate(t *testing.T) {
	// RFC 9293 §3.10.7.4: "If (SND.WL1 < SEG.SEQ or (SND.WL1 = SEG.SEQ and SND.WL2 =< SEG.ACK))"
	for _, c := range []struct {
		seq, ack int32
		want     bool
	}{
		{1, -5, true}, {0, 0, true}, {0, 1, true}, {0, -1, false}, {-1, 0, false}, {-1, 5, false},
	} {
		for _, base := range []Seq{1000, 0, 1<<32 - 1} {
			var w sendWindow
			w.Init(base, base, 500)
			got := w.Update(base+Seq(c.seq), base+Seq(c.ack), 700)
			if got != c.want || (w.Wnd == 700) != c.want || (w.MaxWnd == 700) != c.want {
				t.Errorf("Update(%+d, %+d) = %v, %+v, want %v", c.seq, c.ack, got, w, c.want)
			}
		}
	}
	var w sendWindow
	w.Init(1, 1, 500)
	if w.Update(2, 1, 500) || w.WL1 != 2 {
		t.Errorf("the same window again: %+v", w)
	}
	// RFC 9293 §3.8.6 (MUST-34): the usable window may become negative; nothing is sent then.
	w.Update(3, 1, 100)
	if w.MaxWnd != 500 {
		t.Errorf("MAX.SND.WND = %d, want 500", w.MaxWnd)
	}
	for flight, want := range map[uint32]uint32{0: 100, 40: 60, 100: 0, 400: 0} {
		if got := w.Usable(1<<32-20, Seq(1<<32-20).Add(flight)); got != want {
			t.Errorf("Usable with %d in flight = %d, want %d", flight, got, want)
		}
	}
}

func TestNextSegmentLen(t *testing.T) {
	base := sendInput{Queued: 100, Usable: 10000, MSS: 1000, MaxWnd: 20000}
	for _, c := range []struct {
		why  string
		set  func(*sendInput)
		want uint32
		hold holdReason
	}{
		{"nothing", func(c *sendInput) { c.Queued = 0 }, 0, holdEmpty},
		{"closed", func(c *sendInput) { c.Usable = 0 }, 0, holdWindow},
		{"closed, override", func(c *sendInput) { c.Usable = 0; c.Override = true }, 0, holdWindow},
		// RFC 9293 §3.8.6.2.1: "(1) if a maximum-sized segment can be sent, i.e., if: min(D,U) >=
		// Eff.snd.MSS;"
		{"full", func(c *sendInput) { c.Queued = 1500 }, 1000, holdNone},
		{"full, corked", func(c *sendInput) { c.Queued, c.Cork = 1500, true }, 1000, holdNone},
		// "(2) or if the data is pushed and all queued data can be sent now", "[SND.NXT = SND.UNA
		// and]".
		{"idle", func(c *sendInput) { c.Idle = true }, 100, holdNone},
		{"in flight: RFC 9293 §3.7.4", func(c *sendInput) {}, 0, holdNagle},
		{"no delay", func(c *sendInput) { c.NoDelay = true }, 100, holdNone},
		{"Minshall, full segments in flight", func(c *sendInput) { c.Minshall = true }, 100, holdNone},
		{"Minshall, a small one in flight", func(c *sendInput) { c.Minshall, c.SmallOut = true, true }, 0, holdNagle},
		{"closing", func(c *sendInput) { c.Complete = true }, 100, holdNone},
		{"corked, idle", func(c *sendInput) { c.Cork, c.Idle = true, true }, 0, holdCork},
		{"corked, no delay", func(c *sendInput) { c.Cork, c.NoDelay = true, true }, 0, holdCork},
		{"corked, closing", func(c *sendInput) { c.Cork, c.Complete = true, true }, 100, holdNone},
		{"more to come", func(c *sendInput) { c.More, c.Idle = true, true }, 0, holdCork},
		{"corked too long", func(c *sendInput) { c.Cork, c.Override = true, true }, 100, holdNone},
		// "(3) or if at least a fraction Fs of the maximum window can be sent", Fs = 1/2.
		{"a sliver of window", func(c *sendInput) { c.Queued, c.Usable, c.Idle = 5000, 999, true }, 0, holdWindow},
		{"a sliver, no delay", func(c *sendInput) { c.Queued, c.Usable, c.NoDelay = 5000, 999, true }, 0, holdWindow},
		{"half of a small window", func(c *sendInput) { c.Usable, c.MaxWnd, c.Idle = 50, 100, true }, 50, holdNone},
		{"less than half of it", func(c *sendInput) { c.Usable, c.MaxWnd, c.Idle = 49, 100, true }, 0, holdWindow},
		{"a window of one byte", func(c *sendInput) { c.Usable, c.MaxWnd, c.Idle = 1, 1, true }, 1, holdNone},
		{"half of it, in flight", func(c *sendInput) { c.Usable, c.MaxWnd = 50, 100 }, 0, holdNagle},
		// "(4) or if the override timeout occurs."
		{"a sliver, override", func(c *sendInput) { c.Queued, c.Usable, c.Override = 5000, 999, true }, 999, holdNone},
	} {
		chance := base
		c.set(&chance)
		if got, hold := nextSegmentLen(chance); got != c.want || hold != c.hold {
			t.Errorf("%s: MaySend(%+v) = %d, %d, want %d, %d", c.why, chance, got, hold, c.want, c.hold)
		}
	}
}
