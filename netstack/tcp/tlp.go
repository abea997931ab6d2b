package tcp

import (
	"time"

	"tcpwheel/wheel"
)

// ptoWithoutRTT is the probe timeout while no round trip was measured (RFC 8985 §7.2).
const ptoWithoutRTT = time.Second

// ptoInput is what the probe timeout follows from.
type ptoInput struct {
	SRTT        time.Duration
	HasSRTT     bool
	Flight      uint32        // segments in flight
	MaxAckDelay time.Duration // TLP.max_ack_delay: the longest that the peer holds an ACK back
	Slack       time.Duration // what the policy adds with more than one segment in flight
	RTOExpiry   wheel.Time    // when the retransmission timer expires

	// Prompt says that the ACK of the last segment, which left at LastSent, was to come right
	// behind those that have come.
	Prompt   bool
	LastSent wheel.Time
	RTTVar   time.Duration
}

// ptoPrompt is how long after an ACK a probe leaves at the earliest that counts on prompt ones:
// what a peer's host may take for itself.
const ptoPrompt = 5 * time.Millisecond

// probeTimeout returns how long from now the loss probe timer is to run (RFC 8985 §7.2,
// TLP_calc_PTO), never less than 0. early says that Prompt has made it shorter.
func probeTimeout(now wheel.Time, in ptoInput) (pto time.Duration, early bool) {
	pto = ptoWithoutRTT
	if in.HasSRTT {
		// RFC 8985 §7.2: "PTO = 2 * SRTT", and "If FlightSize is one segment: PTO +=
		// TLP.max_ack_delay".
		pto = 2 * in.SRTT
		if in.Flight == 1 {
			pto += in.MaxAckDelay
		} else {
			pto += in.Slack
		}
		// DEVIATION RFC 8985 §7.2, SHOULD: the timer counts from each ACK there, with
		// TLP.max_ack_delay if one segment is left. An application waits most for the last segment
		// of a response, and that way three round trips or MaxAckDelay. Where the ACKs of its
		// flight show that its own is not put off, that one is due by now: the timer counts from
		// its transmission, as it did when it was sent, and gives it another round trip behind the
		// ACK that has come, and the variation of the timeout.
		if in.Prompt {
			at := in.LastSent.Add(in.SRTT + max(in.SRTT, 4*in.RTTVar))
			at = max(at, now.Add(max(in.SRTT, ptoPrompt)))
			if d := at.Sub(now); d < pto {
				pto, early = d, true
			}
		}
	}
	// RFC 8985 §7.2: "If Now() + PTO > TCP_RTO_expiration(): PTO = TCP_RTO_expiration() - Now()".
	if now.Add(pto) > in.RTOExpiry {
		pto, early = in.RTOExpiry.Sub(now), false
	}
	return max(pto, 0), early
}

// tlpState is the state of tail loss probing (RFC 8985 §7.1 and RFC 8985 §7.4) of one connection.
// The zero value is ready. It is set back to it when a fast recovery or an RTO recovery starts.
type tlpState struct {
	endSeq           Seq // TLP.end_seq
	inFlight         bool
	isRetrans        bool // TLP.is_retrans
	wantSample       bool // no round trip was measured since the last probe
	early            bool // the probe in flight left early
	earlyWasSpurious bool // one that did was in vain
}

// MayProbe reports whether a probe may be sent when the timer expires (RFC 8985 §7.3): no other is
// in flight, and a round trip was measured since the last one. If not, the retransmission timer is
// armed instead.
func (p *tlpState) MayProbe() bool { return !p.inFlight && !p.wantSample }

// Probed notes that a probe was sent; sndNxt is SND.NXT after it, retrans says that it was old
// data, and early what PTO said.
func (p *tlpState) Probed(sndNxt Seq, retrans, early bool) {
	*p = tlpState{endSeq: sndNxt, inFlight: true, isRetrans: retrans, wantSample: true, early: early, earlyWasSpurious: p.earlyWasSpurious}
}

// MayBeEarly reports whether a probe may leave early: none was in vain so far that did.
func (p *tlpState) MayBeEarly() bool { return !p.earlyWasSpurious }

// Sampled notes a measurement of the round-trip time.
func (p *tlpState) Sampled() { p.wantSample = false }

// Reset forgets a probe in flight, when a recovery starts (RFC 8985 §7.1). The wait for a
// measurement goes on.
func (p *tlpState) Reset() {
	*p = tlpState{wantSample: p.wantSample, earlyWasSpurious: p.earlyWasSpurious}
}

// tlpAck is what TLP has to know of an ACK.
type tlpAck struct {
	Ack        Seq
	DSACKProbe bool // a DSACK that covers the probe
	DupNoSACK  bool // a duplicate ACK without a SACK option
}

// Acked is TLP_process_ack of RFC 8985 §7.4.2. repaired says that a retransmitted probe repaired a
// loss, which nothing else has told, so that congestion control is to react to one.
func (p *tlpState) Acked(a tlpAck) (repaired bool) {
	if !p.inFlight || a.Ack.Before(p.endSeq) {
		return false
	}
	switch {
	case !p.isRetrans: // new data, which arrived
	case a.DSACKProbe: // both the original and the probe arrived
		p.earlyWasSpurious = p.earlyWasSpurious || p.early
	case a.Ack.After(p.endSeq):
		repaired = true
	case a.DupNoSACK: // the probe was a duplicate, to a receiver without DSACK
		p.earlyWasSpurious = p.earlyWasSpurious || p.early
	default:
		return false // it remains open
	}
	p.inFlight, p.isRetrans, p.early = false, false, false
	return repaired
}
