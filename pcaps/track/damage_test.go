package track

import (
	"testing"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// TestDamagedFieldMovesNothing damages a sequence number by 400 MB and an acknowledgement by 300
// MB. One packet alone is not believed.
func TestDamagedFieldMovesNothing(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	l.send(100, true, 1, 500, 1)
	l.send(150, false, 1, 0, 501)
	l.send(200, true, 402_653_197, 500, 1)
	l.send(210, true, 501, 500, 1)
	l.send(260, false, 1, 0, 300_000_000)
	l.send(270, false, 1, 0, 1001)
	l.send(300, true, 1001, 500, 1)
	l.send(350, false, 1, 0, 1501)
	if f := &l.wantClean(1)[0].Flows[0]; f.UnseenBytes != 0 || f.Bytes != 1500 {
		t.Errorf("%d bytes unseen, %d in all, want 0 and 1500", f.UnseenBytes, f.Bytes)
	}
}

// TestGapOfTheCapture misses 30 MB. The second packet behind the gap proves it.
func TestGapOfTheCapture(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	l.send(100, true, 1, 500, 1)
	l.send(150, false, 1, 0, 501)
	l.send(1000, true, 30_000_001, 500, 1)
	l.send(1001, true, 30_000_501, 500, 1)
	l.send(1051, false, 1, 0, 30_001_001)
	if f := &l.wantClean(1)[0].Flows[0]; f.Bytes != 1000 || f.UnseenBytes+f.Bytes < 1000 {
		t.Errorf("%d bytes, %d unseen", f.Bytes, f.UnseenBytes)
	}
}

// TestRoundTripOfZero captures with a clock too coarse for most round trips: 0 is no sample, and if
// most are 0 the others measure the clock.
func TestRoundTripOfZero(t *testing.T) {
	l := newLab(t, Config{})
	l.send(0, true, 0, 0, 0, withFlags(2))
	l.send(0, false, 0, 0, 1, withFlags(18))
	for i := range 10 {
		l.send(float64(10*i), true, 1+100*i, 100, 1)
		l.send(float64(10*i), false, 1, 0, 101+100*i)
	}
	l.send(100, true, 1001, 100, 1)
	l.send(110, false, 1, 0, 1101)
	if f := &l.wantClean(1)[0].Flows[0]; f.RTT.Samples != 0 || f.RTT.Min != 0 {
		t.Errorf("RTT %+v, want none", f.RTT)
	}
	l = newLab(t, Config{})
	l.open(0)
	l.send(100, true, 1, 100, 1)
	l.send(100, false, 1, 0, 101)
	for i := range 3 {
		l.send(float64(200+100*i), true, 101+100*i, 100, 1)
		l.send(float64(210+100*i), false, 1, 0, 201+100*i)
	}
	if f := &l.wantClean(1)[0].Flows[0]; f.RTT.Samples != 4 || f.RTT.Min != 10*ms {
		t.Errorf("RTT %+v, want 4 samples from 10ms on", f.RTT)
	}
}

// TestACKOfSYNIsNotDelayed has a SYN-ACK take 100 ms longer than other ACKs: no delayed ACK.
func TestACKOfSYNIsNotDelayed(t *testing.T) {
	l := newLab(t, Config{})
	l.send(0, true, 0, 0, 0, withFlags(2))
	l.send(150, false, 0, 0, 1, withFlags(18))
	for i := range 5 {
		l.send(float64(200+100*i), true, 1+100*i, 100, 1)
		l.send(float64(250+100*i), false, 1, 0, 101+100*i)
	}
	if d := l.wantClean(1)[0].Flows[0].Delayed; d.Count != 0 {
		t.Errorf("%d delayed ACKs, want none", d.Count)
	}
}

// TestOriginIsTheFirstPacketOfTheFile counts a packet's time as Wireshark does, not from the first
// packet with TCP.
func TestOriginIsTheFirstPacketOfTheFile(t *testing.T) {
	l := newLab(t, Config{})
	since := func(p *capture.Packet) { p.Since = 2 * 1000 * ms }
	l.send(0, true, 0, 0, 0, withFlags(2), since)
	if c := l.done(1)[0]; c.First.Sub(c.Origin) != 2000*ms || c.First != wheel.Time(3600*1000*ms) {
		t.Errorf("first packet %v after the origin, want 2s", c.First.Sub(c.Origin))
	}
}

// TestAcknowledgedBeforeIsNoLoss retransmits what an ACK had covered, because that ACK was lost
// between the point of capture and the sender.
func TestAcknowledgedBeforeIsNoLoss(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	l.send(100, true, 1, 500, 1, withStamps(10, 1))
	l.send(150, false, 1, 0, 501, withStamps(5, 10))
	l.send(400, true, 1, 500, 1, withStamps(40, 1)) // echoes no ACK of it
	l.send(450, false, 1, 0, 501, withStamps(35, 10))
	if e := l.only(); e.Spurious != Spurious || e.Evidence != ByCapture {
		t.Errorf("spurious %v by %v, want yes by capture", e.Spurious, e.Evidence)
	}
}

// TestStormOfCopies captures 2000 packets within 5 ms, and each of them again behind a router 2 ms
// later.
func TestStormOfCopies(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	behind := func(p *capture.Packet) { p.TTL-- }
	const n, copied = 2000, 800
	for i := range n + copied {
		at := 100 + float64(i)*0.0025
		if i < n {
			l.send(at, true, 1+10*i, 10, 1, withID(uint32(1+i)))
		}
		if k := i - copied; k >= 0 && k < n {
			l.send(at, true, 1+10*k, 10, 1, withID(uint32(1+k)), behind)
		}
	}
	l.send(150, false, 1, 0, 1+10*n)
	if c := l.wantClean(1)[0]; c.Copies != n {
		t.Errorf("%d copies, want %d", c.Copies, n)
	}
}

// TestBareACKBeyondTheWindow damages the sequence number of a bare ACK by 512 KB, where the window
// is 1000 bytes.
func TestBareACKBeyondTheWindow(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	l.send(100, true, 1, 500, 1)
	l.send(150, false, 1, 0, 501)
	l.send(200, true, 524_789, 0, 1)
	l.send(210, true, 501, 500, 1)
	l.send(260, false, 1, 0, 1001)
	if f := &l.wantClean(1)[0].Flows[0]; f.UnseenBytes != 0 || f.Bytes != 1000 {
		t.Errorf("%d bytes unseen, %d in all, want 0 and 1000", f.UnseenBytes, f.Bytes)
	}
}

// TestDamagedACKIsRefuted acknowledges 3840 bytes that were never sent. The next ACK acknowledges
// less, so that what the host sends then is new.
func TestDamagedACKIsRefuted(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	l.send(100, true, 1, 500, 1)
	l.send(150, false, 1, 0, 4341)
	l.send(1000, true, 501, 500, 1)
	l.send(1050, false, 1, 0, 1001)
	for i := range 4 {
		l.send(float64(2000+i), true, 1001+500*i, 500, 1)
	}
	l.send(2053, false, 1, 0, 3001)
	if f := &l.wantClean(1)[0].Flows[0]; f.UnseenBytes != 0 || f.max != 3001 {
		t.Errorf("%d bytes unseen, SND.NXT %d, want 0 and 3001", f.UnseenBytes, f.max)
	}
}

// TestAcknowledgedIsNotDamaged changes some checksums in the file. The first ACK of such a packet
// proves that its receiver had it.
func TestAcknowledgedIsNotDamaged(t *testing.T) {
	whole := func(p *packet) { p.Payload = make([]byte, p.Len) }
	wrong := func(p *packet) { p.Payload = []byte("x"); p.Problems |= capture.BadChecksum }
	l := newLab(t, Config{})
	l.open(0, whole)
	for i := range 9 {
		sum := []option{whole, whole, wrong}[i%3]
		l.send(float64(100*i+100), true, 1+500*i, 500, 1, sum)
		l.send(float64(100*i+150), false, 1, 0, 501+500*i, whole)
	}
	c := l.wantClean(1)[0]
	if f := &c.Flows[0]; c.BadChecksums != 1 || f.UnseenBytes != 500 || f.Bytes != 4000 {
		t.Errorf("%d dropped, %d bytes unseen, %d captured, want 1, 500 and 4000", c.BadChecksums, f.UnseenBytes, f.Bytes)
	}
}

// TestDataRefutesFIN has a damaged ACK with the flag FIN. The data that follows has its sequence
// number, so it is new.
func TestDataRefutesFIN(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	l.send(100, true, 1, 500, 1)
	l.send(150, false, 1, 0, 501)
	l.send(160, true, 501, 0, 1, withFlags(tcp.ACK|tcp.FIN))
	for i := range 3 {
		l.send(float64(1000*i+1000), true, 501+500*i, 500, 1)
		l.send(float64(1000*i+1050), false, 1, 0, 1001+500*i)
	}
	if f := &l.wantClean(1)[0].Flows[0]; f.Bytes != 2000 || f.max != 2001 {
		t.Errorf("%d bytes, SND.NXT %d, want 2000 and 2001", f.Bytes, f.max)
	}
}

// TestFirstACKIsRefuted begins with a damaged ACK, 11 kB ahead of what the host has sent, and a
// damaged bare ACK of that host. Later ACKs acknowledge less, so what it sends is new.
func TestFirstACKIsRefuted(t *testing.T) {
	wrong := func(p *capture.Packet) { p.Problems |= capture.BadChecksum }
	l := newLab(t, Config{})
	l.send(0, true, 1, 0, 11265, wrong)
	l.send(2, true, 1, 300, 1)
	l.send(3, false, 524_289, 0, 301, wrong)
	l.send(4, false, 1, 90, 301)
	l.send(300, true, 301, 0, 91)
	l.send(400, false, 91, 500, 301)
	l.send(401, true, 301, 0, 591)
	if f := &l.wantClean(1)[0].Flows[1]; f.UnseenBytes != 0 {
		t.Errorf("%d bytes unseen, want 0", f.UnseenBytes)
	}
}

// TestCopyWithADamagedField captures a packet twice within 8 µs, and damages the acknowledgement of
// one. The identification shows that it is no retransmission.
func TestCopyWithADamagedField(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	l.send(100, true, 1, 13, 1, withID(9))
	l.send(100.008, true, 1, 13, 900_000_000, withID(9))
	l.send(150, false, 1, 0, 14)
	if c := l.wantClean(1)[0]; c.Copies != 1 {
		t.Errorf("%d copies, want 1", c.Copies)
	}
}

// TestTwiceOnLoopback captures each packet twice where the round trip is shorter than the time
// between both captures, and nothing but time and ACKs tells a copy from a retransmission.
func TestTwiceOnLoopback(t *testing.T) {
	for _, apart := range []float64{0.03, 0.3} {
		l := newLab(t, Config{})
		at := 0.0
		twice := func(fromA bool, seq, length, ack int, options ...option) {
			l.send(at, fromA, seq, length, ack, options...)
			defer l.send(at+apart, fromA, seq, length, ack, options...)
			at += apart + 0.01
		}
		twice(true, 0, 0, 0, withFlags(tcp.SYN))
		twice(false, 0, 0, 1, withFlags(tcp.SYN|tcp.ACK))
		for i := range 10 {
			twice(true, 1+100*i, 100, 1)
			twice(false, 1, 0, 101+100*i)
			at += 5
		}
		twice(true, 1001, 0, 1, withFlags(tcp.FIN|tcp.ACK))
		if c := l.wantClean(1)[0]; c.Copies < 13 {
			t.Errorf("%v ms apart: %d copies, want those of all segments", apart, c.Copies)
		}
	}
	// An ACK asks for the second transmission, 0.1 ms later: it is a retransmission.
	l := newLab(t, Config{})
	for i := range 4 {
		l.send(float64(i), true, 1+100*i, 100, 1)
		l.send(float64(i)+0.02, false, 1, 0, 101+100*i)
	}
	l.send(10, true, 401, 100, 1)
	l.send(10, true, 501, 100, 1)
	l.send(10.02, false, 1, 0, 401, sacks([2]tcp.Seq{100, 200}))
	l.send(10.1, true, 401, 100, 1)
	l.send(10.12, false, 1, 0, 601)
	if e := l.only(); e.DetectedPacket != 12 {
		t.Errorf("packet %d opens an episode, want 12", e.DetectedPacket)
	}
}

// TestDuplicateACKsOfMirrors captures each packet twice, without identifications: at another place,
// or at the same. Duplicate ACKs with equal fields are no copies of each other.
func TestDuplicateACKsOfMirrors(t *testing.T) {
	for _, ttl := range []uint8{0, 1} {
		l := newLab(t, Config{})
		twice := func(at float64, fromA bool, seq, length, ack int, options ...option) {
			l.send(at, fromA, seq, length, ack, options...)
			l.send(at+0.01, fromA, seq, length, ack, append(options, func(p *capture.Packet) { p.TTL -= ttl })...)
		}
		for i := range 10 {
			twice(float64(60*i), true, 1+100*i, 100, 1)
			twice(float64(60*i+50), false, 1, 0, 101+100*i)
		}
		for i := range 5 {
			twice(1000+float64(i), true, 1001+100*i, 100, 1)
		}
		for i := range 4 {
			twice(1051+float64(i)/5, false, 1, 0, 1001) // within 0.5 ms of each other
		}
		twice(1052, true, 1001, 100, 1)
		twice(1102, false, 1, 0, 1501)
		if e := l.only(); e.Kind != Fast {
			t.Errorf("TTL less %d: kind %v, want %v", ttl, e.Kind, Fast)
		}
	}
}

// TestLateCopies captures data twice, 7 ms apart, without identifications and timestamps. Where
// other packets have copies, at another place, no packet that nothing asked for is a loss;
// elsewhere it is one that nothing explains.
func TestLateCopies(t *testing.T) {
	for _, copied := range []bool{false, true} {
		l := newLab(t, Config{})
		l.open(0)
		elsewhere := func(p *capture.Packet) { p.TTL -= 2 }
		for i := range 10 {
			at := float64(60 * i)
			l.send(100+at, true, 1+100*i, 100, 1)
			if copied {
				l.send(101+at, true, 1+100*i, 100, 1, elsewhere)
			}
			if i == 5 {
				l.send(107+at, true, 1+100*i, 100, 1)
			}
			l.send(150+at, false, 1, 0, 101+100*i)
		}
		f := &l.done(1)[0].Flows[0]
		if want := 1; copied && len(f.Episodes) != 0 || !copied && (len(f.Episodes) != want || f.Episodes[0].Kind != Unknown) {
			t.Errorf("copied %t: %d episodes", copied, len(f.Episodes))
		}
	}
}

// TestACKCapturedBeforeItsRepair captures, at the receiver, what it sends 1 ms before what it gets.
// The ACK of a repair is no ACK of the original, which was lost before the capture.
func TestACKCapturedBeforeItsRepair(t *testing.T) {
	l := newLab(t, Config{})
	late := func(p *capture.Packet) { p.Time = p.Time.Add(ms) }
	l.send(0, false, 0, 0, 1, withFlags(tcp.SYN|tcp.ACK))
	l.send(0, true, 0, 0, 0, withFlags(tcp.SYN), late)
	l.send(50, true, 1, 0, 1, late)
	at := 100.0
	for i := range 10 {
		l.send(at+0.1, false, 1, 0, 101+100*i)
		l.send(at, true, 1+100*i, 100, 1, late)
		at += 60
	}
	l.send(at, true, 1101, 100, 1, late)
	l.send(at+2, false, 1, 0, 1001, sacks([2]tcp.Seq{100, 200}))
	l.send(at+300.1, false, 1, 0, 1201)
	l.send(at+300, true, 1001, 100, 1, late)
	l.send(at+400, true, 1201, 100, 1, late)
	l.send(at+402, false, 1, 0, 1301)
	if e := l.only(); e.Spurious == Spurious {
		t.Errorf("spurious %v by %v, want no or unknown", e.Spurious, e.Evidence)
	}
}

// TestLagByAnACKThatOvertook captures, at the receiver, what it gets 1 ms later than what it sends.
// It delays ACKs of single segments by 40 ms. The ACK of a pair leaves at once and is captured
// before the pair, so the 40 ms are no path to it.
func TestLagByAnACKThatOvertook(t *testing.T) {
	for _, pair := range []bool{false, true} {
		l := newLab(t, Config{})
		late := func(p *capture.Packet) { p.Time = p.Time.Add(ms) }
		l.send(50, true, 1, 0, 1, late)
		for i := range 4 {
			at := 100 * float64(i+1)
			l.send(at, true, 1+100*i, 100, 1, late)
			l.send(at+40, false, 1, 0, 101+100*i)
		}
		if pair {
			l.send(500, false, 1, 0, 601)
			l.send(500, true, 401, 100, 1, late)
			l.send(500, true, 501, 100, 1, late)
		}
		lag := l.done(1)[0].Flows[1].Lag()
		if want := 39 * ms; pair && lag != 0 || !pair && lag != want {
			t.Errorf("an ACK that overtook %t: a lag of %v", pair, lag)
		}
	}
}
