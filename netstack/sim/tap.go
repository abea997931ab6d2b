package sim

import (
	"strconv"

	"tcpwheel/internal/pcapng"
	"tcpwheel/wheel"
)

// Serializer turns datagrams into bytes.
type Serializer[P any] interface {
	// Serialize appends the packet of d to buf. It ignores d.Corrupt.
	Serialize(buf []byte, d *Datagram[P]) []byte
}

// CapturePoint is the end of a link that a Capture records.
type CapturePoint uint8

const (
	AtSender   CapturePoint = iota // packets entering the link, with a comment on their fate
	AtReceiver                     // packets leaving the link, with flipped bits
)

// Capture is a Tap that writes to one interface of a capture file. Timestamps are the virtual time
// plus an epoch.
type Capture[P any] struct {
	out        *pcapng.Writer
	serializer Serializer[P]
	epoch      wheel.Time
	point      CapturePoint
	iface      uint32
	buf        []byte
	err        error
}

// NewCapture adds an interface to out and returns the tap that writes to it. epoch is virtual time
// 0, in nanoseconds since 1970.
func NewCapture[P any](out *pcapng.Writer, name string, linkType uint16, s Serializer[P], point CapturePoint, epoch wheel.Time) (*Capture[P], error) {
	iface, err := out.AddInterface(name, linkType)
	if err != nil {
		return nil, err
	}
	return &Capture[P]{out: out, serializer: s, epoch: epoch, point: point, iface: iface}, nil
}

// Err returns the first write error. Later packets are not written.
func (c *Capture[P]) Err() error { return c.err }

// Sent implements Tap.
func (c *Capture[P]) Sent(now wheel.Time, d *Datagram[P], f Fate) {
	if c.point == AtSender {
		c.write(now, d, f.comment())
	}
}

// Arrived implements Tap.
func (c *Capture[P]) Arrived(now wheel.Time, d *Datagram[P]) {
	if c.point == AtReceiver {
		comment := ""
		if d.Corrupt {
			comment = "bit " + strconv.FormatUint(uint64(d.Bit), 10) + " flipped"
		}
		c.write(now, d, comment)
	}
}

func (c *Capture[P]) write(now wheel.Time, d *Datagram[P], comment string) {
	if c.err != nil {
		return
	}
	c.buf = c.serializer.Serialize(c.buf[:0], d)
	if i := int(d.Bit / 8); d.Corrupt && i < len(c.buf) {
		c.buf[i] ^= 0x80 >> (d.Bit % 8)
	}
	c.err = c.out.WritePacket(c.iface, now+c.epoch, c.buf, max(d.Size, uint32(len(c.buf))), comment)
}

// comment describes a fate; "" is plain delivery.
func (f *Fate) comment() string {
	if f.Outcome != Delivered {
		return "dropped: " + f.Outcome.String()
	}
	return f.Impairments()
}
