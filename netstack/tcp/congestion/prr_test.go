package congestion

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestPRRReducesInProportion(t *testing.T) {
	// RFC 9937 §6.2: "out = DIV_ROUND_UP(prr_delivered * ssthresh, RecoverFS)": of 20 segments in
	// flight 19 are delivered and 14 sent, two for every three or so.
	var p PRR
	p.Start(14*mss, mss, 20*mss)
	pipe, sent := uint32(19*mss), uint32(0) // one lost
	for i := range uint32(19) {
		pipe -= mss
		n := p.OnAck(mss, pipe, false, true)
		if total := ((i+1)*14*mss + 19) / 20; pipe > 14*mss && sent+n != total {
			t.Errorf("ACK %d: %d bytes in all, want %d", i+1, sent+n, total)
		}
		p.OnSent(n)
		sent, pipe = sent+n, pipe+n
	}
	if pipe != 14*mss {
		t.Errorf("%d bytes in flight at the end, want ssthresh", pipe)
	}
}

func TestPRRBelowThreshold(t *testing.T) {
	for _, test := range []struct {
		name           string
		delivered      uint32
		pipe           uint32
		advanced, lost bool
		want           uint32
	}{
		// RFC 9937 §6.2: "SndCnt = MAX(prr_delivered - prr_out, DeliveredData)"
		{"conservative", 2 * mss, 3 * mss, false, false, 2 * mss},
		// RFC 9937 §6.2: "SafeACK = (SND.UNA advances and no further loss indicated)"
		{"safe", 2 * mss, 3 * mss, true, false, 3 * mss},
		{"further loss", 2 * mss, 3 * mss, true, true, 2 * mss},
		// RFC 9937 §6.2: "SndCnt = MIN(ssthresh - inflight, SndCnt)"
		{"catching up", 5 * mss, 6 * mss, true, false, 4 * mss},
		// RFC 9937 §6.2: "if (DeliveredData is 0) Return"
		{"nothing delivered", 0, 0, true, false, 0},
		// RFC 9937 §6.2: "Force a fast retransmit upon entering recovery"
		{"forced", 1, 10 * mss, false, false, mss},
	} {
		var p PRR
		p.Start(10*mss, mss, 20*mss)
		if got := p.OnAck(test.delivered, test.pipe, test.advanced, test.lost); got != test.want {
			t.Errorf("%s: OnAck = %d, want %d", test.name, got, test.want)
		}
	}
	var p PRR
	p.Start(10*mss, mss, 20*mss)
	p.OnSent(3 * mss) // RFC 9937 §6.3: "prr_out += (data sent)"
	if got := p.OnAck(mss, 10*mss, true, false); got != 0 {
		t.Errorf("forced again: %d", got)
	}
	if got := p.OnAck(3*mss, 5*mss, false, false); got != 3*mss {
		t.Errorf("DeliveredData is the least: %d", got)
	}
}

func TestRecoverFS(t *testing.T) {
	// RFC 9937 §6.1: data SACKed before recovery is not delivered during it; this ACK's data is.
	for _, test := range []struct{ out, sacked, newlySacked, newlyAcked, want uint32 }{
		{20, 3, 1, 0, 18},
		{20, 3, 3, 0, 20},
		{15, 0, 0, 5, 20},
		{1, 5, 0, 0, 0},
		{math.MaxUint32, 0, math.MaxUint32, math.MaxUint32, maxWindow},
	} {
		if got := RecoverFS(test.out, test.sacked, test.newlySacked, test.newlyAcked); got != test.want {
			t.Errorf("RecoverFS(%+v) = %d", test, got)
		}
	}
	// RFC 9937 §6.1: "RecoverFS remains constant during a given fast recovery episode."
	var p PRR
	p.Start(5*mss, mss, 0)
	p.OnAck(mss, 9*mss, false, false)
	if p.recoverFS != 1 {
		t.Errorf("RecoverFS %d", p.recoverFS)
	}
}

func TestPRRWithoutSACK(t *testing.T) {
	// RFC 9937 §6.2: "DeliveredData is estimated to be 1 SMSS on each received duplicate ACK (i.e.,
	// SND.UNA did not change). When SND.UNA advances (i.e., a full or partial ACK), DeliveredData
	// is the change in SND.UNA, minus 1 SMSS for each preceding duplicate ACK."
	var p PRR
	p.Start(5*mss, mss, 10*mss)
	step := func(advance, want uint32) {
		t.Helper()
		got := p.DeliveredWithoutSACK(advance)
		if got != want {
			t.Errorf("DeliveredWithoutSACK(%d) = %d, want %d", advance, got, want)
		}
		p.OnAck(got, 9*mss, advance > 0, false)
	}
	step(0, mss)
	step(0, mss)
	step(3*mss, mss) // two were counted, and the segment that filled the hole was not
	step(500, 500)
	// RFC 9937 §6.2: "PRR disallows incrementing DeliveredData when the total bytes delivered in a
	// PRR episode would exceed the estimated data outstanding upon entering recovery (RecoverFS)."
	for range 6 {
		step(0, mss)
	}
	step(0, 500)
	for range 1000 {
		step(0, 0)
	}
}

// TestPRRBounds checks that PRR never sends beyond ssthresh from below, nor more than in proportion
// from above.
func TestPRRBounds(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 2))
		var p PRR
		ssthresh, fs := absurd(r), absurd(r)
		p.Start(ssthresh, 1+uint32(r.IntN(65535)), fs)
		for range 50 {
			pipe, delivered := absurd(r), absurd(r)
			out := p.out
			n := p.OnAck(delivered, pipe, r.IntN(2) == 0, r.IntN(2) == 0)
			if pipe <= ssthresh && n > max(ssthresh-pipe, p.mss) || out > 0 && delivered == 0 && n != 0 || n > maxWindow {
				t.Fatalf("seed %d: OnAck(%d, %d) = %d with ssthresh %d", seed, delivered, pipe, n, ssthresh)
			}
			p.OnSent(min(n, absurd(r)))
		}
	}
}
