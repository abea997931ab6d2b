package tcp

import (
	"time"

	"tcpwheel/wheel"
)

// ptoWithoutRTT is the probe timeout before the first RTT sample (RFC 8985 §7.2).
const ptoWithoutRTT = time.Second

// ptoInput is the input of probeTimeout.
type ptoInput struct {
	SRTT        time.Duration
	HasSRTT     bool
	Flight      uint32        // segments in flight
	MaxAckDelay time.Duration // TLP.max_ack_delay: the longest time for which the peer delays an ACK
	Slack       time.Duration // added by the policy if more than one segment is in flight
	RTOExpiry   wheel.Time    // expiry of the retransmission timer

	// Prompt says that the ACK of the last segment, sent at LastSent, should follow the previous
	// ACKs closely.
	Prompt   bool
	LastSent wheel.Time
	RTTVar   time.Duration
}

// ptoPrompt is the shortest time between an ACK and an early probe: an allowance for the peer's
// host.
const ptoPrompt = 5 * time.Millisecond

// probeTimeout returns the time from now until the loss probe is due (RFC 8985 §7.2, TLP_calc_PTO),
// at least 0. early says that Prompt shortened it.
func probeTimeout(now wheel.Time, in *ptoInput) (pto time.Duration, early bool) {
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
		// DEVIATION RFC 8985 §7.2, SHOULD: the RFC restarts the timer at each ACK and adds
		// TLP.max_ack_delay for a lone segment. So a lost last segment of a response costs three
		// round trips or MaxAckDelay. If the flight's ACKs show that the peer does not delay the
		// last one, it is due by now. Then the timer counts from the transmission of the last
		// segment, and allows another RTT after the latest ACK plus the variation of the RTO.
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

// tlpState is the tail loss probe state of a connection (RFC 8985 §7.1 and RFC 8985 §7.4). The zero
// value is ready. Reset it when a fast recovery or RTO recovery starts.
type tlpState struct {
	endSeq           Seq // TLP.end_seq
	inFlight         bool
	isRetrans        bool // TLP.is_retrans
	wantSample       bool // no RTT sample since the last probe
	early            bool // the probe in flight was early
	earlyWasSpurious bool // an early probe was spurious
	due              bool // start or stop the timer again
}

// MayProbe reports whether a probe may be sent when the timer expires (RFC 8985 §7.3): none is in
// flight, and there was an RTT sample since the last one. Otherwise the retransmission timer is
// started.
func (p *tlpState) MayProbe() bool { return !p.inFlight && !p.wantSample }

// Probed records that a probe was sent. sndNxt is SND.NXT after it, retrans says that it was a
// retransmission, and early is probeTimeout's result.
func (p *tlpState) Probed(sndNxt Seq, retrans, early bool) {
	*p = tlpState{endSeq: sndNxt, inFlight: true, isRetrans: retrans, wantSample: true, early: early, earlyWasSpurious: p.earlyWasSpurious}
}

// MayBeEarly reports whether a probe may be early: no early one was spurious so far.
func (p *tlpState) MayBeEarly() bool { return !p.earlyWasSpurious }

// Sampled records an RTT sample.
func (p *tlpState) Sampled() { p.wantSample = false }

// Reset forgets a probe in flight when a recovery starts (RFC 8985 §7.1). The wait for an RTT
// sample goes on.
func (p *tlpState) Reset() {
	*p = tlpState{wantSample: p.wantSample, earlyWasSpurious: p.earlyWasSpurious, due: p.due}
}

// tlpAck describes an ACK to tlpState.
type tlpAck struct {
	Ack        Seq
	DSACKProbe bool // a DSACK covers the probe
	DupNoSACK  bool // it is a duplicate ACK without SACK
}

// Acked is TLP_process_ack of RFC 8985 §7.4.2. repaired reports that a retransmitted probe repaired
// a loss that nothing else has revealed; congestion control must respond to it.
func (p *tlpState) Acked(a tlpAck) (repaired bool) {
	if !p.inFlight || a.Ack.Before(p.endSeq) {
		return false
	}
	switch {
	case !p.isRetrans: // the probe was new data, and arrived
	case a.DSACKProbe: // the original and the probe arrived
		p.earlyWasSpurious = p.earlyWasSpurious || p.early
	case a.Ack.After(p.endSeq):
		repaired = true
	case a.DupNoSACK: // the probe was a duplicate for a receiver without DSACK
		p.earlyWasSpurious = p.earlyWasSpurious || p.early
	default:
		return false // undecided
	}
	p.inFlight, p.isRetrans, p.early = false, false, false
	return repaired
}
