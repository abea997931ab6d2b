package track

import (
	"testing"

	"tcpwheel/netstack/tcp"
)

// TestStallOfDoubleLoss loses a segment and its retransmission. All but the round trip of the
// original is lost; all but two round trips is spent waiting for timers.
func TestStallOfDoubleLoss(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	l.send(100, true, 1, 500, 1)
	l.send(150, false, 1, 0, 501)
	l.send(200, true, 501, 500, 1)  // lost
	l.send(500, true, 501, 500, 1)  // lost
	l.send(1100, true, 501, 500, 1) // arrives
	l.send(1150, false, 1, 0, 1001)
	e := l.only()
	if e.TimeLost != 900*ms || e.TimerWait != 800*ms || e.Length != 950*ms {
		t.Errorf("%v lost, %v waiting for timers, of %v, want 900ms, 800ms, 950ms", e.TimeLost, e.TimerWait, e.Length)
	}
	if lost, timers := l.conns[0].TimeLost(); lost != e.TimeLost || timers != e.TimerWait {
		t.Errorf("the connection lost %v, %v, want the episode's", lost, timers)
	}
}

// TestStallIsLongerThanTheFirstRepair repairs the first of two lost segments soon and the second
// one only by a timeout: T_rec is short, and the stall is not.
func TestStallIsLongerThanTheFirstRepair(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	for i := range 8 {
		l.send(100+float64(i), true, 1+1000*i, 1000, 1)
	}
	sack := func(from, to tcp.Seq) option { return sacks([2]tcp.Seq{from, to}) }
	l.send(152, false, 1, 0, 1, sack(1000, 2000))
	l.send(154, false, 1, 0, 1, sack(3000, 5000))
	l.send(156, false, 1, 0, 1, sack(3000, 8000))
	l.send(156, true, 1, 1000, 1)
	l.send(206, false, 1, 0, 2001, sack(1000, 6000))
	l.send(706, true, 2001, 1000, 1)
	l.send(756, false, 1, 0, 8001)
	e := l.only()
	if e.TRec != 106*ms || e.Length != 656*ms {
		t.Errorf("T_rec %v of %v, want 106ms of 656ms", e.TRec, e.Length)
	}
	// The first segment was due at 150, the second one when the first had come.
	if e.TimeLost != (56+550)*ms || e.TimerWait < 499*ms || e.TimerWait > 500*ms || e.Timeouts != 1 {
		t.Errorf("%v lost, %v of it in %d timeouts, want 606ms, 500ms in 1", e.TimeLost, e.TimerWait, e.Timeouts)
	}
}

// TestNothingIsLostBySpuriousRetransmissions delays an ACK beyond the timeout.
func TestNothingIsLostBySpuriousRetransmissions(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	l.send(100, true, 1, 500, 1)
	l.send(150, false, 1, 0, 501)
	l.send(200, true, 501, 500, 1)
	l.send(500, true, 501, 500, 1)
	l.send(520, false, 1, 0, 1001)
	if e := l.only(); e.Spurious != Spurious || e.TimeLost != 0 || e.TimerWait != 0 {
		t.Errorf("spurious %v, %v lost, want yes, 0", e.Spurious, e.TimeLost)
	}
}

// TestNeverRepaired counts a loss at the end of the capture apart. SYNs without an answer are no
// losses.
func TestNeverRepaired(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	l.send(100, true, 1, 500, 1)
	l.send(150, false, 1, 0, 501)
	l.send(200, true, 501, 500, 1)
	l.send(500, true, 501, 500, 1)
	l.send(1100, true, 501, 500, 1)
	if e := l.only(); e.Repaired || e.TimeLost != 0 || e.Unrepaired != 850*ms {
		t.Errorf("repaired %v, %v lost and %v unrepaired, want false, 0 and 850ms", e.Repaired, e.TimeLost, e.Unrepaired)
	}
	l = newLab(t, Config{})
	l.open(0)
	l.send(200, true, 1, 500, 1)
	l.send(500, true, 1, 500, 1)
	l.send(900, true, 501, 0, 1, withFlags(tcp.RST|tcp.ACK)) // it gives up
	l.send(2000, false, 1, 500, 1)                           // the other end does not
	if e := l.only(); e.Unrepaired != 650*ms {
		t.Errorf("%v unrepaired, want 650ms, until the RST", e.Unrepaired)
	}
	l = newLab(t, Config{})
	l.send(0, true, 0, 0, 0, withFlags(tcp.SYN))
	l.send(1000, true, 0, 0, 0, withFlags(tcp.SYN))
	if c := l.done(1)[0]; c.Outcome != Unanswered || len(c.Flows[0].Episodes) != 0 {
		t.Errorf("%v with %d episodes, want unanswered without", c.Outcome, len(c.Flows[0].Episodes))
	}
}
