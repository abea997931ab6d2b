package capture

import (
	"bufio"
	"fmt"
	"io"
	"math"

	"tcpwheel/internal/pcapng"
)

// Copies are not written by gopacket's pcapgo. Its NgWriter writes neither comments nor other
// options of packets, nor blocks of other types, and cannot keep a section's byte order.

// Annotate copies the capture src to dst, as pcapng, with comments that Wireshark shows with the
// packets. It calls comment for each packet in order, TCP or not, with Packet.Number. "" is no
// comment; the limit is 65,535 bytes. Packet bytes, lengths, stamps and interfaces do not change.
// Neither do the other blocks of a pcapng file, comments included.
//
// A file that is cut short is copied up to the cut, and the error wraps ErrCutShort. Read errors
// are *Error; write errors are dst's own.
func Annotate(dst io.Writer, src string, comment func(number int64) string) error {
	s, err := openSource(src)
	if err != nil {
		return err
	}
	return annotate(dst, s, comment)
}

// annotate is Annotate for a source, which it closes.
func annotate(dst io.Writer, s *source, comment func(number int64) string) error {
	defer s.Close()
	w := bufio.NewWriterSize(dst, 1<<16)
	var numbered int64
	checked := func() (string, error) {
		numbered++
		text := comment(numbered)
		if len(text) > math.MaxUint16 {
			return "", fmt.Errorf("a comment of %d bytes, want %d at most", len(text), math.MaxUint16)
		}
		return text, nil
	}
	in, f, err := s.open()
	switch f := f.(type) {
	case *pcapFile:
		err = annotatePcap(w, f, checked)
	case *pcapngFile:
		err = annotatePcapng(w, f, checked)
	}
	// A failed write fails again here.
	if err := w.Flush(); err != nil {
		return err
	}
	if err == io.EOF && f != nil {
		return nil
	}
	e := &Error{File: s.name, Offset: in.unit, Err: err}
	if f != nil {
		e.Packet = numbered + 1
	}
	return e
}

// annotatePcap writes a section with the file's single interface.
func annotatePcap(w io.Writer, f *pcapFile, comment func() (string, error)) error {
	out, err := pcapng.NewFile(w, "tcpwheel", "", f.iface[0].LinkType)
	if err != nil {
		return err
	}
	for rec := (record{}); ; {
		if err := f.next(&rec); err != nil {
			return err
		}
		text, err := comment()
		if err != nil {
			return err
		}
		if err := out.WritePacket(0, rec.time, rec.data, rec.length, text); err != nil {
			return err
		}
	}
}

// annotatePcapng copies block by block.
func annotatePcapng(w io.Writer, f *pcapngFile, comment func() (string, error)) error {
	c := copier{pcapngFile: f, w: w}
	for {
		b, err := f.peekBlock()
		if err != nil {
			return err
		}
		switch b.kind {
		case blockPacket, blockOldPacket, blockSimple:
			var text string
			if text, err = comment(); err == nil {
				err = c.packet(b, text)
			}
		case blockSection:
			err = c.section(b)
		default:
			var missing int64
			if missing, err = f.in.copy(w, int64(b.length)); missing > 0 {
				err = cutShort(b.String(), int64(b.length), int(int64(b.length)-missing), err)
			}
		}
		if err != nil {
			return err
		}
	}
}

// copier writes blocks in the byte order of their section.
type copier struct {
	*pcapngFile
	w     io.Writer
	buf   []byte
	stamp [8]byte // of the last packet on the section's first interface
}

func (c *copier) begin(kind uint32) {
	c.buf = append(c.buf[:0], make([]byte, 8)...)
	c.order.PutUint32(c.buf, kind)
}

func (c *copier) u32(v uint32) {
	at := len(c.buf)
	c.buf = append(c.buf, 0, 0, 0, 0)
	c.order.PutUint32(c.buf[at:], v)
}

func (c *copier) end() error {
	length := uint32(len(c.buf) + 4)
	c.order.PutUint32(c.buf[4:], length)
	c.u32(length)
	_, err := c.w.Write(c.buf)
	return err
}

// section copies a section header, without the section length, which changes.
func (c *copier) section(b block) error {
	body, err := c.hold(b, 16)
	if err != nil {
		return err
	}
	c.stamp = [8]byte{}
	c.begin(blockSection)
	c.buf = append(c.buf, body...)
	for i := range 8 {
		c.buf[8+8+i] = 0xff
	}
	return c.end()
}

// packet copies a packet, with comment before its other options. A simple packet has no options, so
// with a comment it becomes an enhanced one with the stamp of the packet before.
func (c *copier) packet(b block, comment string) error {
	least := 20
	if b.kind == blockSimple {
		least = 4
	}
	body, err := c.hold(b, least)
	if err != nil {
		return err
	}
	if b.kind == blockPacket && c.order.Uint32(body) == 0 || b.kind == blockOldPacket && c.order.Uint16(body) == 0 {
		copy(c.stamp[:], body[4:12])
	}
	c.begin(b.kind)
	switch {
	case comment == "":
		c.buf = append(c.buf, body...)
		return c.end()
	case b.kind == blockSimple:
		length, kept := c.order.Uint32(body), uint32(len(body)-4)
		c.begin(blockPacket)
		c.u32(0)
		c.buf = append(c.buf, c.stamp[:]...)
		c.u32(min(length, kept))
		c.u32(length)
		c.buf = append(c.buf, body[4:]...)
		c.option(comment, nil)
		return c.end()
	}
	kept := c.order.Uint32(body[12:])
	if kept > uint32(len(body)-20) {
		return fmt.Errorf("a packet of %d bytes, want %d at most in a block of %d", kept, len(body)-20, b.length)
	}
	data := min(20+int(kept+3)&^3, len(body))
	c.buf = append(c.buf, body[:data]...)
	c.option(comment, body[data:])
	return c.end()
}

// option adds a comment, then the options of the original.
func (c *copier) option(comment string, rest []byte) {
	var head [4]byte
	c.order.PutUint16(head[:], 1) // opt_comment
	c.order.PutUint16(head[2:], uint16(len(comment)))
	c.buf = append(append(c.buf, head[:]...), comment...)
	for len(c.buf)%4 != 0 {
		c.buf = append(c.buf, 0)
	}
	c.buf = append(c.buf, rest...)
	if len(rest) == 0 {
		c.buf = append(c.buf, 0, 0, 0, 0)
	}
}
