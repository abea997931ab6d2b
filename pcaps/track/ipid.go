package track

import "tcpwheel/pcaps/capture"

// ipIDs tells the order of transmissions from the IP identification, where the host increments it
// by little from packet to packet.
type ipIDs struct {
	last      uint16
	any       bool
	runs      int8   // reliability: +1 for each increment, -2 for any other step
	near, far uint16 // steps by up to maxIdentStep, either way, and others
	newest    uint16 // of the packet with the last new data; 0 if it has none
}

const (
	// maxIdentStep is the largest step between packets of a flow: other packets of the host may lie
	// between.
	maxIdentStep = 256

	// identRuns is the least reliability at which order answers.
	identRuns = 2
)

// ipID returns p's IP identification, 0 if it has none.
func ipID(p *capture.Packet) uint16 {
	if !p.HasID || p.ID > 0xffff {
		return 0
	}
	return uint16(p.ID)
}

// note records p's identification.
func (d *ipIDs) note(p *capture.Packet) {
	id := ipID(p)
	if d.any && id != 0 && id != d.last {
		if step := int16(id - d.last); step <= maxIdentStep && step >= -maxIdentStep {
			d.near = min(d.near+1, 1<<12)
		} else {
			d.far = min(d.far+1, 1<<12)
		}
	}
	if step := id - d.last; d.any && id != 0 && step >= 1 && step <= maxIdentStep {
		d.runs = min(d.runs+1, 8)
	} else if d.any {
		d.runs = max(d.runs-2, -8)
	}
	d.last, d.any = id, true
}

// follows reports whether id directly follows that of the last packet, so that no packet between
// them is missing.
func (d *ipIDs) follows(id uint16) bool {
	return d.any && id != 0 && id-d.last == 1 && d.runs >= identRuns
}

// behind reports whether the packet with an identification left before the last new data did: the
// host counts its packets, if not in the order of the file.
func (d *ipIDs) behind(id uint16) bool {
	step := d.newest - id
	return id != 0 && d.newest != 0 && step >= 1 && step <= 4*maxIdentStep && d.near >= identRuns && d.near > 8*d.far
}

// order returns -1 if the packet with identification a was sent before that with b, 1 if after, and
// 0 if unknown.
func (d *ipIDs) order(a, b uint16) int {
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
