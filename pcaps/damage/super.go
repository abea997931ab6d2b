package damage

import (
	"encoding/binary"
	"slices"
	"time"

	"tcpwheel/netstack/tcp"
)

// longestSegment is the longest payload of a segment on an Ethernet wire.
const longestSegment = 1460

// addSegments adds the segments on the wire behind each super-packet.
func addSegments(j *job, p *Packet) error {
	if err := j.pass(p); err != nil || p.Segment == nil || int64(p.Segment.Len) <= max(longestSegment, j.value.n) {
		return err
	}
	if !p.plain() || p.Segment.Header.Flags.Has(tcp.SYN) {
		j.counts.Unfit++
		return nil
	}
	for i, s := range p.segments(uint32(j.value.n)) {
		// Of the public captures: 10 µs behind, and a microsecond each.
		s.Time = p.Time.Add(10*time.Microsecond + time.Duration(i)*time.Microsecond)
		j.add(s)
	}
	return nil
}

// segments cuts a super-packet into segments of at most size bytes. Their identifications count
// from the super-packet's, and only the last one has PSH or FIN.
func (p *Packet) segments(size uint32) (all []*Packet) {
	for from := uint32(0); from < p.Segment.Len; from += size {
		to := min(from+size, p.Segment.Len)
		q := p.slice(from, to, func(b []byte, h headers) {
			if !h.v6 {
				id := b[h.ip+4:]
				binary.BigEndian.PutUint16(id, binary.BigEndian.Uint16(id)+uint16(len(all)))
			}
			binary.BigEndian.PutUint32(b[h.tcp+4:], uint32(p.Segment.Header.Seq.Add(from)))
			if to < p.Segment.Len {
				b[h.tcp+13] &^= byte(tcp.PSH | tcp.FIN)
			}
		})
		q.Added = true
		all = append(all, q)
	}
	return all
}

// run is segments of one direction, each right behind the one before, that left together.
type run []*Packet

// last returns the last segment.
func (r run) last() *Packet { return r[len(r)-1] }

// mostJoined is the largest payload of a joined packet: its length fits into the IP header.
const mostJoined = 64_000

// fits reports whether a segment continues the run, as Linux's tcp_gro_receive has it: the same
// options and ACK, and all segments but the last of one size.
func (r run) fits(p *Packet) bool {
	first, last := r[0].Segment, r.last().Segment
	a, b := last.Header, p.Segment.Header
	total := b.Seq.Sub(first.Header.Seq)
	return p.Segment.Src == first.Src && p.Segment.Dst == first.Dst && b.Seq == a.Seq.Add(last.Len) && b.Ack == a.Ack && a.Options == b.Options && !a.Flags.Has(tcp.PSH) &&
		last.Len == first.Len && p.Segment.Len <= first.Len && total+p.Segment.Len <= mostJoined &&
		p.LinkType == r[0].LinkType && p.Interface == r[0].Interface && p.at == r[0].at
}

// collectRun collects the open runs, and delays all packets by the parameter's time.
func collectRun(j *job, p *Packet) error {
	open, _ := j.state.([]run)
	if p.Segment != nil && p.Segment.Len > 0 && !p.plain() {
		j.counts.Unfit++
	}
	plain := p.Segment != nil && p.Segment.Len > 0 && p.plain() && p.Segment.Header.Flags&^tcp.PSH == tcp.ACK
	taken := false
	open = slices.DeleteFunc(open, func(r run) bool {
		if p.Time.Sub(r[0].Time).Abs() > j.value.span {
			j.join(r)
			return true
		}
		return false
	})
	open = slices.DeleteFunc(open, func(r run) bool {
		if p.Segment == nil {
			return false
		}
		s := r[0].Segment
		if s.Src == p.Segment.Dst && s.Dst == p.Segment.Src { // perhaps the answer to it
			j.join(r)
			return true
		}
		if s.Src != p.Segment.Src || s.Dst != p.Segment.Dst || plain && r.fits(p) {
			return false
		}
		j.join(r)
		return true
	})
	if i := slices.IndexFunc(open, func(r run) bool { return plain && r.fits(p) }); i >= 0 {
		open[i], taken = append(open[i], p), true
	}
	switch {
	case plain && !taken:
		open = append(open, run{p})
	case !taken:
		j.later(p)
	}
	j.state = open
	return j.release(p.Time.Add(-j.value.span - 1))
}

// endRuns joins what is open.
func endRuns(j *job) error {
	open, _ := j.state.([]run)
	for _, r := range open {
		j.join(r)
	}
	return nil
}

// join writes the packets of a run: joined for gro, and besides for tso.
func (j *job) join(r run) {
	if len(r) == 1 {
		j.later(r[0])
		return
	}
	joined := r.join()
	if j.Name == "gro" {
		joined.Time = r.last().Time
		j.counts.Changed++
		j.counts.Dropped += int64(len(r) - 1)
		j.later(joined)
		return
	}
	joined.Added = true
	j.add(joined)
	for _, p := range r {
		j.later(p)
	}
}

// join returns the super-packet of a run, at the time of its first segment.
func (r run) join() *Packet {
	first := r[0]
	h, c := first.at, first.checksums()
	q := *first
	segment := *first.Segment
	q.Segment, q.Data, q.More = &segment, append([]byte(nil), first.Data[:h.payload]...), nil
	segment.Len = 0
	whole := true
	for i, p := range r {
		if i > 0 {
			q.More = append(append(q.More, p.Number), p.More...)
		}
		segment.Len += p.Segment.Len
		if end := p.at.end(p.Segment.Len); whole {
			q.Data = append(q.Data, p.Data[h.payload:min(len(p.Data), end)]...)
			whole = end <= len(p.Data)
		}
	}
	q.Length = uint32(h.end(segment.Len))
	setLength(q.Data, h, segment.Len)
	q.Data[h.tcp+13] |= r.last().Data[h.tcp+13]
	c.tcp = sumPartial // as the kernel leaves it
	q.restore(c, segment.Len, true)
	return &q
}
