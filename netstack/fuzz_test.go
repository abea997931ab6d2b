package netstack

import (
	"encoding/binary"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"

	"tcpwheel/netstack/tcp"
)

// FuzzPackets gives a stack arbitrary segments and ICMP messages: to a listener, to a connection
// that its program reads and writes, and to ports without either. No input may panic or break an
// invariant, which is checked after each step. TestMain finds leaked buffers.
//
// The input is a list of packets of 12 bytes and more:
//
//	0  bit 0: ICMP; bit 1: from another port; bit 2: to a closed port; bit 3: a wrong checksum;
//	   bit 4: the program reads before; bit 5: it writes before; bit 6: it closes before
//	1  flags, or the ICMP code
//	2  sequence number, less the next one expected (int16)
//	4  acknowledgment number, less that of all data sent (int16)
//	6  window, or the MTU of ICMP
//	8  data offset and urgent pointer's lower 4 bits
//	9  bytes of options that follow
//	10 bytes of payload, in units of 16
//	11 milliseconds that pass before, squared
func FuzzPackets(f *testing.F) {
	packet := func(ctl, flags byte, seq, ack int16, win uint16, options []byte, payload, ms byte) []byte {
		b := []byte{ctl, flags}
		b = binary.BigEndian.AppendUint16(b, uint16(seq))
		b = binary.BigEndian.AppendUint16(b, uint16(ack))
		b = binary.BigEndian.AppendUint16(b, win)
		words := byte(header.TCPMinimumSize+len(options)+3) / 4
		return append(append(b, words<<4, byte(len(options)), payload, ms), options...)
	}
	sack := []byte{header.TCPOptionNOP, header.TCPOptionNOP, header.TCPOptionSACK, 10, 0, 0, 5, 0, 0, 0, 6, 0}
	seeds := [][]byte{
		packet(0, 0x10, 0, 0, 65535, nil, 4, 1),
		packet(0x20, 0x10, 0, 0, 100, nil, 0, 200),
		packet(0, 0x11, 0, 0, 65535, nil, 0, 10),
		packet(0, 0x14, 0, 0, 0, nil, 0, 0),
		packet(2, 0x02, 0, 0, 65535, []byte{2, 4, 5, 0xb4}, 0, 0),
		packet(4, 0x02, 0, 0, 65535, nil, 0, 0),
		packet(1, byte(header.ICMPv4FragmentationNeeded), 0, 0, 600, nil, 0, 0),
		packet(0x20, 0x10, 16, 0, 65535, sack, 1, 30),
		packet(0x40, 0x18, 0, 0, 65535, nil, 200, 5),
	}
	for _, s := range seeds {
		f.Add(s)
	}
	f.Add(append(append([]byte{}, seeds[1]...), seeds[7]...))
	cfg := DefaultConfig()
	cfg.CheckInvariants, cfg.Shards = true, 1
	protocol, err := NewProtocolWith(cfg)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := newRig(t, protocol, true)
		_, c, p := r.established()
		for n := 0; len(b) >= 12 && n < 64; n++ {
			b = r.fuzzed(c, p, b)
		}
		r.pass(10 * time.Minute)
	})
}

// fuzzed delivers the packet at the beginning of b and returns the rest.
func (r *rig) fuzzed(c *rigSocket, p *rigPeer, b []byte) (rest []byte) {
	ctl, flags, rest := b[0], b[1], b[12:]
	seq, ack := int16(binary.BigEndian.Uint16(b[2:])), int16(binary.BigEndian.Uint16(b[4:]))
	options := rest[:min(len(rest), int(b[9]), 40)]
	rest = rest[len(options):]
	r.pass(time.Duration(b[11]) * time.Duration(b[11]) * time.Millisecond)
	if ctl&16 != 0 {
		c.read()
	}
	if ctl&32 != 0 {
		c.write(1000 + int(b[10]))
	}
	if ctl&64 != 0 {
		c.close()
	}
	if ctl&1 != 0 {
		if p.packet != nil {
			p.icmp(header.ICMPv4Code(flags), binary.BigEndian.Uint16(b[6:]))
		}
		return rest
	}
	size := header.TCPMinimumSize + (len(options)+3)&^3
	raw := make([]byte, header.IPv4MinimumSize+size+16*int(b[10]))
	ip := header.IPv4(raw)
	ip.Encode(&header.IPv4Fields{
		TotalLength: uint16(len(raw)), TTL: 64, Protocol: uint8(header.TCPProtocolNumber), SrcAddr: rigThere, DstAddr: rigHere,
	})
	ip.SetChecksum(^ip.CalculateChecksum())
	seg := header.TCP(raw[header.IPv4MinimumSize:])
	from, to := p.port, p.here
	if ctl&2 != 0 {
		from++
	}
	if ctl&4 != 0 {
		to++
	}
	seg.Encode(&header.TCPFields{
		SrcPort: from, DstPort: to, SeqNum: p.iss + p.snd + uint32(int32(seq)), AckNum: p.theirs + p.nxt + uint32(int32(ack)),
		Flags: header.TCPFlags(flags), WindowSize: binary.BigEndian.Uint16(b[6:]), UrgentPointer: uint16(b[8] & 15),
	})
	seg[header.TCPDataOffset] = b[8] & 0xf0
	copy(seg[header.TCPMinimumSize:], options)
	sum := header.PseudoHeaderChecksum(header.TCPProtocolNumber, rigThere, rigHere, uint16(len(seg)))
	seg.SetChecksum(^checksum.Checksum(seg, sum) + uint16(ctl>>3&1))
	r.inject(raw)
	if tcp.Flags(flags)&(tcp.SYN|tcp.RST) == 0 && seq == 0 && ctl&14 == 0 {
		p.snd += 16 * uint32(b[10]) // the next segment may follow in order
	}
	return rest
}
