package track

import (
	"testing"
	"time"

	"tcpwheel/netstack/tcp"
)

// TestSYNACKsAlone captures one direction, as where somebody else's addresses were forged: each SYN-ACK with another number is the answer to
// another SYN, and those with the same number are one that is sent again.
func TestSYNACKsAlone(t *testing.T) {
	l := newLab(t, Config{})
	for i := range 4 {
		l.isn[1] = tcp.Seq(i) * 0x5000_0000
		for _, at := range []float64{0, 3000, 9000} {
			l.send(600_000*float64(i)+at, false, 0, 0, 1, withFlags(tcp.SYN|tcp.ACK))
		}
	}
	for _, c := range l.done(4) {
		f := &c.Flows[1]
		if len(f.Episodes) != 1 || f.Retransmissions != 2 {
			t.Fatalf("%d episodes, %d retransmissions, want 1 and 2", len(f.Episodes), f.Retransmissions)
		}
		if e := f.Episodes[0]; e.Kind != SYN || e.D != 3*time.Second {
			t.Errorf("%v after %v, want syn after 3s", e.Kind, e.D)
		}
	}
}

// TestKeepalivesBeforeAnyOctet: the client has sent nothing but its SYN, whose number its keepalives have, with an octet or none (RFC 9293
// §3.8.4).
func TestKeepalivesBeforeAnyOctet(t *testing.T) {
	for length := range 2 {
		l := newLab(t, Config{})
		l.open(0)
		for i := range 3 {
			at := 10_000 * float64(1+i)
			l.send(at, true, 0, length, 1)
			l.send(at+50, false, 1, 0, 1)
		}
		if f := &l.wantClean(1)[0].Flows[0]; f.Keepalives != 3 {
			t.Errorf("%d keepalives of %d octets, want 3", f.Keepalives, length)
		}
	}
}

// TestKeepalivesOfAnIdleConnection: the capture begins in the middle, with a bare packet of each end.
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
		t.Errorf("%d keepalives, %d octets, want 3 and 0", f.Keepalives, f.Bytes)
	}
}

// TestDataAtTheNumberOfTheSYN: programs that make captures up may forget that the SYN has a number. What has no SYN does not send it again.
func TestDataAtTheNumberOfTheSYN(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	l.send(100, true, 0, 58, 0)
	l.send(150, false, 0, 21, 0)
	l.wantClean(1)
}

// TestFINAgainWithTheACKOfWhatStandsBeforeIt: some hosts send their FIN once more as soon as all before it is acknowledged. No timer did that: RFC
// 6298 §5 (5.3) starts it anew with the ACK.
func TestFINAgainWithTheACKOfWhatStandsBeforeIt(t *testing.T) {
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
