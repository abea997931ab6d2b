package tcp

import (
	"math/rand/v2"
	"testing"
)

func TestWindowScaleFor(t *testing.T) {
	// RFC 7323 §2.3: the shift is at most 14.
	for n, want := range map[uint32]uint8{0: 0, 65535: 0, 65536: 1, 131070: 1, 131071: 2, 1 << 20: 5, 65535 << 14: 14, 1<<32 - 1: 14} {
		if got := windowScaleFor(n); got != want {
			t.Errorf("ScaleFor(%d) = %d, want %d", n, got, want)
		}
	}
	// RFC 7323 §2.2: "The window field in a segment where the SYN bit is set (i.e., a <SYN> or
	// <SYN,ACK>) MUST NOT be scaled."
	if synWindowField(1<<20) != 65535 || synWindowField(100) != 100 {
		t.Errorf("SYNField = %d, %d", synWindowField(1<<20), synWindowField(100))
	}
}

// TestRecvWindowEdge runs a peer that fills any window and an application that reads at random.
func TestRecvWindowEdge(t *testing.T) {
	// RFC 7323 §2.4: "The receiver MUST honor, as in window, any segment that would have been in
	// window for any <ACK> sent by the receiver."
	rnd := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		scale := uint8(rnd.IntN(13))
		unit := uint32(1) << scale
		buff, mss := 1+uint32(rnd.IntN(60000)), 64+uint32(rnd.IntN(1400))
		nxt, user := Seq(rnd.Uint32()), uint32(0)
		var w recvWindow
		if err := w.Init(nxt, synWindowField(min(buff, 4000)), buff, scale); err != nil {
			t.Fatal(err)
		}
		for range 200 {
			n := min(uint32(rnd.IntN(3000)), w.Wnd(nxt))
			nxt, user = nxt.Add(n), user+n
			user -= min(user, uint32(rnd.IntN(3000)))
			edge, due := nxt.Add(w.Wnd(nxt)), w.UpdateDue(nxt, user, mss)
			field := w.Advertise(nxt, user, mss)
			right := nxt.Add(uint32(field) << scale)
			now := nxt.Add(w.Wnd(nxt))
			switch {
			case now.Before(edge):
				t.Fatalf("the edge goes back from %v to %v", edge, now)
			case right.After(now):
				t.Fatalf("offered up to %v, accepted up to %v", right, now)
			case now.Sub(right) >= unit:
				t.Fatalf("the offer %v retreats from %v by a unit of %d or more", right, now, unit)
			case user+w.Wnd(nxt) >= buff+unit:
				t.Fatalf("%d buffered and %d offered exceed the buffer of %d by a unit of %d", user, w.Wnd(nxt), buff, unit)
			case now != edge && now.Sub(edge) >= unit && now.Sub(edge)+unit <= min(buff/2, mss):
				// RFC 9293 §3.8.6.2.2: "RCV.BUFF - RCV.USER - RCV.WND >= min( Fr * RCV.BUFF,
				// Eff.snd.MSS)".
				t.Fatalf("the window opens by %d only", now.Sub(edge))
			case due && edge.Sub(nxt) >= unit && now == edge:
				t.Fatal("an update was due that opens nothing")
			}
		}
	}
}
