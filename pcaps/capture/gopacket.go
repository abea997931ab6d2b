package capture

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/gopacket"

	"tcpwheel/wheel"
)

// NewPacketReader reads the packets of a source of gopacket: a live handle of its pcap, afpacket or
// pfring, a file of its pcapgo, or a program's own. linkType is tcpdump.org's number, as
// uint16(layers.LinkTypeEthernet). The name is for errors. What holds for Next with files holds
// here, but that it allocates as the source does, unless that is a ZeroCopyPacketDataSource. Close
// does not close src.
//
// With libpcap, whose package needs cgo and libpcap's headers:
//
//	handle, err := pcap.OpenLive("eth0", 128, false, pcap.BlockForever)
//	...
//	defer handle.Close()
//	err = handle.SetBPFFilter("tcp")
//	...
//	r := capture.NewPacketReader(handle, uint16(handle.LinkType()), "eth0")
//
// Packages afpacket and pfring have handles like it. pcapgo.NewEthernetHandle is Linux's AF_PACKET
// without cgo; its SetCaptureLength must be at least the longest super-packet, as it keeps no more
// than the MTU otherwise.
//
// CaptureInfo.InterfaceIndex is Packet.Interface: 0 to 65,535.
func NewPacketReader(src gopacket.PacketDataSource, linkType uint16, name string) *Reader {
	s := &source{name: name, size: -1}
	in := &input{}
	read := src.ReadPacketData
	if src, ok := src.(gopacket.ZeroCopyPacketDataSource); ok {
		read = src.ZeroCopyReadPacketData
	}
	r := &Reader{source: s, in: in, file: &packetSource{read: read, link: linkType, stop: s.stop.Load, in: in}}
	r.d.p = &r.one
	return r
}

// packetSource is a format: the packets of a gopacket source.
type packetSource struct {
	read func() ([]byte, gopacket.CaptureInfo, error)
	link uint16
	stop func() bool
	in   *input // counts bytes
	on   []Interface
}

func (f *packetSource) interfaces() []Interface { return f.on }

func (f *packetSource) next(rec *record) error {
	if f.stop() {
		return ErrStopped
	}
	data, info, err := f.read()
	f.in.unit = f.in.offset
	f.in.offset += int64(len(data))
	i := info.InterfaceIndex
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: %v", ErrCutShort, err)
	case err != nil:
		return err
	case len(data) > maxRecord:
		return fmt.Errorf("a packet of %d bytes, want 0 to %d", len(data), maxRecord)
	case i < 0 || i >= maxInterfaces:
		return fmt.Errorf("interface %d, want 0 to %d", i, maxInterfaces-1)
	}
	for len(f.on) <= i {
		f.on = append(f.on, Interface{LinkType: f.link})
	}
	f.on[i].Packets++
	rec.iface, rec.data, rec.length = i, data, uint32(min(max(info.Length, len(data)), maxRecord))
	if info.Timestamp.IsZero() {
		rec.problems |= NoStamp // and the time of the packet before
	} else {
		rec.time = wheel.Time(info.Timestamp.UnixNano())
	}
	return nil
}

// ReadPacketData makes a Reader a source of gopacket, of the packets with a TCP segment: it calls
// Next, and returns the packet as in the file. The bytes are the caller's. A datagram in fragments
// comes as its last fragment. Frame returns the link type.
func (r *Reader) ReadPacketData() (data []byte, info gopacket.CaptureInfo, err error) {
	p, err := r.Next()
	if err != nil {
		return nil, info, err
	}
	kept, length, _ := r.Frame()
	info = gopacket.CaptureInfo{
		Timestamp:      time.Unix(0, int64(p.Time)).UTC(),
		CaptureLength:  len(kept),
		Length:         int(length),
		InterfaceIndex: p.Interface,
	}
	return append([]byte(nil), kept...), info, nil
}
