package capture

import "cmp"

// NextFrame returns the next packet of the file, of whatever kind, and its TCP segment. p is nil if
// it has none. Both are valid until the next call, and so is f's Data. Errors are those of Next.
//
// A datagram in fragments is the segment of its last fragment, and none if one is missing. Use
// either Next or NextFrame on a Reader.
func (r *Reader) NextFrame() (f Frame, p *Packet, err error) {
	if r.err != nil {
		return f, nil, r.err
	}
	ok, err := r.step()
	if err = cmp.Or(err, r.err); err != nil {
		return f, nil, err
	}
	for len(r.d.frags.late) > 0 {
		r.d.frags.nextLate()
	}
	f = Frame{
		Time: r.rec.time, Data: r.rec.data, Length: max(r.rec.length, uint32(len(r.rec.data))), LinkType: r.file.interfaces()[r.rec.iface].LinkType,
		Device: r.d.p.Device, Direction: r.d.p.Direction,
		PartialChecksum: r.rec.problems.Has(PartialChecksum), Interface: r.rec.iface,
	}
	if ok {
		p = r.d.p
	}
	return f, p, nil
}
