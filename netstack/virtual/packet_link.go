package virtual

import (
	"gvisor.dev/gvisor/pkg/tcpip/header"

	"tcpwheel/netstack/sim"
	"tcpwheel/wheel"
)

// PacketLink is a sim.Link for IP packets: it finds the place of their data in its stream, and
// marks and corrupts them. It needs no clock: the caller delivers them. It is not safe for
// concurrent use.
type PacketLink struct {
	link     *sim.Link
	before   sim.LinkCounts // of earlier models
	streams  streams
	attempts map[attemptKey]uint32 // nil unless the model asks for attempts
}

// attemptKey identifies data by its flow and its first byte.
type attemptKey struct {
	flow  flowKey
	start uint64
}

// NewPacketLink makes a link. Its arguments and error are those of sim.NewLink.
func NewPacketLink(cfg sim.LinkConfig, key uint64) (*PacketLink, error) {
	l := &PacketLink{streams: streams{}}
	if err := l.Change(cfg, key); err != nil {
		return nil, err
	}
	return l, nil
}

// Change replaces the model for the packets from now on. Its queue begins empty. On error nothing
// changes.
func (l *PacketLink) Change(cfg sim.LinkConfig, key uint64) error {
	link, err := sim.NewLink(cfg, key)
	if err != nil {
		return err
	}
	l.before, l.link = l.Counts(), link
	for _, loss := range cfg.Loss {
		// It is the only model that asks for attempts.
		if _, ok := loss.(sim.LostRanges); ok && l.attempts == nil {
			l.attempts = map[attemptKey]uint32{}
		}
	}
	return nil
}

// Send decides the fate of a packet that enters the link at now. It sets all fields of p but Tag
// and Causes from p.Bytes, and changes the bytes of a packet that is marked or corrupted.
func (l *PacketLink) Send(now wheel.Time, p *Packet) sim.Fate {
	l.streams.parse(p)
	var ip header.Network = header.IPv4(p.Bytes)
	if p.Bytes[0]>>4 == 6 {
		ip = header.IPv6(p.Bytes)
	}
	tos, label := ip.TOS()
	fate := l.link.Send(now, &sim.Packet{
		Start: p.Start, End: p.End, Attempt: l.attempt(p), Size: p.Size, ECN: sim.ECN(tos & 3),
	})
	if fate.Outcome != sim.Delivered {
		return fate
	}
	if fate.Marked {
		ip.SetTOS(tos|uint8(sim.CE), label)
		if v4, ok := ip.(header.IPv4); ok {
			v4.SetChecksum(0)
			v4.SetChecksum(^v4.CalculateChecksum())
		}
	}
	if fate.Corrupt {
		p.Bytes[fate.Bit/8] ^= 1 << (7 - fate.Bit%8)
	}
	return fate
}

// attempt returns the number of transmissions of the packet's data, this one included.
func (l *PacketLink) attempt(p *Packet) uint32 {
	if l.attempts == nil || p.Start == p.End {
		return 1
	}
	k := attemptKey{p.flow(), p.Start}
	l.attempts[k]++
	return l.attempts[k]
}

// Counts returns the counters of all models since NewPacketLink.
func (l *PacketLink) Counts() sim.LinkCounts {
	sum := l.before
	if l.link != nil {
		sum.Add(l.link.Counts())
	}
	return sum
}
