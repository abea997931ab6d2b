package capture

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// source is the decompressed bytes of a capture file or stream, counted before decompression.
type source struct {
	name  string
	under io.Reader
	size  int64 // of the file, -1 if unknown
	read  atomic.Int64
	stop  atomic.Bool
	close []func() error
}

// Read reads and counts.
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
	case interface{ Len() int }: // such as bytes.Reader
		s.size = int64(r.Len())
	}
	return s
}

// maxWindow is the largest window of a zstd stream, as in the zstd tool. It bounds the memory.
const maxWindow = 128 << 20

// Magic numbers; file names do not matter.
var (
	magicGzip = []byte{0x1f, 0x8b}
	magicZstd = []byte{0x28, 0xb5, 0x2f, 0xfd}
	// After one byte: a skippable frame, which may start a zstd stream.
	magicSkip  = []byte{0x2a, 0x4d, 0x18}
	magicBzip2 = []byte("BZh")
)

// otherFormats are formats that are recognised only to name the tool that converts them.
var otherFormats = []struct {
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
}

// editcap is part of Wireshark and reads dozens of formats.
const editcap = "editcap -F pcapng converts it"

// open detects the format and returns a reader of its records.
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
		// Without goroutines: packets per second of CPU matter here.
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
	case err == io.EOF && !mayBegin(magic):
		err = s.unknown(in)
	case err != nil:
		err = cutShort("a capture's first bytes", 4, len(magic), err)
	case isPcap(magic):
		f, err = pcapFormat(in)
	case string(magic) == "\n\r\r\n":
		f = &pcapngFile{in: in}
	default:
		err = s.unknown(in)
	}
	return in, f, err
}

// mayBegin reports whether a capture, plain or compressed, may begin with these bytes, fewer than
// 4.
func mayBegin(short []byte) bool {
	known := [][]byte{[]byte("\n\r\r\n"), magicGzip, magicZstd, magicBzip2}
	for _, v := range magics {
		known = append(known, binary.LittleEndian.AppendUint32(nil, v), binary.BigEndian.AppendUint32(nil, v))
	}
	return slices.ContainsFunc(known, func(m []byte) bool { return bytes.HasPrefix(m, short) || bytes.HasPrefix(short, m) })
}

// pcapFormat is newPcapFile with a nil interface on error.
func pcapFormat(in *input) (format, error) {
	f, err := newPcapFile(in)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// wanted lists the formats that can be read.
const wanted = "want pcap or pcapng, plain or compressed with gzip, zstd or bzip2"

// unknown returns an error that names the format of in, if it is a known one.
func (s *source) unknown(in *input) error {
	head, _ := in.peek(16)
	for _, o := range otherFormats {
		if bytes.HasPrefix(head, []byte(o.magic)) {
			return fmt.Errorf("a file %s, %s: %s", o.name, wanted, o.way)
		}
	}
	first := string(head) // further peeking moves it
	if isERF(in) {
		return fmt.Errorf("a file of Endace's ERF, %s: %s", wanted, editcap)
	}
	return fmt.Errorf("%w: it begins with %q, %s", ErrNotCapture, first, wanted)
}

// isERF reports whether the stream looks like Endace's extensible record format, which has no magic
// number: two records with a valid type, a length of at least a header, and stamps that do not go
// back. A record starts with the stamp, little-endian; then the type, with a bit for extension
// headers, flags, and the record's length, big-endian.
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

// unread reads what an input holds and will hold.
type unread struct{ in *input }

// Read returns buffered bytes, or else reads some, without a copy in the buffer.
func (u unread) Read(b []byte) (n int, err error) {
	in := u.in
	if len(in.window) > 0 {
		n = copy(b, in.window)
		in.advance(n)
		return n, nil
	}
	if in.err != nil {
		return 0, in.err
	}
	for range maxEmptyReads {
		if n, err = in.r.Read(b); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, io.ErrNoProgress
}

// Close closes what was opened, but not standard input nor a caller's reader.
func (s *source) Close() error {
	var errs []error
	for i := len(s.close) - 1; i >= 0; i-- {
		errs = append(errs, s.close[i]())
	}
	s.close = nil
	return errors.Join(errs...)
}
