package capture

import "tcpwheel/wheel"

// Frame is a packet of a live capture.
type Frame struct {
	Time      wheel.Time // ns since 1970, UTC
	Data      []byte     // the bytes kept
	Length    uint32     // on the wire; at least len(Data)
	LinkType  uint16     // tcpdump.org's number
	Device    uint32     // interface index; 0 if all are of one
	Interface int        // in its file, from 0
	Direction Direction

	// The sender has left the checksum to its network interface. The decoder finds this too, if Data
	// is the whole packet.
	PartialChecksum bool
}

// Live finds the TCP segments in a live capture, as a Reader does in a file. The zero value has
// seen no packet. It is not safe for concurrent use.
type Live struct {
	segments
	on  Interface
	rec record
	one Packet // the last one
}

// Decode decodes a packet and returns its TCP segment, valid until the next call and as long as the
// frame's data. ok is false if there is none; Stats counts why. Packets are numbered from 1. It
// costs less than 100 ns and does not allocate in the steady state. A datagram with missing
// fragments is dropped, not returned late.
func (l *Live) Decode(f *Frame) (p *Packet, ok bool) {
	for len(l.d.frags.late) > 0 {
		l.d.frags.nextLate()
	}
	l.d.p = &l.one
	l.on.LinkType = f.LinkType
	l.on.Packets++
	l.rec = record{time: f.Time, data: f.Data, length: f.Length, direction: f.Direction}
	if f.PartialChecksum {
		l.rec.problems = PartialChecksum
	}
	if !l.decode(&l.rec, &l.on) {
		return nil, false
	}
	l.one.Device, l.one.Interface = f.Device, f.Interface
	return &l.one, true
}

// Stats returns the counts so far. Bytes is 0.
func (l *Live) Stats() Stats { return l.stats }
