package tcp

import (
	"time"

	"tcpwheel/wheel"
)

// delAckEvidence is what the ACKs of a flight have shown of when the peer acknowledges, for the
// loss probe behind the flight's last segment. The zero value is the start of a flight; so is
// Reset, for every ACK that is no evidence: one that bears data or congestion marks, tells of loss
// or duplicates, is of what was sent again, or covers a part of a segment.
//
// A peer that puts off the ACK of one segment until the next has come, or a timer has expired,
// cannot have acknowledged one that others followed closely by itself and soon. Three such ACKs in
// a row are the mark of a peer that acknowledges each segment at once, as Linux does with the first
// 16 of a connection, and again after idle times. One that covers two segments or more says nothing
// of a single one: it is what peers send that put off others, and those for which segments are
// merged before they see them. So the count of single ones begins anew with it; and behind an even
// flight that was acknowledged two by two, of which the last is lost, two are outstanding anyway.
//
// Evidence can mislead, as the peer may change its mind behind the last ACK that was seen: the 17th
// segment of a connection, if it is the last of its flight, is put off after 16 that were not. TLP
// counts that, and believes no second time.
//
// All methods cost O(1).
type delAckEvidence struct {
	at     wheel.Time // when the last ACK came
	sent   wheel.Time // when the last segment had left that it covered
	prompt uint8      // ACKs in a row that came at once, held at 255
	single uint8      // of these, in a row and up to the last, those of one segment
}

const (
	// minLoneAcks is how many ACKs of one segment in a row show that the peer puts off none. Two
	// are what Linux sends after a congestion mark, before it puts off others again
	// (tcp_enter_quickack_mode).
	minLoneAcks = 3

	// minPromptGap is how far apart ACKs are at least taken to be close: what hosts scatter them
	// by.
	minPromptGap = time.Millisecond
)

// evidenceAck is what delAckEvidence has to know of an ACK.
type evidenceAck struct {
	Segments  int           // that it covers, 1 at least, all of which were sent once
	Sent      wheel.Time    // when the last of them had left
	RTT, SRTT time.Duration // since the first of them had left, and the smoothed one
}

// Acked is told of an ACK that is evidence. The first of a row has come at once if it took not much
// longer than SRTT, and each later one if it follows closely.
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

// Reset forgets all.
func (p *delAckEvidence) Reset() { *p = delAckEvidence{} }

// Prompt reports whether the last ACK came at once, and the segment that left at sent belongs to
// the flight that it was of. The peer's ACK of that one would then come at once too if it
// acknowledges every second one, and another is outstanding.
func (p *delAckEvidence) Prompt(sent wheel.Time, srtt time.Duration) bool {
	return p.prompt > 0 && sent.Sub(p.sent) <= promptGap(srtt)
}

// PromptAlone is Prompt where no other is outstanding.
func (p *delAckEvidence) PromptAlone(sent wheel.Time, srtt time.Duration) bool {
	return p.single >= minLoneAcks && p.Prompt(sent, srtt)
}

// promptGap is how far apart what is close may be. It is half of a round trip, as an ACK that is
// put off by no more than that comes before any probe.
func promptGap(srtt time.Duration) time.Duration { return max(srtt/2, minPromptGap) }
