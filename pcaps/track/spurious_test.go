package track

import (
	"testing"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
)

// TestNecessaryAtNearbyReceiver captures at a receiver with a negligible RTT. A retransmission of
// data lost before it is still necessary.
func TestNecessaryAtNearbyReceiver(t *testing.T) {
	l := newLab(t, Config{})
	// The receiver is b, whose packets have a full TTL; those of a have passed a router.
	at := func(ms float64, fromA bool, seq, length, ack int, more ...option) {
		ttl := func(p *capture.Packet) { p.TTL = map[bool]uint8{true: 63, false: 64}[fromA] }
		l.send(ms, fromA, seq, length, ack, append([]option{ttl}, more...)...)
	}
	syn := func(p *capture.Packet) {
		p.Header.Options.HasMSS, p.Header.Options.MSS, p.Header.Options.SACKPermitted = true, 1460, true
	}
	at(0, true, 0, 0, 0, withFlags(tcp.SYN), syn)
	at(0.01, false, 0, 0, 1, withFlags(tcp.SYN|tcp.ACK), syn)
	at(0.2, true, 1, 0, 1)
	at(1, true, 1, 1000, 1)
	at(1.01, false, 1, 0, 1001)
	for i := range 3 { // 1001 to 2001 is lost before the capture
		at(2+float64(i)/10, true, 2001+1000*i, 1000, 1)
		at(2.01+float64(i)/10, false, 1, 0, 1001, sacks([2]tcp.Seq{1000, tcp.Seq(2000 + 1000*i)}))
	}
	at(3, true, 1001, 1000, 1)
	at(3.01, false, 1, 0, 5001)
	f := &l.done(1)[0].Flows[0]
	if f.Vantage != AtReceiver || len(f.Episodes) != 1 {
		t.Fatalf("captured at %v, %d episodes, want the receiver and 1", f.Vantage, len(f.Episodes))
	}
	if e := f.Episodes[0]; e.Spurious != Necessary {
		t.Errorf("spurious: %v by %v, want no", e.Spurious, e.Evidence)
	}
}

// TestDSACKOfSeveral accounts for every retransmission that one DSACK covers.
func TestDSACKOfSeveral(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	for i := range 4 {
		l.send(100, true, 1+1000*i, 1000, 1)
	}
	for i := range 4 { // a timeout and its retransmissions
		l.send(400+float64(i)/10, true, 1+1000*i, 1000, 1)
	}
	l.send(410, false, 1, 0, 4001)
	dsack := func(p *capture.Packet) {
		o := &p.Header.Options
		o.SACK[0], o.NumSACK = tcp.SeqRange{Start: l.isn[0] + 1, End: l.isn[0] + 3001}, 1
	}
	l.send(450, false, 1, 0, 4001, dsack)
	e := l.only()
	reported := 0
	for i := range e.Retransmissions {
		if e.Retransmissions[i].Evidence == ByDSACK {
			reported++
		}
	}
	if reported != 3 {
		t.Errorf("the DSACK accounts for %d, want 3", reported)
	}
}

// TestSACKOfARetransmission judges a later segment's retransmission that arrives before an earlier
// one's.
func TestSACKOfARetransmission(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	for i := range 3 {
		l.send(100, true, 1+1000*i, 1000, 1)
	}
	l.send(150, false, 1, 0, 1001)
	l.send(260, true, 2001, 1000, 1) // the tail loss probe
	l.send(310, false, 1, 0, 1001, sacks([2]tcp.Seq{1000, 2000}))
	l.send(315, true, 1001, 1000, 1)
	l.send(365, false, 1, 0, 3001)
	e := l.only()
	if r := &e.Retransmissions[0]; r.Kind != TLP || r.Spurious != Necessary {
		t.Errorf("the probe is %v, spurious: %v, want tlp, no", r.Kind, r.Spurious)
	}
}

// TestCaptureAtFirstRouter distinguishes a host's router from the host, though all its packets have
// a full TTL: the handshake takes 30 ms there and back.
func TestCaptureAtFirstRouter(t *testing.T) {
	l := newLab(t, Config{})
	syn := func(p *capture.Packet) { p.Header.Options.HasMSS, p.Header.Options.MSS = true, 1460 }
	l.send(0, true, 0, 0, 0, withFlags(tcp.SYN), syn)
	l.send(50, false, 0, 0, 1, withFlags(tcp.SYN|tcp.ACK), syn)
	l.send(80, true, 1, 0, 1)
	for i := range 5 {
		ms := 100 + 100*float64(i)
		l.send(ms, true, 1+100*i, 100, 1+100*i)
		l.send(ms+50, false, 1+100*i, 100, 101+100*i)
		l.send(ms+80, true, 101+100*i, 0, 101+100*i)
	}
	c := l.done(1)[0]
	if got := c.Flows[0].Vantage; got != InTheMiddle {
		t.Errorf("captured at %v (%v), want the middle", got, c.VantageEvidence())
	}
}

// TestSilenceShorterThanATimeout attributes a retransmission to SACK, because no timer can have
// expired yet: Linux sets RACK's timer up to two jiffies late.
func TestSilenceShorterThanATimeout(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	l.send(100, true, 1, 1000, 1)
	l.send(150, false, 1, 0, 1001)
	l.send(160, true, 1001, 1000, 1)
	l.send(230, true, 2001, 1000, 1)
	l.send(280, false, 1, 0, 1001, sacks([2]tcp.Seq{1000, 2000}))
	l.send(295, true, 1001, 1000, 1)
	l.send(345, false, 1, 0, 3001)
	if e := l.only(); e.Kind != Fast {
		t.Errorf("%v after %v, want fast", e.Kind, e.D)
	}
}

// TestACKSkipsRetransmissions times out without SACK and goes back over four segments. The third
// and fourth had arrived. The third is retransmitted when the ACK of the second skips both. One
// duplicate ACK with no other cause shows that it arrived twice.
func TestACKSkipsRetransmissions(t *testing.T) {
	for _, test := range []struct {
		name string
		more []float64 // times of duplicate ACKs
		want Spuriousness
	}{
		{"as many as were jumped over", []float64{503}, Spurious},
		{"none", nil, Undecided},
		{"too late to be an answer", []float64{560}, Undecided},
		{"before, too: the third may have come before the second", []float64{498, 503}, Undecided},
	} {
		l := newLab(t, Config{})
		l.isn = [2]tcp.Seq{100, 200}
		noSACK := func(p *capture.Packet) { p.Header.Options.SACKPermitted = false }
		l.open(0, noSACK)
		for i := range 4 {
			l.send(100, true, 1+1000*i, 1000, 1)
		}
		l.send(150, false, 1, 0, 1) // the third and fourth have arrived
		l.send(150, false, 1, 0, 1)
		l.send(400, true, 1, 1000, 1)
		l.send(450, false, 1, 0, 1001)
		l.send(451, true, 1001, 1000, 1)
		l.send(451, true, 2001, 1000, 1)
		jumped := false
		for _, at := range append(test.more, 1000) {
			if at > 501 && !jumped {
				l.send(501, false, 1, 0, 4001)
				jumped = true
			}
			ack := 4001
			if at < 501 {
				ack = 1001
			}
			if at < 1000 {
				l.send(at, false, 1, 0, ack)
			}
		}
		r := l.only().Retransmissions
		if len(r) != 3 || r[2].Spurious != test.want || test.want == Spurious && r[2].Evidence != ByDupACK {
			t.Errorf("%s: %d retransmissions, the last spurious: %v by %v, want %v", test.name, len(r), r[len(r)-1].Spurious, r[len(r)-1].Evidence, test.want)
		}
	}
}

// TestReceiverKeepsNothingOutOfOrder captures at a receiver that drops what comes out of order. Its
// ACKs ask for each segment, so the retransmissions are necessary although the originals came.
func TestReceiverKeepsNothingOutOfOrder(t *testing.T) {
	l := atB{newLab(t, Config{})}
	l.open()
	l.send(200, true, 501, 500, 1)
	l.send(200.1, false, 1, 0, 1)
	l.send(201, true, 1001, 500, 1)
	l.send(201.1, false, 1, 0, 1)
	for i := range 3 {
		at := 500 + 100*float64(i)
		l.send(at, true, 1+500*i, 500, 1)
		l.send(at+0.1, false, 1, 0, 501+500*i)
	}
	f := &l.done(1)[0].Flows[0]
	if len(f.Episodes) == 0 || f.Vantage != AtReceiver {
		t.Fatalf("%d episodes at the %v, want one at the receiver", len(f.Episodes), f.Vantage)
	}
	n := 0
	for _, e := range f.Episodes {
		for _, r := range e.Retransmissions {
			if n++; r.Spurious != Necessary {
				t.Errorf("packet %d: spurious %v by %v, want necessary", r.Packet, r.Spurious, r.Evidence)
			}
		}
	}
	if n != 3 {
		t.Errorf("%d retransmissions, want 3", n)
	}
}

// TestReceiverAsksForWhatWasCaptured captures next to a receiver that an original does not reach.
// The receiver's later packets ask for it, so its retransmission is necessary.
func TestReceiverAsksForWhatWasCaptured(t *testing.T) {
	l := atB{newLab(t, Config{})}
	l.open()
	l.send(200, true, 1, 500, 1)
	l.send(500, true, 1, 500, 1)
	l.send(600, false, 1, 100, 1)
	l.send(900, true, 1, 500, 101)
	l.send(900.1, false, 101, 0, 501)
	f := &l.done(1)[0].Flows[0]
	if len(f.Episodes) != 1 {
		t.Fatalf("%d episodes, want 1", len(f.Episodes))
	}
	if e := f.Episodes[0]; e.Spurious != Necessary || e.TimeLost == 0 {
		t.Errorf("spurious %v by %v, %v lost, want a necessary retransmission and a stall", e.Spurious, e.Evidence, e.TimeLost)
	}
}

// TestSACKBlockCutOff has the first half of a SACK block, as 96 bytes of a packet over IPv6 with
// timestamps do. Below the ACK it reports a duplicate, above it a segment that arrived.
func TestSACKBlockCutOff(t *testing.T) {
	cut := func(start tcp.Seq) option {
		return func(p *capture.Packet) {
			p.Problems |= capture.OptionsCut
			sacks([2]tcp.Seq{start, start + 1})(p)
		}
	}
	below := tcp.Seq(0)
	below -= 1000
	l := newLab(t, Config{})
	l.open(0)
	l.send(100, true, 1, 1000, 1)
	l.send(230, true, 1, 1000, 1)
	l.send(250, false, 1, 0, 1001, cut(below))
	if e := l.only(); e.Spurious != Spurious || e.Evidence != ByDSACK {
		t.Errorf("spurious: %v by %v, want yes by dsack", e.Spurious, e.Evidence)
	}
	l = newLab(t, Config{})
	l.open(0)
	l.send(100, true, 1, 1000, 1)
	l.send(110, true, 1001, 1000, 1)
	l.send(160, false, 1, 0, 1, cut(1000))
	l.send(165, true, 1, 1000, 1)
	l.send(215, false, 1, 0, 2001)
	if e := l.only(); e.Kind != Fast {
		t.Errorf("%v, want fast", e.Kind)
	}
}

// TestSlowPathIsNoLoss probes after 110 ms. When the answer to the probe is long overdue, an ACK of
// the segment before it alone comes, and then the other one: both may be late by as much. Where the
// receiver only delays its ACK of the first segment, it comes in time.
func TestSlowPathIsNoLoss(t *testing.T) {
	for _, test := range []struct {
		name  string
		acked float64 // the segment before
		want  Spuriousness
		lost  bool
	}{
		{"slow", 329.9, Undecided, false},
		{"delayed ACK", 250, Necessary, true},
	} {
		l := newLab(t, Config{})
		l.open(0)
		l.send(100, true, 1, 500, 1)
		l.send(100.1, true, 501, 500, 1)
		l.send(210, true, 501, 500, 1)
		l.send(test.acked, false, 1, 0, 501)
		l.send(330, false, 1, 0, 1001)
		if e := l.only(); e.Spurious != test.want || e.TimeLost > 0 != test.lost {
			t.Errorf("%s: spurious: %v, %v lost, want %v, %v", test.name, e.Spurious, e.TimeLost, test.want, test.lost)
		}
	}
}

// TestTooEarlyForAnyAnswer holds a segment and its retransmission up before the point of capture.
// Their ACK, a round trip after either, shows nothing.
func TestTooEarlyForAnyAnswer(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	l.send(100, true, 1, 500, 1, withID(1))
	l.send(150, false, 1, 0, 501)
	l.send(900, true, 501, 500, 1, withID(2))
	l.send(920, true, 501, 500, 1, withID(3))
	l.send(975, false, 1, 0, 1001)
	if e := l.only(); e.Spurious != Undecided || e.TimeLost != 0 {
		t.Errorf("spurious: %v by %v, %v lost, want unknown, 0", e.Spurious, e.Evidence, e.TimeLost)
	}
}

// TestLateDataThatWasAcknowledged captures data two seconds after its ACK, which echoes its
// timestamp: it left before that ACK, and only once.
func TestLateDataThatWasAcknowledged(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0, withStamps(1000, 7))
	l.send(150, false, 1, 0, 501, withStamps(20, 1100))
	l.send(151, false, 1, 0, 1001, withStamps(21, 1101))
	l.send(2000, true, 1, 500, 1, withStamps(1100, 20))
	l.send(2001, true, 501, 500, 1, withStamps(1101, 20))
	l.send(2100, true, 1001, 500, 1, withStamps(3100, 21))
	l.send(2150, false, 1, 0, 1501, withStamps(2000, 3100))
	f := &l.done(1)[0].Flows[0]
	if len(f.Episodes) != 0 || f.Bytes != 1500 {
		t.Errorf("%d episodes of %d bytes, want 0 of 1500", len(f.Episodes), f.Bytes)
	}
}

// TestAskedForLongAgo captures at the receiver. Packets overtake one, three duplicate ACKs ask for
// it, and twenty segments are acknowledged before its retransmission comes: it is a fast one of the
// segment that came late.
func TestAskedForLongAgo(t *testing.T) {
	l := newLab(t, Config{})
	at := func(ms float64, fromA bool, seq, length, ack int, id uint32) {
		l.send(ms, fromA, seq, length, ack, withID(id), func(p *capture.Packet) {
			p.TTL = map[bool]uint8{true: 57, false: 64}[fromA]
			if seq == 0 {
				p.Header.Flags, p.Header.Options.HasMSS, p.Header.Options.MSS = tcp.SYN, true, 1460
				if !fromA {
					p.Header.Flags |= tcp.ACK
				}
			}
		})
	}
	at(0, true, 0, 0, 0, 100)
	at(0.01, false, 0, 0, 1, 1)
	at(50, true, 1, 0, 1, 101)
	at(60, true, 1, 1000, 1, 102)
	at(60.01, false, 1, 0, 1001, 2)
	for i := range 3 { // 104 to 106
		at(61+float64(i)/10, true, 2001+1000*i, 1000, 1, uint32(104+i))
		at(61.01+float64(i)/10, false, 1, 0, 1001, uint32(3+i))
	}
	at(61.5, true, 1001, 1000, 1, 103)
	at(61.51, false, 1, 0, 5001, 6)
	for i := range 20 {
		at(62+float64(i), true, 5001+1000*i, 1000, 1, uint32(107+i))
		at(62.01+float64(i), false, 1, 0, 6001+1000*i, uint32(7+i))
	}
	at(112, true, 1001, 1000, 1, 127)
	at(112.01, false, 1, 0, 25001, 27)
	e := l.only()
	if e.Kind != Fast || e.Spurious != Spurious || e.FirstPacket != 12 || e.D < 50*ms || e.D > 52*ms {
		t.Errorf("%v after %v, spurious: %v, first packet %d, want fast after 51ms, yes, 12", e.Kind, e.D, e.Spurious, e.FirstPacket)
	}
}

// TestOldAndNewDataIsNoProbe retransmits a segment with new data behind it: a stack that cuts its
// stream again does that after a timeout. A probe sends one or the other.
func TestOldAndNewDataIsNoProbe(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	l.send(100, true, 1, 10, 1)
	l.send(150, false, 1, 0, 11)
	l.send(200, true, 11, 10, 1)
	l.send(400, true, 11, 60, 1)
	l.send(450, false, 1, 0, 71)
	if e := l.only(); e.Kind != RTO {
		t.Errorf("%v, want rto", e.Kind)
	}
}
