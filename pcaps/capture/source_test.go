package capture

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
)

func gzipped(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zstded(t testing.TB, b []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(b, nil)
}

// bzipped is a capture of one segment, compressed by bzip2: Go has no writer for it.
const bzipped = "\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\xe8\x49\xe3\xb0\x00\x00\x24\x77\x1e\xff\x10\x40\x00\x00\x40\x42" +
	"\x00\x40\x00\x02\x00\x20\x00\x10\x00\x08\x00\x04\x00\x00\x00\xa0\x00\x54\x41\x32\x1a\x06\x4c\x0d\x3d\x49" +
	"\x3d\x26\xd4\x7a\x4d\x1a\x43\xc5\xb3\x0f\x73\xa4\x29\x42\x52\x54\xbe\xc5\x7c\x3f\x03\x39\x42\x66\xd0\x9b" +
	"\xc2\x35\x56\x40\xc5\xf8\x93\xf4\xd0\xbb\x92\x29\xc2\x84\x87\x42\x4f\x1d\x80"

func TestBzip2(t *testing.T) {
	if all, _, err := readBytes(t, []byte(bzipped)); len(all) != 1 || err != io.EOF || all[0].Header.Seq != 3 {
		t.Errorf("%d packets, %v", len(all), err)
	}
	if _, _, err := readBytes(t, []byte(bzipped)[:40]); !errors.Is(err, ErrCutShort) {
		t.Errorf("cut: %v", err)
	}
}

func TestCompression(t *testing.T) {
	packet := raw{at: 1e9, data: hello()}
	var many []raw
	for range 5000 {
		many = append(many, packet)
	}
	plain := pcapOf(binary.BigEndian, magicNano, 101, many...)
	half := len(plain) / 2
	for name, file := range map[string][]byte{
		"plain":                       plain,
		"gzip":                        gzipped(t, plain),
		"gzip, two members":           append(gzipped(t, plain[:half]), gzipped(t, plain[half:])...),
		"zstd":                        zstded(t, plain),
		"zstd, two frames":            append(zstded(t, plain[:half]), zstded(t, plain[half:])...),
		"zstd after a skipped frame":  append([]byte("\x50\x2a\x4d\x18\x03\x00\x00\x00abc"), zstded(t, plain)...),
		"gzip of pcapng":              gzipped(t, asPcapng(t, pcapOf(binary.LittleEndian, magicMicro, 101, many...))),
		"zstd of pcapng, many blocks": zstded(t, asPcapng(t, pcapOf(binary.LittleEndian, magicMicro, 101, many...))),
	} {
		for _, reader := range []struct {
			name string
			of   func(io.Reader) io.Reader
		}{
			{"at once", func(r io.Reader) io.Reader { return r }},
			{"byte by byte", iotest.OneByteReader},
			{"with the error next to the last bytes", iotest.DataErrReader},
		} {
			r, err := NewReader(reader.of(bytes.NewReader(file)), name)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, reader.name, err)
			}
			all, err := readAll(t, r)
			if err != io.EOF || len(all) != len(many) || all[len(all)-1].Time != 1e9 {
				t.Errorf("%s, %s: %d packets, %v, want %d", name, reader.name, len(all), err, len(many))
			}
			if read, size := r.Progress(); read != int64(len(file)) || size != -1 && size != read {
				t.Errorf("%s, %s: progress %d of %d, want %d of -1 or as many", name, reader.name, read, size, len(file))
			}
			if err := r.Close(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		// Cut in the middle: packets before the cut are read.
		if all, _, err := readBytes(t, file[:len(file)-len(file)/4]); !errors.Is(err, ErrCutShort) || name == "plain" && len(all) < 3000 {
			t.Errorf("%s, cut: %d packets, %v", name, len(all), err)
		}
	}
	// Damaged rather than cut.
	for name, file := range map[string][]byte{"gzip": gzipped(t, plain), "zstd": zstded(t, plain)} {
		for i := len(file) - 6; i < len(file); i++ { // the check sum and more
			file[i] ^= 0x55
		}
		if all, _, err := readBytes(t, file); err == nil || err == io.EOF || errors.Is(err, ErrCutShort) {
			t.Errorf("%s, damaged: %d packets, %v", name, len(all), err)
		}
	}
}

func TestReaderThatFails(t *testing.T) {
	broken := errors.New("the disk is on fire")
	file := pcapOfHello(101, hello())
	for at := range file {
		r, err := NewReader(io.MultiReader(bytes.NewReader(file[:at]), iotest.ErrReader(broken)), "x")
		if err == nil {
			_, err = r.Next()
		}
		if !errors.Is(err, broken) || errors.Is(err, ErrCutShort) || !strings.HasPrefix(err.Error(), "x: ") {
			t.Errorf("after %d bytes: %v, want the reader's error", at, err)
		}
	}
	if _, err := NewReader(lazyReader{}, "x"); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that reads nothing: %v, want %v", err, io.ErrNoProgress)
	}
}

// TestStop stops a reader amid packets without TCP.
func TestStop(t *testing.T) {
	record := pcapOf(binary.LittleEndian, magicMicro, 101, raw{data: repeat(0, 1000)})[24:]
	var r *Reader
	file := &endless{left: 1 << 30, packet: func(n int) []byte {
		if n == 1000 {
			r.Stop()
		}
		return record
	}}
	r, err := NewReader(io.MultiReader(bytes.NewReader(pcapOf(binary.LittleEndian, magicMicro, 101)), file), "x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); !errors.Is(err, ErrStopped) || errors.Is(err, ErrCutShort) || r.Stats().Packets > 2000 {
		t.Errorf("%v after %d packets", err, r.Stats().Packets)
	}
}

type lazyReader struct{}

func (lazyReader) Read([]byte) (int, error) { return 0, nil }

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.txt") // any name
	file := gzipped(t, pcapOfHello(101, hello()))
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if all, err := readAll(t, r); len(all) != 1 || err != io.EOF {
		t.Errorf("%d packets, %v", len(all), err)
	}
	if read, size := r.Progress(); read != int64(len(file)) || size != int64(len(file)) {
		t.Errorf("progress %d of %d, want %d of it", read, size, len(file))
	}
	if err := r.Close(); err != nil || r.Name() != path {
		t.Errorf("%v, %s", err, r.Name())
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that does not exist: %v", err)
	}
	if _, err := Open(t.TempDir()); err == nil || errors.Is(err, ErrCutShort) {
		t.Errorf("a directory: %v", err)
	}
}

func TestStandardInput(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		w.Write(pcapOfHello(101, hello()))
		w.Close()
	}()
	stdin := os.Stdin
	os.Stdin = r
	defer func() { os.Stdin = stdin }()
	in, err := Open("-")
	if err != nil {
		t.Fatal(err)
	}
	if all, err := readAll(t, in); len(all) != 1 || err != io.EOF || in.Name() != "standard input" {
		t.Errorf("%d packets from %s, %v", len(all), in.Name(), err)
	}
}

// endless is a capture without end, of distinct packets.
type endless struct {
	packet func(n int) []byte
	n      int
	rest   []byte
	left   int
}

func (e *endless) Read(b []byte) (int, error) {
	if len(e.rest) == 0 {
		if e.left == 0 {
			return 0, io.EOF
		}
		e.left--
		e.rest = e.packet(e.n)
		e.n++
	}
	n := copy(b, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// TestMemoryIsBounded reads 60 MB of fragments that never complete, and files with false lengths.
func TestMemoryIsBounded(t *testing.T) {
	header := pcapOf(binary.LittleEndian, magicMicro, 101)
	fragment := pcapOf(binary.LittleEndian, magicMicro, 101, raw{data: ip4Fragment(6, here4, there4, 0, 0x2000, repeat(1, 1400))})[24:]
	fragments := &endless{left: 40_000, packet: func(n int) []byte {
		binary.BigEndian.PutUint16(fragment[16+4:], uint16(n/40))
		binary.BigEndian.PutUint16(fragment[16+6:], uint16(0x2000|(n%40+1)*175))
		return fragment
	}}
	zeros := make([]byte, 1<<18)
	for name, file := range map[string]io.Reader{
		"fragments": io.MultiReader(bytes.NewReader(header), fragments),
		"a lie":     bytes.NewReader(join(header, binary.LittleEndian.AppendUint32(repeat(0, 8), maxRecord), repeat(0, 1000))),
		"a long block": io.MultiReader(bytes.NewReader((&ng{byteOrder: binary.LittleEndian}).section().b),
			bytes.NewReader([]byte{10, 0, 0, 0, 0, 0, 0, 0xf0}), &endless{left: 400, packet: func(int) []byte { return zeros }}),
		"a gzip bomb": bytes.NewReader(gzipped(t, join((&ng{byteOrder: binary.LittleEndian}).section().b, []byte{10, 0, 0, 0, 0, 0, 0, 4}, make([]byte, 1<<26)))),
	} {
		before := live()
		r, err := NewReader(file, name)
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = r.Next()
		}
		if got := live() - before; got > 10<<20 {
			t.Errorf("%s: %d bytes live, want 10 MiB at most", name, got)
		}
		if err == io.EOF != (name == "fragments") {
			t.Errorf("%s: %v", name, err)
		}
		runtime.KeepAlive(r)
	}
}

// live returns the bytes in use.
func live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestNextDoesNotAllocate(t *testing.T) {
	var packets []raw
	for i := range 4000 {
		packets = append(packets, raw{at: int64(i), data: ether(0x0800, hello())}, raw{at: int64(i), data: ether(0x86dd, hello6())},
			raw{at: int64(i), data: ether(0x0800, ip4(17, endA, endB, udp(1, 4789, join(be16(0x0800, 0, 0, 7), ether(0x8100, vlan(2, 0x0800, hello()))))))},
			raw{at: int64(i), data: ether(0x0800, ip4Fragment(6, here4, there4, i, 0x2000, hello()[20:44]))},
			raw{at: int64(i), data: ether(0x0800, ip4Fragment(6, here4, there4, i, 3, hello()[44:]))})
	}
	r, err := NewReader(bytes.NewReader(pcapOf(binary.LittleEndian, magicNano, 1, packets...)), "x")
	if err != nil {
		t.Fatal(err)
	}
	if got := testing.AllocsPerRun(3000, func() {
		for range 4 {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
		}
	}); got != 0 {
		t.Errorf("%v allocations for 4 packets, want 0", got)
	}
	if s := r.Stats(); s.Count(Fragment) == 0 || s.Skipped[FragmentPart] != s.Count(Fragment) {
		t.Errorf("%+v, want as many parts as datagrams that were put together", s)
	}
}
