package tcp

// ecnState is one end's state of Explicit Congestion Notification (RFC 3168 §6.1). The zero value
// does not use ECN. All methods cost O(1).
type ecnState struct {
	on      bool
	mute    bool // sender: never set ECT
	echo    bool // receiver: send ECE until CWR arrives
	cwr     bool // sender: send CWR with the next new data
	reduced bool // sender: recover is valid
	recover Seq  // sender: SND.NXT when the window was last reduced
}

// ecnSetupSYN reports whether a SYN offers ECN: an ECN-setup SYN packet has both ECE and CWR
// (RFC 3168 §6.1.1).
func ecnSetupSYN(ece, cwr bool) bool { return ece && cwr }

// ecnSetupSYNAck reports whether a SYN-ACK accepts ECN: ECE alone (RFC 3168 §6.1.1). Both flags
// mean that the peer only reflects reserved bits.
func ecnSetupSYNAck(ece, cwr bool) bool { return ece && !cwr }

// Enable turns ECN on after both ends have agreed.
func (e *ecnState) Enable() { e.on = true }

// Mute stops the sender from setting ECT; the receiver still echoes marks. RFC 3168 §6.1.1 requires
// it after a SYN without ECN, whatever the peer agreed to.
func (e *ecnState) Mute() { e.mute = true }

// Disable turns ECN off, after a SYN without ECN followed one with it.
func (e *ecnState) Disable() { *e = ecnState{} }

// On reports whether ECN is used.
func (e *ecnState) On() bool { return e.on }

// OnData updates the receiver for a data segment with the given CE mark and CWR flag.
func (e *ecnState) OnData(ce, cwr bool) {
	if !e.on {
		return
	}
	// RFC 3168 §6.1.3: the receiver sets ECN-Echo until it receives CWR. A CE mark on that packet
	// or later starts it again.
	if cwr {
		e.echo = false
	}
	if ce {
		e.echo = true
	}
}

// ECE returns the ECN-Echo flag for the next ACK.
func (e *ecnState) ECE() bool { return e.echo }

// OnECE handles an acceptable ACK with ECN-Echo, and reports whether to reduce the congestion
// window. una is SND.UNA after the ACK and nxt is SND.NXT. RFC 3168 §6.1.2: at most once per window
// of data.
func (e *ecnState) OnECE(una, nxt Seq) bool {
	if !e.on || e.mute || e.reduced && una.AtOrBefore(e.recover) {
		return false
	}
	e.OnReduced(nxt)
	return true
}

// OnReduced records a reduction of the congestion window for any reason. RFC 3168 §6.1.2: the first
// new data packet after any reduction has CWR set.
func (e *ecnState) OnReduced(nxt Seq) {
	if e.on {
		e.reduced, e.recover, e.cwr = true, nxt, true
	}
}

// OnAck forgets a reduction once una has passed it, long before sequence numbers wrap.
func (e *ecnState) OnAck(una Seq) {
	if e.reduced && una.After(e.recover) {
		e.reduced = false
	}
}

// OnSend returns the ECT codepoint and CWR flag for the next segment. newData says that it carries
// only new data and is no window probe: RFC 3168 §6.1.4, §6.1.5 and §6.1.6 forbid ECT on pure ACKs,
// retransmissions and probes. CWR is set once per reduction.
func (e *ecnState) OnSend(newData bool) (ect, cwr bool) {
	if !e.on || e.mute || !newData {
		return false, false
	}
	cwr = e.cwr
	e.cwr = false
	return true, cwr
}

// echoes reports whether a segment echoes a congestion mark. RFC 3168 §6.1.1: on a SYN-ACK, ECE
// only says that its sender is ECN-capable.
func (e *ecnState) echoes(h *Header) bool { return e.on && h.Flags&(ECE|SYN) == ECE }
