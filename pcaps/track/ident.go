package track

import "tcpwheel/pcaps/capture"

// idents tells from IP's identification in which order packets were sent, where their host counts it up by little from one to the
// next.
type idents struct {
	last uint16
	any  bool
	runs int8 // how far it can be relied on: more for each that counts up, less for each other
}

const (
	// A step of the identification from one packet to the next is that long at most: others of the host may be in between.
	maxIdentStep = 256

	// identRuns is from when on it is relied on.
	identRuns = 2
)

// identOf returns the identification of a packet, 0 if it has none.
func identOf(p *capture.Packet) uint16 {
	if !p.HasID || p.ID > 0xffff {
		return 0
	}
	return uint16(p.ID)
}

// note takes the packet's in.
func (d *idents) note(p *capture.Packet) {
	id := identOf(p)
	if step := id - d.last; d.any && id != 0 && step >= 1 && step <= maxIdentStep {
		d.runs = min(d.runs+1, 8)
	} else if d.any {
		d.runs = max(d.runs-2, -8)
	}
	d.last, d.any = id, true
}

// follows reports whether an identification is the very next after that of the last packet, so that nothing that was not
// captured was sent in between.
func (d *idents) follows(id uint16) bool {
	return d.any && id != 0 && id-d.last == 1 && d.runs >= identRuns
}

// order returns -1 if the packet with the identification a was sent before that with b, 1 if after it, and 0 if it cannot be told.
func (d *idents) order(a, b uint16) int {
	if a == 0 || b == 0 || d.runs < identRuns {
		return 0
	}
	switch step := int16(a - b); {
	case step > 0 && step < 16*maxIdentStep:
		return 1
	case step < 0 && step > -16*maxIdentStep:
		return -1
	}
	return 0
}
