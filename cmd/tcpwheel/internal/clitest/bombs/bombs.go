// Package bombs makes small files that unpack to gigabytes, for tests of what reads captures.
package bombs

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
)

// member is how much a piece of a bomb unpacks to.
const member = 16 << 20

// Bomb is a file of zeros behind a head, packed a thousandfold.
type Bomb struct {
	Name string
	Head []byte
	// Analyze and Replay are part of what the commands say of it, and Status is that of both.
	Analyze, Replay string
	Status          int
}

// All are bombs of different kinds: no capture, a capture of packets without bytes, and one whose
// block, of a type that readers skip, says that it is as long as the file.
func All() []Bomb {
	pcap := []byte{0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0}
	section := []byte{0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 28, 0, 0, 0}
	return []Bomb{
		{"zeros.pcap.gz", nil, "not a capture", "not a capture", 1},
		{"empty.pcap.gz", pcap, "No TCP in it", "no TCP connection in it", 5},
		{"block.pcapng.gz", binary.LittleEndian.AppendUint32(append(section, 10, 0, 0, 0), 1<<32-4), "file is cut short", "file is cut short", 4},
	}
}

// File returns the bomb's file, which unpacks to at least n bytes: gzip's members, one after the
// other.
func (b *Bomb) File(n int64) ([]byte, error) {
	pack := func(plain []byte) ([]byte, error) {
		var packed bytes.Buffer
		w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(plain); err != nil {
			return nil, err
		}
		err = w.Close()
		return packed.Bytes(), err
	}
	file, err := pack(b.Head)
	if err != nil {
		return nil, err
	}
	zeros, err := pack(make([]byte, member))
	if err != nil {
		return nil, err
	}
	return append(file, bytes.Repeat(zeros, int((n+member-1)/member))...), nil
}
