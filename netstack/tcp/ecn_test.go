package tcp

import "testing"

func TestECNSender(t *testing.T) {
	for _, una := range []Seq{1000, 1<<32 - 1000} {
		var e ecnState
		if ect, cwr := e.OnSend(true); ect || cwr || e.OnECE(una, una) {
			t.Error("ECT, CWR or a reduction without agreement")
		}
		e.Enable()
		nxt := una + 5000
		if !e.OnECE(una, nxt) || e.OnECE(una+1000, nxt+1000) || e.OnECE(nxt, nxt+5000) {
			t.Error("RFC 3168 §6.1.2: want one reduction per window of data")
		}
		// RFC 3168 §6.1.4, §6.1.5 and §6.1.6: no ECT on pure ACKs, retransmissions and probes; here
		// they have no CWR either.
		if ect, cwr := e.OnSend(false); ect || cwr {
			t.Errorf("pure ACK: ECT %v, CWR %v", ect, cwr)
		}
		for i, want := range []bool{true, false, false} {
			if ect, cwr := e.OnSend(true); !ect || cwr != want {
				t.Errorf("new data %d: ECT %v, CWR %v, want %v", i, ect, cwr, want)
			}
		}
		if !e.OnECE(nxt+1, nxt+9000) {
			t.Error("no reduction for the next window")
		}
		e.OnSend(true)
		// CWR also announces a reduction for a loss.
		e.OnReduced(nxt + 9500)
		if e.OnECE(nxt+9400, nxt+9600) {
			t.Error("a second reduction in the window of a loss")
		}
		if _, cwr := e.OnSend(true); !cwr {
			t.Error("no CWR after a loss")
		}
		e.OnAck(nxt + 9501)
		if far := nxt + 1<<31; !e.OnECE(far, far+1) {
			t.Error("2^31 later the old reduction still counts")
		}
	}
}
