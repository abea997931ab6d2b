package tcp

import (
	"time"

	"tcpwheel/wheel"
)

// delAckEvidence records whether the ACKs of a flight came promptly. The loss probe after the
// flight's last segment uses it: if the peer does not delay ACKs, the probe can be sent earlier.
// The zero value is the start of a flight. Reset is called for every ACK that is no evidence: one
// with data or congestion marks, one that shows loss or duplicates, one of a retransmission, or one
// that covers part of a segment.
//
// A peer that delays the ACK of a lone segment cannot have acknowledged one promptly that others
// followed closely. Three such ACKs of one segment in a row are taken as proof that the peer
// acknowledges each segment at once. Linux does so for the first 16 segments of a connection and
// after idle times.
//
// An ACK of two or more segments says nothing about a lone one. Peers that delay ACKs send them,
// and so do peers whose network card merges segments. It restarts the count of lone ACKs.
//
// The evidence can mislead, since a peer may change its mode after the last ACK seen. For example,
// a Linux peer delays the ACK of the 17th segment of a connection. TLP then records the spurious
// early probe and never sends another.
//
// All methods cost O(1).
type delAckEvidence struct {
	at     wheel.Time // when the last ACK arrived
	sent   wheel.Time // when the last segment that it covered was sent
	prompt uint8      // prompt ACKs in a row, up to 255
	single uint8      // of these, the latest run that covered one segment each
}

const (
	// minLoneAcks is how many ACKs of one segment in a row show that the peer delays none. Linux
	// sends two after a congestion mark before it delays again (tcp_enter_quickack_mode).
	minLoneAcks = 3

	// minPromptGap is the smallest gap between ACKs that counts as close: the jitter of hosts.
	minPromptGap = time.Millisecond
)

// evidenceAck describes an ACK to delAckEvidence.
type evidenceAck struct {
	Segments  int           // segments covered, at least 1, each sent once
	Sent      wheel.Time    // when the last of them was sent
	RTT, SRTT time.Duration // since the first of them was sent, and the smoothed RTT
}

// Acked records an ACK that is evidence. The first of a row is prompt if its RTT is not much longer
// than SRTT; each later one is prompt if it follows closely.
func (p *delAckEvidence) Acked(now wheel.Time, a evidenceAck) {
	near := promptGap(a.SRTT)
	if p.prompt == 0 || now.Sub(p.at) > near || a.Sent.Sub(p.sent) > near {
		p.Reset()
		if a.RTT > a.SRTT+near {
			return
		}
	}
	p.at, p.sent = now, a.Sent
	p.prompt += min(1, 255-p.prompt)
	p.single += min(1, 255-p.single)
	if a.Segments != 1 {
		p.single = 0
	}
}

// Reset forgets all evidence.
func (p *delAckEvidence) Reset() { *p = delAckEvidence{} }

// Prompt reports whether the last ACK was prompt and the segment sent at sent belongs to the same
// flight. A peer that acknowledges every second segment would then acknowledge it promptly, if
// another is outstanding.
func (p *delAckEvidence) Prompt(sent wheel.Time, srtt time.Duration) bool {
	return p.prompt > 0 && sent.Sub(p.sent) <= promptGap(srtt)
}

// PromptAlone is Prompt for a lone outstanding segment.
func (p *delAckEvidence) PromptAlone(sent wheel.Time, srtt time.Duration) bool {
	return p.single >= minLoneAcks && p.Prompt(sent, srtt)
}

// promptGap returns the largest gap that counts as close. It is half the RTT: an ACK delayed by no
// more than that arrives before any probe.
func promptGap(srtt time.Duration) time.Duration { return max(srtt/2, minPromptGap) }
