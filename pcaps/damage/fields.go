package damage

import (
	"encoding/binary"

	"tcpwheel/pcaps/capture"
)

// timestamps returns the bytes of a segment's timestamp option (RFC 7323 §3), nil if there is none
// or it is cut.
func timestamps(b []byte, h headers) []byte {
	const end, nop, kind, size = 0, 1, 8, 10
	o := b[min(len(b), h.tcp+20):min(len(b), h.payload)]
	for len(o) > 0 && o[0] != end {
		switch {
		case o[0] == nop:
			o = o[1:]
			continue
		case len(o) < 2 || o[1] < 2 || int(o[1]) > len(o):
			return nil
		case o[0] == kind && o[1] == size:
			return o[:size]
		}
		o = o[o[1]:]
	}
	return nil
}

// onStamps passes the packet with f called on its timestamp option, if it has one.
func (j *job) onStamps(p *Packet, f func(option []byte)) error {
	if !p.at.known() || timestamps(p.Data, p.at) == nil {
		if p.Segment != nil && (!p.at.known() || p.Segment.Header.Options.HasTimestamps) {
			j.counts.Unfit++
		}
		return j.pass(p)
	}
	return j.change(p, func(b []byte, h headers) bool {
		f(timestamps(b, h))
		return true
	})
}

// garbleEchoes replaces TSecr.
func garbleEchoes(j *job, p *Packet) error {
	return j.onStamps(p, func(option []byte) {
		if echo := option[6:]; binary.BigEndian.Uint32(echo) != 0 {
			binary.BigEndian.PutUint32(echo, max(1, j.rng.Uint32()))
		}
	})
}

// removeStamps replaces the option by no-operations.
func removeStamps(j *job, p *Packet) error {
	return j.onStamps(p, func(option []byte) {
		for i := range option {
			option[i] = 1
		}
	})
}

// scaleStamps multiplies TSval and TSecr, so that echoes still match.
func scaleStamps(j *job, p *Packet) error {
	return j.onStamps(p, func(option []byte) {
		for _, field := range [][]byte{option[2:], option[6:]} {
			v := binary.BigEndian.Uint32(field)
			binary.BigEndian.PutUint32(field, v*j.value.mul/j.value.div)
		}
	})
}

// replaceIDs replaces IPv4's identifications.
func replaceIDs(j *job, p *Packet) error {
	id := uint16(0)
	if j.value.word == "random" && p.Segment != nil {
		id = j.randomID(p.Segment, p.Number)
	}
	return j.change(p, func(b []byte, h headers) bool {
		if h.v6 {
			return false
		}
		binary.BigEndian.PutUint16(b[h.ip+4:], id)
		return true
	})
}

// randomID draws an identification for a segment. Copies of a packet have the same, as its sender
// drew it once; without identifications, copies cannot be told from retransmissions.
func (j *job) randomID(p *capture.Packet, number int64) uint16 {
	if j.state == nil {
		j.state = j.rng.Uint64()
	}
	h := j.state.(uint64)
	if p.ID == 0 {
		h ^= uint64(number)
	}
	for _, v := range []uint64{
		uint64(p.ID), uint64(p.Header.Seq)<<32 | uint64(p.Header.Ack), uint64(p.Header.Options.TSVal)<<32 | uint64(p.Header.Options.TSEcr),
		uint64(p.Src.Port())<<48 | uint64(p.Dst.Port())<<32 | uint64(p.Len),
	} {
		h = (h ^ v + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
		h ^= h >> 31
	}
	return uint16(h >> 17)
}
