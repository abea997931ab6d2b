package track

import (
	"testing"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
)

// atB is a lab captured at b: a's packets have passed routers.
type atB struct{ *lab }

// send is lab.send with the TTLs seen at b.
func (l atB) send(at float64, fromA bool, seq, length, ack int, more ...option) {
	l.t.Helper()
	ttl := func(p *capture.Packet) { p.TTL = map[bool]uint8{true: 57, false: 64}[fromA] }
	l.lab.send(at, fromA, seq, length, ack, append([]option{ttl}, more...)...)
}

// open adds a handshake with an RTT of 50 ms.
func (l atB) open() {
	syn := func(p *capture.Packet) {
		p.Header.Options.HasMSS, p.Header.Options.MSS, p.Header.Options.SACKPermitted = true, 1460, true
	}
	l.send(0, true, 0, 0, 0, withFlags(tcp.SYN), syn)
	l.send(0.1, false, 0, 0, 1, withFlags(tcp.SYN|tcp.ACK), syn)
	l.send(50, true, 1, 0, 1)
}

// first returns the first retransmission of a's only episode.
func (l atB) first() *Retransmission {
	l.t.Helper()
	return &l.only().Retransmissions[0]
}

// TestOutboundAtRouter has a router mark the packets that it forwards as outbound.
func TestOutboundAtRouter(t *testing.T) {
	l := newLab(t, Config{})
	forwarded := func(p *capture.Packet) { p.TTL, p.Direction = 63, capture.Outbound }
	from := func(p *capture.Packet) { p.TTL, p.Direction = 64, capture.Inbound }
	l.send(0, true, 0, 0, 0, withFlags(tcp.SYN), from)
	l.send(20, false, 0, 0, 1, withFlags(tcp.SYN|tcp.ACK), forwarded)
	l.send(40, true, 1, 0, 1, from)
	l.send(50, true, 1, 1000, 1, from)
	l.send(70, false, 1, 0, 1001, forwarded)
	l.send(90, true, 1001, 1000, 1, from)
	l.send(110, false, 1, 0, 2001, forwarded)
	if c := l.wantClean(1)[0]; c.Flows[0].Vantage != InTheMiddle {
		t.Errorf("captured at %v, want the middle: %q", c.Flows[0].Vantage, c.VantageEvidence())
	}
}

// TestPacedBurst sends a segment each 10 ms, between ACKs, and then three at once. The
// retransmission caused by SACK waits 30 ms behind them, which is no timer.
func TestPacedBurst(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	const lost, burst = 20, 27
	for i := range burst + 3 {
		at := 100 + 10*float64(i)
		if i <= burst {
			l.send(at, true, 1+1000*i, 1000, 1)
		}
		if i == burst {
			l.send(at+0.01, true, 1001+1000*i, 1000, 1)
			l.send(at+0.02, true, 2001+1000*i, 1000, 1)
		}
		switch k := i - 5; { // acknowledged 55 ms after it was sent
		case k > lost:
			l.send(at+5, false, 1, 0, 1+1000*lost, sacks([2]tcp.Seq{1000, tcp.Seq(1000 * (k - lost + 1))}))
		case k >= 0 && k < lost:
			l.send(at+5, false, 1, 0, 1001+1000*k)
		}
	}
	l.send(400, true, 1+1000*lost, 1000, 1)
	l.send(455, false, 1, 0, 3001+1000*burst)
	if e := l.only(); e.Kind != Fast || e.DetectedPacket == 0 {
		t.Errorf("%v, want fast", e.Kind)
	}
}

// TestPacedSender sends a segment each 10 ms, between ACKs. A retransmission caused by SACK waits
// for its turn, not for a timer.
func TestPacedSender(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	const lost = 20
	var holes []option
	again := 0
	for i := range 40 {
		at := 100 + 10*float64(i)
		if i == lost+8 { // the third SACK is 5 ms old
			l.send(at, true, 1+1000*lost, 1000, 1)
			again = i
			continue
		}
		k := i
		if again > 0 {
			k--
		}
		l.send(at, true, 1+1000*k, 1000, 1)
		if answered := k - 5; answered >= 0 { // acknowledged 55 ms after it was sent
			ack := 1 + 1000*(answered+1)
			holes = nil
			if answered >= lost {
				ack = 1 + 1000*lost
				holes = []option{sacks([2]tcp.Seq{1000, tcp.Seq(1000 * (answered - lost + 1))})}
			}
			if answered != lost {
				l.send(at+5, false, 1, 0, ack, holes...)
			}
		}
	}
	e := l.only()
	if r := &e.Retransmissions[0]; r.Kind != Fast || r.ByTimer {
		t.Errorf("%v, by a timer: %v, want fast, by no timer", r.Kind, r.ByTimer)
	}
}

// TestLateOriginal delays an original beyond its retransmission, at the receiver. SACK had told the
// sender that it was lost.
func TestLateOriginal(t *testing.T) {
	l := atB{newLab(t, Config{})}
	l.open()
	l.send(60, true, 1, 1000, 1, withID(10))
	l.send(60.1, false, 1, 0, 1001)
	for i := range 4 {
		l.send(110+float64(i)/10, true, 2001+1000*i, 1000, 1, withID(uint32(12+i)))
		l.send(110.05+float64(i)/10, false, 1, 0, 1001, sacks([2]tcp.Seq{1000, tcp.Seq(2000 + 1000*i)}))
	}
	l.send(140, true, 1001, 1000, 1, withID(11))
	l.send(140.1, false, 1, 0, 6001)
	l.send(195, true, 1001, 1000, 1, withID(16))
	if r := l.first(); r.Kind != Fast || r.Spurious != Spurious {
		t.Errorf("%v, spurious %v, want fast, yes", r.Kind, r.Spurious)
	}
}

// TestFlightLostBeforeReceiver loses a whole flight ahead of the receiver. The first packet after
// the timeout looks new, but what its ACK triggers shows that it is not.
func TestFlightLostBeforeReceiver(t *testing.T) {
	for _, request := range []bool{false, true} {
		l := atB{newLab(t, Config{})}
		l.open()
		l.send(60, true, 1, 1000, 1)
		l.send(60.1, false, 1, 0, 1001)
		if request { // b was the silent one, and part of the answer was lost
			l.send(450, false, 1, 100, 1001)
		}
		l.send(500, true, 1001, 1400, 1)
		l.send(500.1, false, 1, 0, 2401)
		for i := range 2 {
			l.send(550+float64(i)/10, true, 10001+1000*i, 1000, 1)
			l.send(550.05+float64(i)/10, false, 1, 0, 2401, sacks([2]tcp.Seq{7600, tcp.Seq(8600 + 1000*i)}))
		}
		l.send(600, true, 2401, 1400, 1)
		l.send(600.1, false, 1, 0, 3801, sacks([2]tcp.Seq{6200, 8200}))
		want := RTO
		if request {
			want = Fast
		}
		if r := l.first(); r.Kind != want {
			t.Errorf("asked for %v: %v, want %v", request, r.Kind, want)
		}
	}
}
