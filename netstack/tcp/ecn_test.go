package tcp

import "testing"

func TestECNSetup(t *testing.T) {
	// RFC 3168 §6.1.1: an ECN-setup SYN has ECE and CWR, an ECN-setup SYN-ACK has ECE and not CWR.
	for _, c := range []struct{ ece, cwr, syn, synAck bool }{
		{false, false, false, false}, {true, false, false, true}, {false, true, false, false}, {true, true, true, false},
	} {
		if got := ecnSetupSYN(c.ece, c.cwr); got != c.syn {
			t.Errorf("ecnSetupSYN(%v, %v) = %v", c.ece, c.cwr, got)
		}
		if got := ecnSetupSYNAck(c.ece, c.cwr); got != c.synAck {
			t.Errorf("ecnSetupSYNAck(%v, %v) = %v", c.ece, c.cwr, got)
		}
	}
}

func TestECNDisabled(t *testing.T) {
	// RFC 3168 §6.1.1: a host that sent a SYN without ECN does not set ECT, but echoes marks.
	var e ecnState
	e.Enable()
	e.Mute()
	if ect, cwr := e.OnSend(true); ect || cwr || e.OnECE(1, 2) {
		t.Error("a muted sender sets ECT or CWR, or reduces its window")
	}
	if e.OnData(true, false); !e.ECE() {
		t.Error("no ECE for a mark")
	}
	if e.Disable(); e.On() || e.ECE() {
		t.Error("ECN is used after Disable")
	}
}

func TestECNReceiver(t *testing.T) {
	// RFC 3168 §6.1.3: every ACK has ECE from a CE mark until CWR.
	var e ecnState
	e.OnData(true, false)
	if e.ECE() {
		t.Error("ECE without agreement")
	}
	e.Enable()
	for i, c := range []struct{ ce, cwr, want bool }{
		{false, false, false}, {true, false, true}, {false, false, true}, {false, true, false}, {false, false, false},
		{true, true, true}, {false, true, false},
	} {
		if e.OnData(c.ce, c.cwr); e.ECE() != c.want {
			t.Errorf("segment %d: ECE %v, want %v", i, e.ECE(), c.want)
		}
	}
}

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
