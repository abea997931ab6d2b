package track

import (
	"testing"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// TestSlowHostIsStillFast retransmits 4 ms after the third duplicate ACK, as hosts of the 1990s
// did. RACK would have seen the loss much earlier.
func TestSlowHostIsStillFast(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	l.send(100, true, 1, 1000, 1)
	l.send(150, false, 1, 0, 1001)
	for i := range 5 {
		l.send(200+float64(i), true, 1001+1000*i, 1000, 1)
	}
	l.send(251, false, 1, 0, 1001, sacks([2]tcp.Seq{1000, 2000}))
	l.send(280, false, 1, 0, 1001, sacks([2]tcp.Seq{1000, 3000}))
	l.send(300, false, 1, 0, 1001, sacks([2]tcp.Seq{1000, 4000}))
	l.send(302.1, true, 1001, 1000, 1)
	l.send(352.1, false, 1, 0, 6001)
	if e := l.only(); e.Kind != Fast || e.Timeouts != 0 {
		t.Errorf("%v, %d timeouts, want fast", e.Kind, e.Timeouts)
	}
}

// TestTimeoutInsideARecovery has 500 ms of silence between two retransmissions that SACK had asked
// for. No stack's timer explains it, and no ACK.
func TestTimeoutInsideARecovery(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	for i := range 8 {
		l.send(100+float64(i), true, 1+1000*i, 1000, 1)
	}
	l.send(152, false, 1, 0, 1, sacks([2]tcp.Seq{1000, 2000}))
	l.send(154, false, 1, 0, 1, sacks([2]tcp.Seq{1000, 2000}, [2]tcp.Seq{3000, 5000}))
	l.send(156, false, 1, 0, 1, sacks([2]tcp.Seq{1000, 2000}, [2]tcp.Seq{3000, 8000}))
	l.send(156.1, true, 1, 1000, 1)
	l.send(206.1, false, 1, 0, 2001, sacks([2]tcp.Seq{1000, 6000}))
	l.send(706.1, true, 2001, 1000, 1)
	l.send(756.1, false, 1, 0, 8001)
	e := l.only()
	if e.Kind != Fast || e.Timeouts != 1 || e.Retransmissions[1].Kind != RTO {
		t.Errorf("%v with %d timeouts, the second retransmission %v, want fast, 1, rto", e.Kind, e.Timeouts, e.Retransmissions[1].Kind)
	}
}

// TestTimeoutCapturedOutOfOrder reorders the packets of a timeout: the first one captured is not
// the first one missing.
func TestTimeoutCapturedOutOfOrder(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	for i := range 4 {
		l.send(100, true, 1+1000*i, 1000, 1)
	}
	l.send(600, true, 1001, 1000, 1)
	l.send(600.1, true, 1, 1000, 1)
	l.send(650, false, 1, 0, 4001)
	if e := l.only(); e.Kind != RTO || e.Retransmissions[1].Kind != RTO {
		t.Errorf("%v, then %v, want rto, rto", e.Kind, e.Retransmissions[1].Kind)
	}
}

// TestWindowBoundsTheLag delays the ACK of the handshake by 45 ms, so that the sender seems far
// from the capture. The receiver's window shows how near it is: it could not have sent without the
// ACK.
func TestWindowBoundsTheLag(t *testing.T) {
	l := newLab(t, Config{})
	behind := func(p *packet) { p.TTL = 60 }
	l.send(0, true, 0, 0, 0, withFlags(2), behind)
	l.send(1, false, 0, 0, 1, withFlags(18))
	l.send(46, true, 1, 0, 1, behind)
	for i := range 20 { // each segment fills the window
		at := 100 + 10*float64(i)
		l.send(at, true, 1+1000*i, 1000, 1, behind)
		l.send(at+8, false, 1, 0, 1001+1000*i)
	}
	if lag := l.wantClean(1)[0].Flows[0].Lag(); lag > 3*ms {
		t.Errorf("the lag is %v, want 2ms", lag)
	}
}

// TestDuplicateACKsBoundTheLag asks by three duplicate ACKs for a segment that was sent 9 ms ago.
// It comes 2 ms later, so that the sender is not 45 ms away, as the handshake said.
func TestDuplicateACKsBoundTheLag(t *testing.T) {
	l := newLab(t, Config{})
	behind := func(p *packet) { p.TTL = 60 }
	l.send(0, true, 0, 0, 0, withFlags(2), behind)
	l.send(1, false, 0, 0, 1, withFlags(18), withWindow(60000))
	l.send(46, true, 1, 0, 1, behind)
	for i := range 6 {
		l.send(100+float64(i), true, 1+1000*i, 1000, 1, behind)
	}
	for i := range 4 {
		l.send(104+float64(i), false, 1, 0, 1, withWindow(60000))
	}
	l.send(109, true, 1, 1000, 1, behind)
	l.send(112, false, 1, 0, 6001, withWindow(60000))
	if e := l.only(); e.Kind != Fast || e.TRec > 20*ms {
		t.Errorf("%v, T_rec %v, want fast, 15ms", e.Kind, e.TRec)
	}
}

// TestTooLargeForThePath drops a full segment at a link with a smaller MTU. An ICMP error reports
// it, and the sender repeats the flight in smaller segments.
func TestTooLargeForThePath(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	l.send(100, true, 1, 1460, 1)
	l.send(100.1, true, 1461, 1460, 1)
	l.tr.ICMP(capture.ICMPError{TooBig: true, Time: wheel.Time(time.Hour + 110*ms), Src: l.a, Dst: l.b, Seq: l.isn[0] + 1, MTU: 1400})
	l.send(110.2, true, 1, 1360, 1)
	l.send(110.3, true, 1361, 1360, 1)
	l.send(110.4, true, 2721, 200, 1)
	l.send(160, false, 1, 0, 2921)
	if e := l.only(); e.Kind != PMTU || e.Kind.String() != "mtu" || e.Timeouts != 0 {
		t.Errorf("%v with %d timeouts, want mtu", e.Kind, e.Timeouts)
	}
}

// TestProbeBeforeHoles has a tail loss probe of the last segment while the first one is missing:
// its duplicate ACKs were too few, and a timeout or RACK would have begun with the first.
func TestProbeBeforeHoles(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	l.send(100, true, 1, 1000, 1)
	l.send(150, false, 1, 0, 1001)
	for i := range 3 {
		l.send(200+float64(i)/10, true, 1001+1000*i, 1000, 1)
	}
	l.send(250, false, 1, 0, 1001, sacks([2]tcp.Seq{1000, 2000}))
	l.send(330, true, 3001, 1000, 1)
	l.send(380, false, 1, 0, 1001, sacks([2]tcp.Seq{1000, 3000}))
	l.send(380.1, true, 1001, 1000, 1)
	l.send(430, false, 1, 0, 4001)
	if e := l.only(); e.Kind != TLP || e.Probes != 1 || e.Timeouts != 0 {
		t.Errorf("%v with %d probes and %d timeouts, want one probe", e.Kind, e.Probes, e.Timeouts)
	}
}

// TestOptionsCut has a retransmission 30 ms after ACKs whose options the capture has cut off. They
// may have asked for it, so that it is no timeout; after half a second it is one.
func TestOptionsCut(t *testing.T) {
	for wait, want := range map[float64]Kind{30: Unknown, 500: RTO} {
		l := newLab(t, Config{})
		cut := func(p *capture.Packet) { p.Header.Options, p.Problems = tcp.Options{}, capture.OptionsCut }
		l.open(0, cut)
		for i := range 3 {
			l.send(100+float64(i), true, 1+1000*i, 1000, 1, cut)
		}
		l.send(152, false, 1, 0, 1001, cut)
		l.send(153, false, 1, 0, 1001, cut)
		l.send(153+wait, true, 1001, 1000, 1, cut)
		l.send(203+wait, false, 1, 0, 3001, cut)
		if e := l.only(); e.Kind != want {
			t.Errorf("%v ms after the ACK: %v, want %v", wait, e.Kind, want)
		}
	}
}
