package capture

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// source is the octets of a capture: a file or a stream, decompressed where they are compressed, and counted before that.
type source struct {
	name  string
	under io.Reader
	size  int64 // of the file, -1 if it is not known
	read  atomic.Int64
	stop  atomic.Bool
	close []func() error
}

// Read counts.
func (s *source) Read(b []byte) (int, error) {
	if s.stop.Load() {
		return 0, ErrStopped
	}
	n, err := s.under.Read(b)
	s.read.Add(int64(n))
	return n, err
}

// openSource opens a file, or standard input if the name is "-".
func openSource(name string) (*source, error) {
	if name == "-" {
		return newSource(os.Stdin, "standard input"), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err // "open NAME: no such file or directory"
	}
	s := newSource(f, name)
	s.close = append(s.close, f.Close)
	return s, nil
}

func newSource(r io.Reader, name string) *source {
	s := &source{name: name, under: r, size: -1}
	switch r := r.(type) {
	case *os.File:
		if info, err := r.Stat(); err == nil && info.Mode().IsRegular() {
			s.size = info.Size()
		}
	case interface{ Len() int }: // of a bytes.Reader, say
		s.size = int64(r.Len())
	}
	return s
}

// maxWindow is how far back a zstd stream may refer, which is how much memory it takes: what zstd's tool allows, too.
const maxWindow = 128 << 20

// The first octets of files, by which they are told apart, whatever their names say.
var (
	magicGzip  = []byte{0x1f, 0x8b}
	magicZstd  = []byte{0x28, 0xb5, 0x2f, 0xfd}
	magicSkip  = []byte{0x2a, 0x4d, 0x18} // after one octet: a skippable frame, with which a zstd stream may begin
	magicBzip2 = []byte("BZh")
)

// others are formats that are recognised, to say so, and what makes a capture of them that can be read.
var others = []struct {
	magic, name, way string
}{
	{"\xfd7zXZ\x00", "compressed with xz", "xz -d unpacks it"},
	{"\x04\x22\x4d\x18", "compressed with lz4", "lz4 -d unpacks it"},
	{"PK\x03\x04", "a zip archive", "unzip unpacks it"},
	{"\x1f\x9d", "compressed with compress", "gzip -d unpacks it"},
	{"version https://", "that Git LFS keeps elsewhere", "git lfs pull fetches it"},
	{"snoop\x00\x00\x00", "of snoop", editcap},
	{"btsnoop\x00", "of btsnoop", editcap},
	{"GMBU", "of Microsoft Network Monitor", editcap},
	{"RTSS", "of Microsoft Network Monitor", editcap},
	{"TRSNIFF data", "of NetXray or Sniffer", editcap},
	{"XCP\x00", "of NetXray or Sniffer", editcap},
	{"\x7fver", "of EtherPeek", editcap},
	{"iptrace ", "of AIX's iptrace", editcap},
	{"\x54\x52\x00\x64\x00", "of HP-UX's nettl", editcap},
	{"\xac\x01\x00\x1c", "of an IXIA device", editcap},
	{"\xab\x01\x00\x1c", "of an IXIA device", editcap},
}

// editcap is part of Wireshark, and reads some dozens of formats.
const editcap = "editcap -F pcapng converts it"

// open finds out what the stream is, and returns a reader of its packets.
func (s *source) open() (in *input, f format, err error) {
	in = newInput(s, s.size)
	magic, err := in.peek(4)
	if len(magic) == 4 {
		err = nil
	}
	var plain io.Reader
	switch rest := (unread{in}); {
	case err != nil:
	case bytes.HasPrefix(magic, magicGzip):
		plain, err = gzip.NewReader(rest)
	case bytes.Equal(magic, magicZstd), magic[0]&0xf0 == 0x50 && bytes.Equal(magic[1:], magicSkip):
		// One goroutine, which is this one: packets per second of CPU count here.
		var z *zstd.Decoder
		z, err = zstd.NewReader(rest, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
		if err == nil {
			s.close = append(s.close, func() error { z.Close(); return nil })
			plain = z
		}
	case bytes.HasPrefix(magic, magicBzip2):
		plain = bzip2.NewReader(rest)
	}
	if err == nil && plain != nil {
		in = newInput(plain, -1)
		magic, err = in.peek(4)
		if len(magic) == 4 {
			err = nil
		}
	}
	switch {
	case len(magic) == 0 && err == io.EOF:
		err = errors.New("an empty file, want a capture")
	case err != nil:
		err = cut("a capture's first octets", 4, len(magic), err)
	case isPcap(magic):
		f, err = pcapFormat(in)
	case string(magic) == "\n\r\r\n":
		f = &pcapng{in: in}
	default:
		err = s.unknown(in)
	}
	return in, f, err
}

// pcapFormat is newPcapFile whose nil is the interface's.
func pcapFormat(in *input) (format, error) {
	f, err := newPcapFile(in)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// wanted is what can be read.
const wanted = "want pcap or pcapng, plain or compressed with gzip, zstd or bzip2"

// unknown says what a file is instead of a capture.
func (s *source) unknown(in *input) error {
	head, _ := in.peek(16)
	for _, o := range others {
		if bytes.HasPrefix(head, []byte(o.magic)) {
			return fmt.Errorf("a file %s, %s: %s", o.name, wanted, o.way)
		}
	}
	first := string(head) // peeking further moves it
	if isERF(in) {
		return fmt.Errorf("a file of Endace's ERF, %s: %s", wanted, editcap)
	}
	return fmt.Errorf("not a capture: it begins with %q, %s", first, wanted)
}

// isERF reports whether the stream seems to be in Endace's extensible record format, which has no magic number: two
// records whose type is one of those that there are, whose length is that of a header at least, and whose stamps do not
// go back. In a record the stamp comes first, little-endian; then the type, with a bit for headers that follow, flags,
// and the record's length, big-endian.
func isERF(in *input) bool {
	const header, lastType = 16, 48
	head, _ := in.peek(header)
	if len(head) < header {
		return false
	}
	n, stamp := int(binary.BigEndian.Uint16(head[10:])), binary.LittleEndian.Uint64(head)
	if kind := head[8] & 0x7f; kind == 0 || kind > lastType || n < header {
		return false
	}
	both, _ := in.peek(n + header)
	if len(both) < n+header {
		return false
	}
	next := both[n:]
	kind := next[8] & 0x7f
	return kind > 0 && kind <= lastType && binary.BigEndian.Uint16(next[10:]) >= header && binary.LittleEndian.Uint64(next) >= stamp
}

// unread is a reader of what an input has and will have.
type unread struct{ in *input }

// Read returns what is there, or else reads some.
func (u unread) Read(b []byte) (int, error) {
	if _, err := u.in.peek(1); err != nil {
		return 0, err
	}
	n := copy(b, u.in.buf[u.in.start:u.in.end])
	u.in.advance(n)
	return n, nil
}

// Close closes what was opened, and not standard input nor a reader that was handed in.
func (s *source) Close() error {
	var errs []error
	for i := len(s.close) - 1; i >= 0; i-- {
		errs = append(errs, s.close[i]())
	}
	s.close = nil
	return errors.Join(errs...)
}
