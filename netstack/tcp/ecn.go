package tcp

// ecnState is one end's state of Explicit Congestion Notification, RFC 3168 §6.1. The zero value
// does not use it. All methods cost O(1).
type ecnState struct {
	on      bool
	mute    bool // sender: nothing is ECT
	echo    bool // receiver: ECE goes out until CWR comes
	cwr     bool // sender: CWR goes out with the next new data
	reduced bool // sender: recover is good
	recover Seq  // sender: SND.NXT when the window was last reduced
}

// ecnSetupSYN reports whether a SYN offers ECN. RFC 3168 §6.1.1 calls one with both ECE and CWR an
// ECN-setup SYN packet.
func ecnSetupSYN(ece, cwr bool) bool { return ece && cwr }

// ecnSetupSYNAck reports whether a SYN-ACK agrees to ECN: ECE alone, RFC 3168 §6.1.1. Both flags
// are what a host sends that reflects reserved bits, and mean no.
func ecnSetupSYNAck(ece, cwr bool) bool { return ece && !cwr }

// Enable turns ECN on, when both ends have agreed.
func (e *ecnState) Enable() { e.on = true }

// Mute keeps the sender from setting ECT, while the receiver echoes marks. RFC 3168 §6.1.1 wants
// that of a host that has sent a SYN without ECN, whatever the other one agreed to.
func (e *ecnState) Mute() { e.mute = true }

// Disable turns ECN off, when a SYN without it came after one with it.
func (e *ecnState) Disable() { *e = ecnState{} }

// On reports whether ECN is used.
func (e *ecnState) On() bool { return e.on }

// OnData takes a segment that arrives with payload, its CE mark and its CWR flag, at the receiver.
func (e *ecnState) OnData(ce, cwr bool) {
	if !e.on {
		return
	}
	// RFC 3168 §6.1.3: the receiver goes on setting ECN-Echo until it receives a CWR packet; a CE
	// mark on that packet or after it begins anew.
	if cwr {
		e.echo = false
	}
	if ce {
		e.echo = true
	}
}

// ECE returns the ECN-Echo flag of an ACK about to be sent.
func (e *ecnState) ECE() bool { return e.echo }

// OnECE takes an acceptable ACK with ECN-Echo, at the sender, and reports whether to reduce the
// congestion window. una is SND.UNA after that ACK, nxt SND.NXT. RFC 3168 §6.1.2: it reacts at most
// once per window of data.
func (e *ecnState) OnECE(una, nxt Seq) bool {
	if !e.on || e.mute || e.reduced && una.AtOrBefore(e.recover) {
		return false
	}
	e.OnReduced(nxt)
	return true
}

// OnReduced notes that the congestion window was reduced, by OnECE or for a loss. RFC 3168 §6.1.2:
// the CWR flag is set on the first new data packet after any reduction, whatever it was for.
func (e *ecnState) OnReduced(nxt Seq) {
	if e.on {
		e.reduced, e.recover, e.cwr = true, nxt, true
	}
}

// OnAck forgets a reduction that una, SND.UNA, has gone past, long before the numbers come round
// again.
func (e *ecnState) OnAck(una Seq) {
	if e.reduced && una.After(e.recover) {
		e.reduced = false
	}
}

// OnSend returns the ECT codepoint and the CWR flag for a segment about to be sent. fresh says that
// it has payload, all of it for the first time, and is no window probe: RFC 3168 §6.1.4, §6.1.5 and
// §6.1.6 forbid ECT on pure ACKs, retransmissions and probes. The flag goes out once per reduction.
func (e *ecnState) OnSend(fresh bool) (ect, cwr bool) {
	if !e.on || e.mute || !fresh {
		return false, false
	}
	cwr = e.cwr
	e.cwr = false
	return true, cwr
}
