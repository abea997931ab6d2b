package up

import (
	"encoding/binary"
	"errors"
	"io"
)

// Content is what /bytes/N serves: Size bytes that are the same in each run. Word i of 8 bytes,
// little-endian, is splitmix64's mix of i+1, so a lost byte shows. The zero value is empty. It is
// an io.ReadSeeker, not safe for concurrent use.
type Content struct {
	Size int64
	off  int64
}

// Read implements io.Reader.
func (c *Content) Read(p []byte) (n int, err error) {
	if c.off >= c.Size {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), c.Size-c.off)]
	for n < len(p) {
		if at := uint64(c.off / 8); c.off%8 == 0 && len(p)-n >= 8 {
			for ; len(p)-n >= 8; n += 8 {
				at++
				binary.LittleEndian.PutUint64(p[n:], mix(at))
			}
			c.off = int64(at * 8)
			continue
		}
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], mix(uint64(c.off/8)+1))
		m := copy(p[n:], word[c.off%8:])
		n += m
		c.off += int64(m)
	}
	return n, nil
}

// Seek implements io.Seeker.
func (c *Content) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += c.off
	case io.SeekEnd:
		offset += c.Size
	}
	if offset < 0 {
		return 0, errors.New("up: seek before the beginning")
	}
	c.off = offset
	return offset, nil
}

// mix is the mixing function of splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
func mix(x uint64) uint64 {
	x *= 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
