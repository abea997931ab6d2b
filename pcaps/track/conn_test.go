package track

import (
	"testing"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
)

type packet = capture.Packet

func TestPortReuse(t *testing.T) {
	for name, end := range map[string]func(l *lab){
		"after FINs": func(l *lab) {
			l.send(100, true, 101, 0, 1, withFlags(tcp.FIN|tcp.ACK))
			l.send(150, false, 1, 0, 102, withFlags(tcp.FIN|tcp.ACK))
			l.send(150, true, 102, 0, 2)
		},
		"after a reset": func(l *lab) { l.send(100, false, 1, 0, 1, withFlags(tcp.RST|tcp.ACK)) },
		"after nothing": func(l *lab) {},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, Config{})
			l.open(0)
			l.send(60, true, 1, 100, 1)
			l.send(110, false, 1, 0, 101)
			end(l)
			l.isn[0] += 1 << 20
			l.open(1000)
			l.wantClean(2)
			if l.conns[0].End == Open || l.conns[1].End != Open || !l.conns[1].Handshake.Complete {
				t.Errorf("ends %v and %v", l.conns[0].End, l.conns[1].End)
			}
		})
	}
}

// TestSameNumberAfterTheEnd starts a connection with the sequence number of the one that has just
// ended, as where a capture is read twice.
func TestSameNumberAfterTheEnd(t *testing.T) {
	l := newLab(t, Config{})
	for i := range 2 {
		at := 10_000 * float64(i)
		l.open(at)
		l.send(at+100, true, 1, 0, 1, withFlags(tcp.FIN|tcp.ACK))
		l.send(at+150, false, 1, 0, 2, withFlags(tcp.FIN|tcp.ACK))
		l.send(at+150, true, 2, 0, 2)
	}
	l.wantClean(2)
}

// TestRetransmittedSYN retransmits a SYN: a loss, not another connection.
func TestRetransmittedSYN(t *testing.T) {
	l := newLab(t, Config{})
	l.send(0, true, 0, 0, 0, withFlags(tcp.SYN))
	l.send(1000, true, 0, 0, 0, withFlags(tcp.SYN))
	l.send(3000, true, 0, 0, 0, withFlags(tcp.SYN))
	l.send(3050, false, 0, 0, 1, withFlags(tcp.SYN|tcp.ACK))
	l.send(3050, true, 1, 0, 1)
	e := l.only()
	if e.Kind != SYN || e.Total != 2 || e.D != time.Second || e.A != 2*time.Second || e.P != 50*ms {
		t.Errorf("%v, %d, D %v A %v P %v, want syn 2 1s 2s 50ms", e.Kind, e.Total, e.D, e.A, e.P)
	}
}

// TestMirroredPacketsAreCopies captures every packet twice, as a mirror port does, with and without
// IP identifications.
func TestMirroredPacketsAreCopies(t *testing.T) {
	for _, ids := range []bool{true, false} {
		l := newLab(t, Config{})
		id := uint32(0)
		both := func(at float64, fromA bool, seq, length, ack int, options ...option) {
			id++
			if ids {
				options = append(options, withID(id))
			}
			l.send(at, fromA, seq, length, ack, options...)
			l.send(at+0.02, fromA, seq, length, ack, append(options, func(p *packet) { p.Interface, p.TTL = 1, p.TTL-1 })...)
		}
		both(0, true, 0, 0, 0, withFlags(tcp.SYN))
		both(50, false, 0, 0, 1, withFlags(tcp.SYN|tcp.ACK))
		both(50.1, true, 1, 0, 1)
		for i := range 20 {
			at := 100 * float64(i+1)
			both(at, true, 1+500*i, 500, 1)
			both(at+50, false, 1, 0, 501+500*i)
		}
		c := l.wantClean(1)[0]
		// Without identifications, ACKs count as copies only after data packets have.
		if want := int64(43); c.Copies > want || c.Copies < want-16 || ids && c.Copies != want {
			t.Errorf("identifications %v: %d copies, want %d", ids, c.Copies, want)
		}
	}
}

// TestCaptureOfTheMiddle follows a connection without its handshake and its end.
func TestCaptureOfTheMiddle(t *testing.T) {
	l := newLab(t, Config{})
	for i := range 10 {
		at := 100 * float64(i)
		l.send(at, true, 5000+100*i, 100, 1)
		l.send(at+50, false, 1, 0, 5100+100*i)
	}
	l.send(2000, true, 6000, 100, 1)
	l.send(2300, true, 6000, 100, 1)
	e := l.only()
	if e.Kind != RTO || e.Repaired || e.Closed || e.D != 300*ms {
		t.Errorf("%v, repaired %v, closed %v, D %v, want rto false false 300ms", e.Kind, e.Repaired, e.Closed, e.D)
	}
	if c := l.conns[0]; c.End != Open || c.Handshake.Complete || c.Flows[0].HasSYN {
		t.Errorf("%v, handshake %+v", c.End, c.Handshake)
	}
}

// TestUncapturedDataIsNoLoss acknowledges bytes that were never captured: no loss.
func TestUncapturedDataIsNoLoss(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	l.send(100, true, 1, 500, 1)
	l.send(150, false, 1, 0, 1001)  // bytes 501 to 1000 were missed
	l.send(200, true, 1501, 500, 1) // and 1001 to 1500, too
	l.send(250, false, 1, 0, 2001)
	l.send(300, true, 2001, 500, 1)
	l.send(350, false, 1, 0, 2501)
	f := &l.wantClean(1)[0].Flows[0]
	if f.UnseenBytes != 500 || f.Bytes != 1500 {
		t.Errorf("%d bytes unseen, %d seen, want 500 and 1500", f.UnseenBytes, f.Bytes)
	}
}

// TestACKCapturedBeforeData captures an ACK before the data, as network cards with several queues
// do.
func TestACKCapturedBeforeData(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	l.send(100, false, 1, 0, 501)
	l.send(100.1, true, 1, 500, 1)
	l.send(150, true, 501, 500, 1)
	l.send(200, false, 1, 0, 1001)
	if f := &l.wantClean(1)[0].Flows[0]; f.UnseenBytes != 0 {
		t.Errorf("%d bytes unseen, want 0", f.UnseenBytes)
	}
}

// TestClockSteps sets the capture clock back. No duration becomes negative, and later ones are
// right.
func TestClockSteps(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	l.send(100, true, 1, 500, 1)
	l.send(-4850, false, 1, 0, 501) // 5 s back: this is 150 ms
	l.send(-4800, true, 501, 500, 1)
	l.send(-4500, true, 501, 500, 1)
	l.send(-4450, false, 1, 0, 1001)
	e := l.only()
	if e.D != 300*ms || e.P != 50*ms || l.conns[0].ClockSteps != 1 {
		t.Errorf("D %v, P %v, %d steps, want 300ms 50ms 1", e.D, e.P, l.conns[0].ClockSteps)
	}
}

// TestSuperPacketsAreCut sends a super-packet of four segments. The third is lost and
// retransmitted.
func TestSuperPacketsAreCut(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	l.send(100, true, 1, 4*1460, 1)
	l.send(150, false, 1, 0, 2921)
	l.send(150.1, false, 1, 0, 2921, sacks([2]tcp.Seq{1460, 2920}))
	l.send(160, true, 2921, 1460, 1)
	l.send(210, false, 1, 0, 5841)
	e := l.only()
	if e.Kind != Fast || e.Bytes != 1460 || e.D != 60*ms {
		t.Errorf("%v, %d bytes, D %v, want fast 1460 60ms", e.Kind, e.Bytes, e.D)
	}
	if f := &l.conns[0].Flows[0]; f.DataPackets != 2 || f.Bytes != 5840 {
		t.Errorf("%d packets, %d bytes, want 2 and 5840", f.DataPackets, f.Bytes)
	}
}

func TestKeepalives(t *testing.T) {
	for _, bytes := range []int{0, 1} {
		l := newLab(t, Config{})
		l.open(0)
		l.send(100, true, 1, 500, 1)
		l.send(150, false, 1, 0, 501)
		for i := range 3 {
			at := 10000 * float64(i+1)
			l.send(at, true, 500, bytes, 1)
			l.send(at+50, false, 1, 0, 501)
		}
		if f := &l.wantClean(1)[0].Flows[0]; f.Keepalives != 3 || f.WindowProbes != 0 {
			t.Errorf("bytes %d: %d keepalives, %d probes, want 3 and 0", bytes, f.Keepalives, f.WindowProbes)
		}
	}
}

// TestZeroWindow closes the window, probes it in both ways, and opens it. No probe is a loss, nor
// is the data that begins with the byte of a probe.
func TestZeroWindow(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	l.send(100, true, 1, 500, 1)
	l.send(150, false, 1, 0, 501, withWindow(0))
	l.send(400, true, 500, 0, 1) // as Linux does
	l.send(450, false, 1, 0, 501, withWindow(0))
	l.send(1000, true, 501, 1, 1) // as BSD does
	l.send(1050, false, 1, 0, 501, withWindow(0))
	l.send(2000, true, 501, 1, 1)
	l.send(2050, false, 1, 0, 502, withWindow(100))
	l.send(2060, true, 502, 100, 1)
	l.send(2110, false, 1, 0, 602, withWindow(0))
	l.send(2500, true, 602, 1, 1)
	l.send(2550, false, 1, 0, 602, withWindow(0))
	l.send(2560, false, 1, 0, 602, withWindow(900))
	l.send(2570, true, 602, 300, 1)
	l.send(2620, false, 1, 0, 902, withWindow(900))
	l.wantClean(1)
	if f := &l.conns[0].Flows[0]; f.WindowProbes != 4 || f.ZeroWindows != 5 || f.ZeroWindowTime != 2350*ms || f.Keepalives != 0 || f.Bytes != 901 {
		t.Errorf("%d probes, %d zero windows, closed for %v, %d keepalives, %d bytes, want 4 5 2.35s 0 901", f.WindowProbes, f.ZeroWindows, f.ZeroWindowTime, f.Keepalives, f.Bytes)
	}
}

// TestSimultaneousCloseIsNoLoss closes both ends at once. Some stacks acknowledge with a second
// FIN.
func TestSimultaneousCloseIsNoLoss(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	fin := withFlags(tcp.FIN | tcp.ACK)
	l.send(100, true, 1, 0, 1, fin)
	l.send(100.1, false, 1, 0, 1, fin)
	l.send(100.2, true, 1, 0, 2, fin)
	l.send(150, false, 2, 0, 2)
	l.wantClean(1)
}

// TestEvictsIdleConnection evicts the connection that was idle longest.
func TestEvictsIdleConnection(t *testing.T) {
	l := newLab(t, Config{MaxConns: 3})
	for i := range 5 {
		l.open(1000*float64(i), withPort(uint16(5000+i)))
		l.send(1000*float64(i)+60, true, 1, 100, 1, withPort(5000)) // the first one stays busy
	}
	conns := l.done(5)
	if l.tr.Evicted() != 2 || conns[0].Flows[0].Src.Port() != 5001 || conns[1].Flows[0].Src.Port() != 5002 || conns[0].End != Evicted {
		t.Errorf("%d evicted, first %v and %v", l.tr.Evicted(), conns[0].Flows[0].Src, conns[1].Flows[0].Src)
	}
}

// TestReorderingIsNoLoss reorders segments before the point of capture.
func TestReorderingIsNoLoss(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	for i := range 10 {
		at := 100 * float64(i+1)
		l.send(at, false, 1001+2000*i, 1000, 1)
		l.send(at, true, 1, 0, 1+2000*i, sacks([2]tcp.Seq{1000, 2000}))
		l.send(at+3, false, 1+2000*i, 1000, 1)
		l.send(at+3, true, 1, 0, 2001+2000*i)
	}
	if f := &l.wantClean(1)[0].Flows[1]; f.Reordered < 10 {
		t.Errorf("%d out of order, want 10 at least", f.Reordered)
	}
}

// TestDirectionsOnDifferentPaths tags the packets of one direction only, then mirrors a connection
// with and without tags.
func TestDirectionsOnDifferentPaths(t *testing.T) {
	tag := func(p *packet) { p.Path = 7 }
	l := newLab(t, Config{})
	l.send(0, true, 0, 0, 0, withFlags(tcp.SYN), tag)
	l.send(50, false, 0, 0, 1, withFlags(tcp.SYN|tcp.ACK))
	l.send(50, true, 1, 0, 1, tag)
	l.send(60, true, 1, 100, 1, tag)
	l.send(110, false, 1, 0, 101)
	if c := l.wantClean(1)[0]; !c.Handshake.Complete || len(l.tr.conns.all()) != 0 {
		t.Errorf("handshake %+v, %d keys left", c.Handshake, len(l.tr.conns.all()))
	}

	l = newLab(t, Config{})
	for _, options := range [][]option{{withFlags(tcp.SYN)}, {withFlags(tcp.SYN), tag}} {
		l.send(0, true, 0, 0, 0, options...)
	}
	for _, options := range [][]option{{withFlags(tcp.SYN | tcp.ACK)}, {withFlags(tcp.SYN | tcp.ACK), tag}} {
		l.send(50, false, 0, 0, 1, options...)
	}
	if c := l.wantClean(1)[0]; c.Copies != 2 || c.Packets != 4 {
		t.Errorf("%d copies of %d packets, want 2 of 4", c.Copies, c.Packets)
	}
}

// TestIPIDOrdersPackets fills a gap at once, by an older and by a newer packet.
func TestIPIDOrdersPackets(t *testing.T) {
	for _, again := range []bool{false, true} {
		l := newLab(t, Config{})
		for i := range 4 {
			l.send(float64(i)/10, false, 1+1000*i, 1000, 1, withID(uint32(60+i)))
		}
		for i := range 4 {
			l.send(50+float64(i)/10, false, 5001+1000*i, 1000, 1, withID(uint32(65+i)))
			l.send(50.05+float64(i)/10, true, 1, 0, 4001, sacks([2]tcp.Seq{1000, tcp.Seq(2000 + 1000*i)}))
		}
		id := uint32(64)
		if again {
			id = 69
		}
		l.send(50.4, false, 4001, 1000, 1, withID(id))
		l.send(50.45, true, 1, 0, 9001)
		c := l.done(1)[0]
		f := &c.Flows[0]
		if f.Src.Port() != 80 {
			f = &c.Flows[1]
		}
		if again != (len(f.Episodes) == 1) || again == (f.Reordered > 0) {
			t.Errorf("retransmitted %v: %d episodes, %d out of order", again, len(f.Episodes), f.Reordered)
		}
		if again && len(f.Episodes) == 1 && f.Episodes[0].Kind != Fast {
			t.Errorf("%v, want fast", f.Episodes[0].Kind)
		}
	}
}

// TestPacketsOnTwoPathsAreCopies captures every packet twice: on both sides of a router between
// VLANs, or inside and outside of a tunnel. Retransmissions are still losses. The same ends
// elsewhere with other numbers are another connection.
func TestPacketsOnTwoPathsAreCopies(t *testing.T) {
	for _, ids := range []bool{true, false} {
		l := newLab(t, Config{})
		id := uint32(0)
		both := func(at float64, fromA bool, seq, length, ack int, options ...option) {
			id++
			if ids {
				options = append(options, withID(id))
			}
			l.send(at, fromA, seq, length, ack, append(options, withPath(1<<32|5))...)
			l.send(at+0.6, fromA, seq, length, ack, append(options, withPath(1<<40|9))...)
		}
		both(0, true, 0, 0, 0, withFlags(tcp.SYN))
		both(50, false, 0, 0, 1, withFlags(tcp.SYN|tcp.ACK))
		both(50.7, true, 1, 0, 1)
		for i := range 20 {
			at := 100 * float64(i+1)
			both(at, true, 1+500*i, 500, 1)
			if i == 10 {
				both(at+300, true, 1+500*i, 500, 1)
				at += 30
			}
			if i >= 10 {
				at += 300
			}
			both(at+50, false, 1, 0, 501+500*i)
		}
		l.isn[0] += 1 << 28
		l.send(5000, true, 1, 500, 1, withPath(1<<41|7), withID(5000))
		c := l.done(2)[0]
		if f := &c.Flows[0]; c.Copies != c.Packets/2 || len(f.Episodes) != 1 || f.Retransmissions != 1 || f.Episodes[0].D != 300*ms {
			t.Errorf("identifications %v: %d copies of %d packets, %d episodes, %d retransmissions", ids, c.Copies, c.Packets, len(f.Episodes), f.Retransmissions)
		}
	}
}

// TestWrongChecksums reads a file with changed addresses, whose checksums are all wrong, and one
// with damaged packets.
func TestWrongChecksums(t *testing.T) {
	whole := func(p *packet) { p.Payload = make([]byte, p.Len) }
	wrong := func(p *packet) { whole(p); p.Problems |= capture.BadChecksum }
	run := func(sum func(i int) option) *Conn {
		l := newLab(t, Config{})
		l.open(0, sum(0))
		for i := range 20 {
			at := 100 * float64(i+1)
			l.send(at, true, 1+500*i, 500, 1, sum(0))
			if i == 10 {
				l.send(at+40, true, 1+500*i, 500, 1, sum(1), withWindow(999))
			}
			l.send(at+50, false, 1, 0, 501+500*i, sum(0))
		}
		return l.done(1)[0]
	}
	c := run(func(int) option { return wrong })
	if c.BadChecksums != 0 || c.BadChecksumsUsed != c.Packets || c.Flows[0].Bytes != 10_000 || c.Flows[0].Retransmissions != 1 || !c.Handshake.Complete {
		t.Errorf("all wrong: %d dropped, %d used, of %d; %d bytes", c.BadChecksums, c.BadChecksumsUsed, c.Packets, c.Flows[0].Bytes)
	}
	c = run(func(i int) option { return []option{whole, wrong}[i] })
	if c.BadChecksums != 1 || c.BadChecksumsUsed != 0 || c.Flows[0].Retransmissions != 0 {
		t.Errorf("one wrong: %d dropped, %d used, %d retransmissions", c.BadChecksums, c.BadChecksumsUsed, c.Flows[0].Retransmissions)
	}
}

// TestSimultaneousOpen opens simultaneously: the SYN-ACK has the number of the earlier SYN (RFC
// 9293 §3.5, Figure 8). Only a second SYN-ACK is a retransmission.
func TestSimultaneousOpen(t *testing.T) {
	for _, again := range []bool{false, true} {
		l := newLab(t, Config{})
		l.send(0, true, 0, 0, 0, withFlags(tcp.SYN))
		l.send(10, false, 0, 0, 0, withFlags(tcp.SYN))
		l.send(10.1, true, 0, 0, 1, withFlags(tcp.SYN|tcp.ACK))
		l.send(30, false, 0, 0, 1, withFlags(tcp.SYN|tcp.ACK))
		if again {
			l.send(1010.1, true, 0, 0, 1, withFlags(tcp.SYN|tcp.ACK))
			if e := l.only(); e.Kind != SYN || e.Total != 1 {
				t.Errorf("%v of %d packets, want syn of 1", e.Kind, e.Total)
			}
			continue
		}
		l.send(30.1, true, 1, 100, 1)
		l.send(50, false, 1, 0, 101)
		l.wantClean(1)
	}
}

// TestHalfOpenPeer answers a SYN with an ACK of an old connection, which is reset;
// the next SYN succeeds (RFC 9293 §3.5.1, Figure 9). That ACK is ignored.
func TestHalfOpenPeer(t *testing.T) {
	l := newLab(t, Config{})
	l.send(0, true, 0, 0, 0, withFlags(tcp.SYN))
	l.send(30, false, 1<<29, 0, 1<<29+77)
	l.send(30.1, true, 1<<29+77, 0, 0, withFlags(tcp.RST))
	l.send(3000, true, 0, 0, 0, withFlags(tcp.SYN))
	l.send(3030, false, 0, 0, 1, withFlags(tcp.SYN|tcp.ACK))
	l.send(3030.1, true, 1, 500, 1)
	l.send(3060, false, 1, 0, 501)
	c := l.done(1)[0]
	a, b := &c.Flows[0], &c.Flows[1]
	if c.Strays != 2 || c.End != Open || !c.Handshake.Complete || !b.HasSYN || a.Retransmissions != 1 || a.Episodes[0].Kind != SYN || a.UnseenBytes != 0 || a.Bytes != 500 {
		t.Errorf("%d strays, %v, SYN-ACK %v, %d retransmissions, %d bytes unseen of %d", c.Strays, c.End, b.HasSYN, a.Retransmissions, a.UnseenBytes, a.Bytes)
	}
}

// TestSYNDataRejected retransmits at once the data of a SYN that the SYN-ACK left out (RFC
// 7413 §4.2.2). No timer expired.
func TestSYNDataRejected(t *testing.T) {
	l := newLab(t, Config{})
	l.send(0, true, 0, 100, 0, withFlags(tcp.SYN))
	l.send(20, false, 0, 0, 1, withFlags(tcp.SYN|tcp.ACK))
	l.send(20.1, true, 1, 100, 1)
	l.send(40, false, 1, 0, 101)
	if e := l.only(); e.Kind != Fast || e.Spurious == Spurious || e.Timeouts != 0 {
		t.Errorf("%v, spurious %v, %d timeouts, want fast", e.Kind, e.Spurious, e.Timeouts)
	}
}

// TestCaptureBeginsWithKeepalive begins with a keepalive of one byte; its sender sends nothing
// else.
func TestCaptureBeginsWithKeepalive(t *testing.T) {
	l := newLab(t, Config{})
	for i := range 5 {
		at := 10_000 * float64(i)
		l.send(at, true, 5000, 1, 1)
		l.send(at+50, false, 1, 0, 5001)
	}
	if f := &l.wantClean(1)[0].Flows[0]; f.Keepalives != 4 {
		t.Errorf("%d keepalives, want 4: the first cannot be told", f.Keepalives)
	}
}

// TestBareACKShowsLoss loses everything before a bare ACK, ahead of the point of capture; it
// comes 450 ms later.
func TestBareACKShowsLoss(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	l.send(100, true, 1, 200, 1)
	l.send(150, false, 1, 0, 201)
	l.send(500, true, 201, 200, 1)
	l.send(550, false, 2001, 0, 401)
	l.send(1000, false, 1, 1000, 401)
	l.send(1000.1, true, 401, 0, 1001)
	l.send(1050, false, 1001, 1000, 401)
	l.send(1050.1, true, 401, 0, 2001)
	f := &l.done(1)[0].Flows[1]
	if len(f.Episodes) != 1 || f.Retransmissions != 2 || f.Bytes != 2000 {
		t.Fatalf("%d episodes, %d retransmissions, %d bytes, want 1, 2, 2000", len(f.Episodes), f.Retransmissions, f.Bytes)
	}
	if e := f.Episodes[0]; e.Kind != RTO || e.D != 450*ms || !e.Estimated || e.Spurious != Necessary {
		t.Errorf("%v, D %v, estimated %v, spurious %v, want rto 450ms true no", e.Kind, e.D, e.Estimated, e.Spurious)
	}
}

// TestSeveralACKsCapturedBeforeData captures several ACKs before the super-packet that they
// acknowledge.
func TestSeveralACKsCapturedBeforeData(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	l.send(100, true, 1, 1460, 1)
	l.send(101, false, 1, 0, 2921)
	l.send(101.01, false, 1, 0, 4381)
	l.send(101.02, true, 1461, 11_680, 1)
	l.send(150, false, 1, 0, 13_141)
	if f := &l.wantClean(1)[0].Flows[0]; f.UnseenBytes != 0 || f.Bytes != 13_140 {
		t.Errorf("%d bytes unseen, %d in all, want 0 of 13140", f.UnseenBytes, f.Bytes)
	}
}

// TestSYNRetransmittedWithoutData loses the SYN-ACK, which did not accept the SYN's data, behind
// the point of capture.
func TestSYNRetransmittedWithoutData(t *testing.T) {
	l := newLab(t, Config{})
	l.send(0, true, 0, 500, 0, withFlags(tcp.SYN))
	l.send(10, false, 0, 0, 1, withFlags(tcp.SYN|tcp.ACK))
	l.send(1000, true, 0, 0, 0, withFlags(tcp.SYN))
	l.send(1010, false, 0, 0, 1, withFlags(tcp.SYN|tcp.ACK))
	l.send(1010.1, true, 1, 500, 1)
	l.send(1030, false, 1, 0, 501)
	f := &l.done(1)[0].Flows[0]
	if len(f.Episodes) == 0 || f.Episodes[0].Kind != SYN || f.Episodes[0].D != time.Second {
		t.Errorf("%d episodes, the first %+v, want syn after 1 s", len(f.Episodes), f.Episodes)
	}
}

// TestRecutSuperPacketsAreCopies captures on all interfaces of a host that cuts or joins
// segments between two of them. Later retransmissions are still losses.
func TestRecutSuperPacketsAreCopies(t *testing.T) {
	at2 := func(p *packet) { p.Device = 2 }
	for _, join := range []bool{false, true} {
		l := newLab(t, Config{})
		l.open(0)
		whole := func(at float64, id uint32, options ...option) {
			l.send(at, true, 1, 5*1460, 1, append(options, withID(id))...)
		}
		pieces := func(at float64, id uint32, options ...option) {
			for i := range 5 {
				l.send(at+float64(i)/1000, true, 1+1460*i, 1460, 1, append(options, withID(id+uint32(i)))...)
			}
		}
		first, second := whole, pieces
		if join {
			first, second = pieces, whole
		}
		first(100, 10)
		second(100.1, 10, at2)
		l.send(150, false, 1, 0, 1)
		first(500, 20)
		second(500.1, 20, at2)
		l.send(550, false, 1, 0, 7301)
		c := l.done(1)[0]
		f := &c.Flows[0]
		if len(f.Episodes) != 1 || f.Episodes[0].D != 400*ms || f.Bytes != 7300 || c.Copies < 2 || f.Episodes[0].Total > 5 {
			t.Errorf("join %v: %d copies, %d bytes, %d episodes", join, c.Copies, f.Bytes, len(f.Episodes))
		}
	}
}

// TestRecutBehindAQueue captures a super-packet with its segments behind a queue: their timestamps
// say that they left 20 ms before, but they were captured at once.
func TestRecutBehindAQueue(t *testing.T) {
	l := newLab(t, Config{})
	id := uint32(1)
	send := func(at float64, seq, length int, stamp uint32) {
		l.send(at, true, seq, length, 1, withStamps(stamp, 7), withID(id))
	}
	l.send(0, true, 0, 0, 0, withFlags(tcp.SYN), withStamps(1, 0))
	l.send(0.1, false, 0, 0, 1, withFlags(tcp.SYN|tcp.ACK), withStamps(7, 1))
	l.send(50, true, 1, 0, 1, withStamps(51, 7))
	seq := 1
	for i := range 10 {
		id++
		at := 100 * float64(i+1)
		send(at, seq, 1000, uint32(at)+1)
		seq += 1000
		l.send(at+0.1, false, 1, 0, seq, withStamps(7, uint32(at)+1))
	}
	id++
	send(1120, seq, 3000, 1101)
	for i := range 3 {
		send(1120+float64(i)/100, seq+1000*i, 1000, 1101)
		id++
	}
	l.send(1120.1, false, 1, 0, seq+3000, withStamps(7, 1101))
	if c := l.wantClean(1)[0]; c.Copies != 3 {
		t.Errorf("%d copies, want 3", c.Copies)
	}
}

// TestCopyWithOptionsCutOff captures each packet twice; the capture cut the timestamps of one.
func TestCopyWithOptionsCutOff(t *testing.T) {
	l := newLab(t, Config{})
	both := func(at float64, fromA bool, seq, length, ack int, options ...option) {
		stamp := uint32(at)
		l.send(at, fromA, seq, length, ack, append(options, withStamps(stamp, 7))...)
		l.send(at+0.01, fromA, seq, length, ack, append(options, withPath(77), func(p *packet) { p.Problems |= capture.OptionsCut })...)
	}
	both(0, true, 0, 0, 0, withFlags(tcp.SYN))
	both(50, false, 0, 0, 1, withFlags(tcp.SYN|tcp.ACK))
	both(50.1, true, 1, 0, 1)
	for i := range 10 {
		at := 100 * float64(i+1)
		both(at, true, 1+500*i, 500, 1)
		both(at+50, false, 1, 0, 501+500*i)
	}
	if c := l.wantClean(1)[0]; 2*c.Copies != c.Packets {
		t.Errorf("%d copies of %d packets, want half", c.Copies, c.Packets)
	}
}

// TestFloodEvictsOnlyItself evicts unanswered SYNs before idle connections.
func TestFloodEvictsOnlyItself(t *testing.T) {
	l := newLab(t, Config{MaxConns: 40})
	for i := range 20 {
		l.open(float64(i), withPort(uint16(1+i)))
	}
	for i := range 1000 {
		l.send(100+float64(i), true, 0, 0, 0, withFlags(tcp.SYN), withPort(uint16(1000+i)))
	}
	for i := range 20 {
		at := 2000 + float64(i)
		l.send(at, true, 1, 100, 1, withPort(uint16(1+i)))
		l.send(at+50, false, 1, 0, 101, withPort(uint16(1+i)))
	}
	whole := 0
	for _, c := range l.wantClean(1020) {
		if c.Handshake.Complete && c.Flows[0].Bytes == 100 && c.End == Open {
			whole++
		}
	}
	if whole != 20 || l.tr.Evicted() < 980 || l.tr.Evicted() > 995 {
		t.Errorf("%d of 20 connections are whole, %d were evicted", whole, l.tr.Evicted())
	}
}
