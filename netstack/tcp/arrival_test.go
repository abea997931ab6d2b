package tcp

import (
	"math/rand/v2"
	"testing"
)

func TestCheckSequenceFourCases(t *testing.T) {
	// RFC 9293 §3.10.7.4: "There are four cases for the acceptability test for an incoming segment"
	for _, c := range []struct {
		why  string
		wnd  uint32
		off  int32 // SEG.SEQ - RCV.NXT
		n    uint32
		want acceptability
	}{
		{"empty, closed window, at RCV.NXT", 0, 0, 0, acceptable},
		{"empty, closed window, before", 0, -1, 0, unacceptable},
		{"empty, closed window, after", 0, 1, 0, unacceptable},
		{"empty, first of the window", 10, 0, 0, acceptable},
		{"empty, last of the window", 10, 9, 0, acceptable},
		{"empty, right edge", 10, 10, 0, acceptable},
		{"empty, a keep-alive probe", 10, -1, 0, unacceptable},
		// RFC 9293 §3.10.7.4: "If the RCV.WND is zero, no segments will be acceptable, but special
		// allowance should be made to accept valid ACKs, URGs, and RSTs."
		{"zero-window probe of one byte", 0, 0, 1, controlOnly},
		{"old byte and a new one, closed window", 0, -1, 2, controlOnly},
		{"old byte, closed window", 0, -1, 1, unacceptable},
		{"beyond a closed window", 0, 1, 1, unacceptable},
		{"in order", 10, 0, 5, acceptable},
		{"old but for its last byte", 10, -4, 5, acceptable},
		{"all old", 10, -5, 5, unacceptable},
		{"only the first byte fits", 10, 9, 5, acceptable},
		{"right edge", 10, 10, 5, unacceptable},
		{"more than the window on both sides", 10, -5, 20, acceptable},
	} {
		for _, nxt := range []Seq{1000, 0, 3, 1<<32 - 1, 1<<31 - 2} {
			if got := checkSequence(nxt, c.wnd, nxt+Seq(c.off), c.n); got != c.want {
				t.Errorf("%s: checkSequence(%v, %d, %+d, %d) = %v, want %v", c.why, nxt, c.wnd, c.off, c.n, got, c.want)
			}
		}
	}
	if got := checkSequence(100, 10, 100, 1<<31); got != unacceptable {
		t.Errorf("a segment of half the sequence space is %v", got)
	}
}

// TestTrimAgreesWithTwin compares checkSequence and trimToWindow with a twin that checks every
// sequence number.
func TestTrimAgreesWithTwin(t *testing.T) {
	// RFC 9293 §3.10.7.4: "trimming off any portions that lie outside the window (including SYN and
	// FIN)"
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		nxt := Seq(rnd.Uint32())
		if rnd.IntN(2) == 0 {
			nxt = -Seq(rnd.IntN(8))
		}
		wnd := uint32(rnd.IntN(12))
		a := Arrival{nxt + Seq(rnd.IntN(30)-15), uint32(rnd.IntN(20)), rnd.IntN(8) == 0, rnd.IntN(3) == 0}
		var kept, old, beyond, inside uint32
		first, fin := int64(-1), false
		for i := range a.SegLen() {
			s := a.Seq.Add(i)
			d := int32(s - nxt)
			in := d >= 0 && uint32(d) < wnd
			if in {
				inside++
			}
			switch {
			case a.SYN && i == 0:
			case a.FIN && i == a.SegLen()-1:
				fin = in
			case in:
				if first < 0 {
					first = int64(s - a.payload().Start)
				}
				kept++
			case d < 0:
				old++
			default:
				beyond++
			}
		}
		var fit trimmed
		trimToWindow(nxt, wnd, a, &fit)
		if fit.Keep.Len() != kept || fit.Old.Len() != old || fit.Beyond != beyond || fit.FIN != fin {
			t.Fatalf("trimToWindow(%v, %d, %+v) = %+v, want %d kept, %d old, %d beyond, fin %v", nxt, wnd, a, fit, kept, old, beyond, fin)
		}
		if kept > 0 && (int64(fit.Offset) != first || fit.Keep.Start != a.payload().Start.Add(fit.Offset)) {
			t.Fatalf("trimToWindow(%v, %d, %+v) = %+v, want offset %d", nxt, wnd, a, fit, first)
		}
		if fin && fit.Keep.End != a.payload().End {
			t.Fatalf("trimToWindow(%v, %d, %+v) = %+v: its FIN does not follow what is kept", nxt, wnd, a, fit)
		}
		if got := checkSequence(nxt, wnd, a.Seq, a.SegLen()); a.SegLen() > 0 && (got == acceptable) != (inside > 0) {
			t.Fatalf("checkSequence(%v, %d, %v, %d) = %v, but %d of its numbers are in the window", nxt, wnd, a.Seq, a.SegLen(), got, inside)
		}
	}
	var fit trimmed
	if trimToWindow(1, 10, Arrival{Seq: 1, Len: 1 << 31}, &fit); fit.Keep.Len() != 0 {
		t.Errorf("trimToWindow keeps %+v of a segment of half the sequence space", fit)
	}
}
