package tcp

import (
	"time"

	"tcpwheel/wheel"
)

// pawsIdle is how long TS.Recent stays valid. RFC 7323 §5.5: "We therefore require that an
// implementation of PAWS include a mechanism to "invalidate" the TS.Recent value when a connection
// is idle for more than 24 days."
const pawsIdle = 24 * 24 * time.Hour

// pawsResult is the result of the PAWS check.
type pawsResult uint8

const (
	pawsFresh   pawsResult = iota // process the segment
	pawsOld                       // R1: acknowledge and drop it
	pawsMissing                   // drop it silently: it lacks the negotiated timestamp
)

// pawsState protects against wrapped sequence numbers (RFC 7323 §5) on a connection with
// timestamps. The zero value has no TS.Recent. All methods cost O(1).
type pawsState struct {
	updated wheel.Time // when recent was recorded
	recent  uint32     // TS.Recent
	valid   bool
}

// Start records the timestamp of the peer's SYN.
func (p *pawsState) Start(now wheel.Time, tsval uint32) {
	p.recent, p.updated, p.valid = tsval, now, true
}

// Recent returns TS.Recent, which the next segment echoes, and whether there is one.
func (p *pawsState) Recent() (tsval uint32, ok bool) { return p.recent, p.valid }

// Check checks a segment's timestamp tsval, if has, before its sequence number is checked. It
// discards a TS.Recent older than 24 days. A clock that steps back counts as no time passing.
func (p *pawsState) Check(now wheel.Time, has bool, tsval uint32, rst bool) pawsResult {
	switch {
	case rst:
		// RFC 7323 §5.3, R1: only "if the RST bit is not set" may a timestamp reject a segment,
		// because a RST need not have one.
		return pawsFresh
	case !has:
		// RFC 7323 §3.2: "If a non-<RST> segment is received without a TSopt, a TCP SHOULD silently
		// drop the segment."
		return pawsMissing
	case p.valid && tsBefore(tsval, p.recent):
		if now.Sub(p.updated) > pawsIdle {
			p.valid = false
			return pawsFresh
		}
		return pawsOld
	}
	return pawsFresh
}

// Record sets TS.Recent to the timestamp of a segment that passed Check and the window test, unless
// R3 forbids it. lastAckSent is Last.ACK.sent.
func (p *pawsState) Record(now wheel.Time, tsval uint32, seq, lastAckSent Seq) {
	// RFC 7323 §5.3, R3: "If an arriving segment satisfies SEG.TSval >= TS.Recent and SEG.SEQ <=
	// Last.ACK.sent (see Section 4.3), then record its timestamp in TS.Recent."
	if p.valid && tsBefore(tsval, p.recent) || seq.After(lastAckSent) {
		return
	}
	p.Start(now, tsval)
}

// tsBefore reports whether timestamp s is older than t, as in RFC 7323 §5.2: 0 < t - s < 2^31.
func tsBefore(s, t uint32) bool { return int32(s-t) < 0 }
