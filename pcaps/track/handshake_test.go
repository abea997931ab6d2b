package track

import (
	"testing"

	"tcpwheel/netstack/tcp"
)

// TestOnlySYNACKsCaptured captures one direction, as with forged source addresses. SYN-ACKs with
// different numbers answer different SYNs; those with the same number are retransmissions.
func TestOnlySYNACKsCaptured(t *testing.T) {
	l := newLab(t, Config{})
	for i := range 4 {
		l.isn[1] = tcp.Seq(i) * 0x5000_0000
		for _, at := range []float64{0, 3000, 9000} {
			l.send(600_000*float64(i)+at, false, 0, 0, 1, withFlags(tcp.SYN|tcp.ACK))
		}
	}
	for _, c := range l.done(4) {
		f := &c.Flows[1]
		if len(f.Episodes) != 0 || f.Retransmissions != 2 || c.Outcome != Unanswered {
			t.Fatalf("%d episodes, %d retransmissions, %v, want none, 2, unanswered", len(f.Episodes), f.Retransmissions, c.Outcome)
		}
	}
}

// TestSYNsAfterTheirACKs captures both directions with other delays, so that a SYN-ACK, or a SYN,
// is behind the packet that answers it. Nothing was retransmitted, and positions count from the
// SYN.
func TestSYNsAfterTheirACKs(t *testing.T) {
	for _, order := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}} {
		l := newLab(t, Config{Facts: 100})
		handshake := [3]func(at float64){
			func(at float64) { l.send(at, true, 0, 0, 0, withFlags(tcp.SYN)) },
			func(at float64) { l.send(at, false, 0, 0, 1, withFlags(tcp.SYN|tcp.ACK)) },
			func(at float64) { l.send(at, true, 1, 0, 1) },
		}
		for i, n := range order {
			handshake[n](float64(i) / 2)
		}
		l.send(10, true, 1, 100, 1)
		l.send(11, false, 1, 0, 101)
		c := l.wantClean(1)[0]
		f := &c.Flows[0]
		if !f.HasSYN || !c.Flows[1].HasSYN || c.Outcome != Established || f.Bytes != 100 || f.Src != l.a {
			t.Errorf("%v: SYNs %t and %t, %v, %d bytes of %v", order, f.HasSYN, c.Flows[1].HasSYN, c.Outcome, f.Bytes, f.Src)
		}
		for i, x := range c.Facts.All() {
			if want := [5][2]int64{{0, -1}, {0, 1}, {1, 1}, {1, 1}, {1, 101}}; i < 3 && [2]int64{x.Start, x.Ack} != want[order[i]] || i >= 3 && [2]int64{x.Start, x.Ack} != want[i] {
				t.Errorf("%v: packet %d is at %d and acknowledges %d", order, i+1, x.Start, x.Ack)
			}
		}
	}
}

// TestKeepalivesBeforeData sends keepalives before any data, numbered as the SYN, with one byte
// or none (RFC 9293 §3.8.4).
func TestKeepalivesBeforeData(t *testing.T) {
	for length := range 2 {
		l := newLab(t, Config{})
		l.open(0)
		for i := range 3 {
			at := 10_000 * float64(1+i)
			l.send(at, true, 0, length, 1)
			l.send(at+50, false, 1, 0, 1)
		}
		if f := &l.wantClean(1)[0].Flows[0]; f.Keepalives != 3 {
			t.Errorf("%d keepalives of %d bytes, want 3", f.Keepalives, length)
		}
	}
}

// TestKeepalivesOfAnIdleConnection starts the capture in the middle, with a bare packet of each
// end.
func TestKeepalivesOfAnIdleConnection(t *testing.T) {
	l := newLab(t, Config{})
	l.send(0, true, 500, 0, 900)
	l.send(50, false, 900, 0, 500)
	for i := range 3 {
		at := 10_000 * float64(1+i)
		l.send(at, true, 499, 1, 900)
		l.send(at+50, false, 900, 0, 500, sacks([2]tcp.Seq{^tcp.Seq(0), 0}))
	}
	if f := &l.wantClean(1)[0].Flows[0]; f.Keepalives != 3 || f.Bytes != 0 {
		t.Errorf("%d keepalives, %d bytes, want 3 and 0", f.Keepalives, f.Bytes)
	}
}

// TestDataAtSYNNumber sends data at the SYN's number, as programs that synthesise captures
// do. It is no retransmission of the SYN.
func TestDataAtSYNNumber(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	l.send(100, true, 0, 58, 0)
	l.send(150, false, 0, 21, 0)
	l.wantClean(1)
}

// TestFINResentOnACK resends a FIN as soon as all before it is
// acknowledged. No timer did that: the ACK restarts it (RFC 6298 §5 (5.3)).
func TestFINResentOnACK(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	l.send(100, true, 1, 27, 1)
	l.send(101, true, 28, 0, 1, withFlags(tcp.FIN|tcp.ACK))
	l.send(150, false, 1, 0, 28)
	l.send(150.05, true, 28, 0, 1, withFlags(tcp.FIN|tcp.ACK))
	l.send(152, false, 1, 0, 29)
	if e := l.only(); e.Kind != Unknown || e.Spurious != Spurious {
		t.Errorf("%v, spurious %v, want unknown, yes", e.Kind, e.Spurious)
	}
}

// TestRequestAcknowledgedBeforeSYN captures one direction 1 ms late on loopback: the ACK of the
// request comes before the SYN, and that of the FIN with the FIN of the other end not captured yet.
func TestRequestAcknowledgedBeforeSYN(t *testing.T) {
	l := newLab(t, Config{})
	l.send(0, false, 0, 0, 1, withFlags(tcp.SYN|tcp.ACK))
	l.send(0.3, false, 1, 0, 101)
	l.send(0.9, true, 0, 0, 0, withFlags(tcp.SYN))
	l.send(1, true, 1, 0, 1)
	l.send(1.2, true, 1, 100, 1)
	l.send(3, false, 1, 0, 101, withFlags(tcp.FIN|tcp.ACK))
	l.send(3.02, false, 1, 0, 102, withFlags(tcp.FIN|tcp.ACK))
	l.send(4.01, true, 101, 0, 2, withFlags(tcp.FIN|tcp.ACK))
	l.send(4.03, true, 102, 0, 2)
	c := l.wantClean(1)[0]
	if f := &c.Flows[0]; f.Bytes != 100 || !f.HasSYN || f.UnseenBytes != 0 {
		t.Errorf("%d bytes, SYN %t, %d unseen, want 100, true, 0", f.Bytes, f.HasSYN, f.UnseenBytes)
	}
}
