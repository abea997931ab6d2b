package tcptimers

import (
	"math/rand"
	"time"

	"tcpwheel/wheel"
)

// RexmitMode is which instant the retransmission timer counts from.
type RexmitMode uint8

const (
	// RexmitPerSegment has a timer for each segment in flight, which expires RTO after the
	// segment's own last transmission. That is the tightest of what RFC 6298 §5 allows: "a
	// segment is never retransmitted too early, i.e., less than one RTO after the previous
	// transmission of that segment."
	RexmitPerSegment RexmitMode = iota

	// RexmitRestart has one timer. RFC 6298 §5 (5.3): "When an ACK is received that acknowledges new
	// data, restart the retransmission timer so that it will expire after RTO seconds (for the
	// current value of RTO)."
	RexmitRestart

	// RexmitRTORestart has one timer. If there are too few segments for a fast retransmit, a
	// restart sets it to RTO after the earliest outstanding segment was sent (RFC 7765 §4).
	RexmitRTORestart

	rexmitModes
)

var rexmitModeNames = [rexmitModes]string{"per-segment", "restart", "rto-restart"}

// Names returns the names of the modes, in order.
func (RexmitMode) Names() []string { return rexmitModeNames[:] }

// String returns "per-segment", "restart" or "rto-restart".
func (m RexmitMode) String() string { return nameOf("RexmitMode", rexmitModeNames[:], m) }

// RRThresh is rrthresh of RFC 7765 §4, four as recommended: with fewer segments outstanding and
// unsent, the three duplicate ACKs of a fast retransmit cannot arrive.
const RRThresh = 4

// Flight is the state that a retransmission timer is set from.
type Flight struct {
	Sent     wheel.Time // last transmission of the timer's segment; RexmitPerSegment only
	Earliest wheel.Time // last transmission of the earliest outstanding segment; RexmitRTORestart only
	Segments int        // segments outstanding or unsent; RexmitRTORestart only
}

// RexmitDeadline returns the instant for which to arm the retransmission timer now, with a
// timeout of rto. It is for all occasions: a segment was sent, an ACK of new data arrived (RFC
// 6298 §5, 5.1 and 5.3), or the timer expired but the RTO has grown since it was armed. If the
// result is not after now, the timeout has passed already.
//
// Except under RexmitPerSegment there is one timer: a sender of a segment arms it only if it is
// not running.
func (p *Policy) RexmitDeadline(now wheel.Time, rto time.Duration, f Flight) wheel.Time {
	switch p.Rexmit {
	case RexmitPerSegment:
		return p.Deadline(f.Sent, rto)
	case RexmitRTORestart:
		// RFC 7765 §4: below the threshold, the time that the earliest segment has been
		// outstanding is subtracted, unless nothing would be left. Otherwise RFC 6298 restarts
		// the timer in full.
		if f.Segments < RRThresh && now.Sub(f.Earliest) < rto {
			return p.Deadline(f.Earliest, rto)
		}
	}
	return p.Deadline(now, rto)
}

// Randomize returns rto times a factor that is uniform from 1 to 1+Policy.Jitter, so that senders
// that lost segments together do not retransmit them together: (RTO + rand(0.5)·RTO)·2^backoff,
// where rto includes the backoff (V. Vasudevan et al., "Safe and Effective Fine-grained TCP
// Retransmissions for Datacenter Communication", SIGCOMM 2009). It is never early, and may exceed
// the ceiling by the factor. Without jitter it returns rto, and rng may be nil.
func (p *Policy) Randomize(rto time.Duration, rng *rand.Rand) time.Duration {
	if p.Jitter == 0 {
		return rto
	}
	return rto + time.Duration(rng.Float64()*p.Jitter*float64(rto))
}

// GivesUp reports whether to close the connection instead of retransmitting a segment that was
// first sent at first and retransmitted rexmits times. RFC 9293 §3.8.3: R2 is a time or a count
// of retransmissions. Here it is whichever of Policy.R2 and Policy.MaxRexmits is reached first.
func (p *Policy) GivesUp(now, first wheel.Time, rexmits int) bool {
	return p.MaxRexmits > 0 && rexmits >= p.MaxRexmits || p.R2 > 0 && now.Sub(first) >= p.R2
}

// BacksOffSyn reports whether a timeout of the SYN of an active open doubles the next one, after
// rexmits retransmissions. The first Policy.SynLinearTimeouts do not.
//
// DEVIATION RFC 6298 §5 (5.5), MUST: they leave the RTO as it is. Linux since 6.5 has four
// (net.ipv4.tcp_syn_linear_timeouts), "to retransmit SYNs with a linear backoff timeout before
// defaulting to an exponential backoff timeout. This has no effect on SYNACK at the passive TCP
// side" (Documentation/networking/ip-sysctl.rst). Its SYNs leave 1, 1, 1, 1, 1, 2, 4 s … after
// each other.
func (p *Policy) BacksOffSyn(rexmits int) bool { return rexmits >= p.SynLinearTimeouts }

// R2Syn returns R2 of a SYN: Policy.SynR2, and for an active open also the duration of the
// timeouts that do not back off. In Linux too they add to tcp_syn_retries (tcp_write_timeout in
// net/ipv4/tcp_timer.c).
func (p *Policy) R2Syn(active bool) time.Duration {
	if !active {
		return p.SynR2
	}
	return p.SynR2 + time.Duration(p.SynLinearTimeouts)*p.Bounds.clamp(p.Bounds.Initial)
}

// GivesUpSyn is GivesUp for a SYN, whose R2 is R2Syn. RFC 9293 §3.8.3: "R2 for a SYN segment MUST
// be set large enough to provide retransmission of the segment for at least 3 minutes (MUST-23)."
func (p *Policy) GivesUpSyn(now, first wheel.Time, active bool) bool {
	return now.Sub(first) >= p.R2Syn(active)
}
