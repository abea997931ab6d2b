package sim

import (
	"strconv"

	"tcpwheel/wheel"
)

// Serializer turns datagrams into the octets that they stand for.
type Serializer[P any] interface {
	// Serialize appends the packet of d to buf. It leaves d.Corrupt to the tap.
	Serialize(buf []byte, d *Datagram[P]) []byte
}

// CapturePoint is the end of a link at which a Capture listens.
type CapturePoint uint8

const (
	AtSender   CapturePoint = iota // what is handed to the link, with a comment on what becomes of it unless it just arrives
	AtReceiver              // what arrives, with flipped bits
)

// Capture is a Tap that writes what it sees as an interface of a capture file. The stamps are the virtual time plus an
// epoch.
type Capture[P any] struct {
	out   *Pcapng
	octet Serializer[P]
	epoch wheel.Time
	point CapturePoint
	iface uint32
	buf   []byte
	err   error
}

// NewCapture adds an interface of that name to out and returns the tap that writes there. epoch is the instant 0 of
// the virtual time, in nanoseconds from 1970.
func NewCapture[P any](out *Pcapng, name string, linkType uint16, s Serializer[P], point CapturePoint, epoch wheel.Time) (*Capture[P], error) {
	iface, err := out.AddInterface(name, linkType)
	if err != nil {
		return nil, err
	}
	return &Capture[P]{out: out, octet: s, epoch: epoch, point: point, iface: iface}, nil
}

// Err returns the first error of writing. Nothing is written after it.
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
	c.buf = c.octet.Serialize(c.buf[:0], d)
	if i := int(d.Bit / 8); d.Corrupt && i < len(c.buf) {
		c.buf[i] ^= 0x80 >> (d.Bit % 8)
	}
	c.err = c.out.WritePacket(c.iface, now+c.epoch, c.buf, max(d.Size, uint32(len(c.buf))), comment)
}

// comment says what is not ordinary about a fate, "" if nothing is.
func (f *Fate) comment() string {
	if f.Outcome != Delivered {
		return "dropped: " + f.Outcome.String()
	}
	return f.Impairments()
}
