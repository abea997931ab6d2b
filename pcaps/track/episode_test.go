package track

import (
	"testing"
	"time"

	"tcpwheel/netstack/tcp"
)

const ms = time.Millisecond

// TestDoubleLoss measures D, A and P where the first retransmission is lost as well.
func TestDoubleLoss(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	l.send(100, true, 1, 500, 1)
	l.send(150, false, 1, 0, 501)
	l.send(200, true, 501, 500, 1) // lost
	l.send(500, true, 501, 500, 1) // lost
	l.send(1100, true, 501, 500, 1)
	l.send(1150, false, 1, 0, 1001)
	e := l.only()
	if e.Kind != RTO || e.Total != 2 || e.Timeouts != 2 {
		t.Errorf("%v, %d retransmissions, %d by timeouts, want rto, 2, 2", e.Kind, e.Total, e.Timeouts)
	}
	if e.D != 300*ms || e.A != 600*ms || e.P != 50*ms || e.TRec != 950*ms || e.Length != 950*ms {
		t.Errorf("D %v, A %v, P %v, T_rec %v, whole %v, want 300ms 600ms 50ms 950ms 950ms", e.D, e.A, e.P, e.TRec, e.Length)
	}
	if e.RTT != 50*ms || e.Excess != 900*ms || e.Spurious != Necessary {
		t.Errorf("RTT %v, excess %v, spurious %v, want 50ms 900ms no", e.RTT, e.Excess, e.Spurious)
	}
	if e.FirstPacket != 6 || e.DetectedPacket != 7 || e.RepairPacket != 8 || e.AckedPacket != 9 || e.EndedPacket != 9 {
		t.Errorf("packets %d %d %d %d %d, want 6 7 8 9 9", e.FirstPacket, e.DetectedPacket, e.RepairPacket, e.AckedPacket, e.EndedPacket)
	}
}

// TestEpisodeEndsWithTheFlight ends an episode when everything in flight at its beginning is
// acknowledged, and no later.
func TestEpisodeEndsWithTheFlight(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	for i := range 5 {
		l.send(100+float64(i)/10, true, 1+1000*i, 1000, 1) // the first one is lost
	}
	for i := range 4 {
		l.send(150+float64(i)/10, false, 1, 0, 1, sacks([2]tcp.Seq{1000, tcp.Seq(2000 + 1000*i)}))
	}
	l.send(150.35, true, 1, 1000, 1)
	l.send(150.36, true, 5001, 1000, 1) // new, so not part of it
	l.send(200.4, false, 1, 0, 5001)
	l.send(200.5, false, 1, 0, 6001)
	e := l.only()
	if e.Kind != Fast || e.Timeouts != 0 || !e.HasInferable {
		t.Errorf("%v, %d timeouts, inferable %v, want fast, 0, true", e.Kind, e.Timeouts, e.HasInferable)
	}
	if e.EndedPacket != 15 || e.AckedPacket != 15 || !e.Closed {
		t.Errorf("acknowledged by packet %d and ended by %d, want 15 and 15", e.AckedPacket, e.EndedPacket)
	}
	// D could have been an RTT and the reordering window.
	if want := 50*ms + 50*ms/4; e.IdealD != want || e.TimerTax != 0 {
		t.Errorf("ideal %v, tax %v, want %v and 0: D is shorter", e.IdealD, e.TimerTax, want)
	}
}

// TestSpuriousByEachEvidence judges a retransmission spurious by each kind of evidence.
func TestSpuriousByEachEvidence(t *testing.T) {
	for _, test := range []struct {
		name string
		run  func(l *lab)
		want Evidence
	}{
		{"dsack", func(l *lab) {
			l.send(200, true, 1, 500, 1)
			l.send(500, true, 1, 500, 1)
			l.send(510, false, 1, 0, 501)
			l.send(550, false, 1, 0, 501, func(p *packet) {
				o := &p.Header.Options
				o.NumSACK, o.SACK[0] = 1, tcp.SeqRange{Start: p.Header.Ack - 500, End: p.Header.Ack}
			})
		}, ByDSACK},
		{"eifel", func(l *lab) {
			l.send(200, true, 1, 500, 1, withStamps(1200, 0))
			l.send(500, true, 1, 500, 1, withStamps(1500, 0))
			l.send(560, false, 1, 0, 501, withStamps(9, 1200))
		}, ByEifel},
		{"timing", func(l *lab) {
			l.send(200, true, 1, 500, 1)
			l.send(500, true, 1, 500, 1)
			l.send(510, false, 1, 0, 501)
		}, ByTiming},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLab(t, Config{})
			l.open(0)
			test.run(l)
			if e := l.only(); e.Spurious != Spurious || e.Evidence != test.want || e.SpuriousCount != 1 {
				t.Errorf("spurious %v by %v, %d spurious, want yes by %v, 1", e.Spurious, e.Evidence, e.SpuriousCount, test.want)
			}
		})
	}
}

// TestEachDSACKCountsOnce counts DSACKs against retransmissions (RFC 3708 §3), so that duplication
// by the network is told from spurious retransmissions.
func TestEachDSACKCountsOnce(t *testing.T) {
	l := newLab(t, Config{})
	l.open(0)
	l.send(200, true, 1, 500, 1)
	l.send(500, true, 1, 500, 1)
	report := func(p *packet) {
		o := &p.Header.Options
		o.NumSACK, o.SACK[0] = 1, tcp.SeqRange{Start: p.Header.Ack - 500, End: p.Header.Ack}
	}
	l.send(510, false, 1, 0, 501)
	l.send(550, false, 1, 0, 501, report)
	l.send(551, false, 1, 0, 501, report)
	if e := l.only(); e.Spurious != Spurious {
		t.Errorf("spurious %v, want yes", e.Spurious)
	}
	if f := &l.conns[0].Flows[0]; f.DSACKs != 2 || f.Duplicates != 1 {
		t.Errorf("%d DSACKs, %d of copies, want 2 and 1", f.DSACKs, f.Duplicates)
	}
}
