package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestBombs analyses and replays small files that unpack to 64 MB, or to 1 GB in long tests. Each
// ends with a sentence, and takes no more memory than a usual capture.
func TestBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector takes memory, too: runs without -short")
	}
	size := int64(64 << 20)
	if os.Getenv("TCPWHEEL_LONG") != "" {
		size = 1 << 30
	}
	for _, b := range bombs() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			content, err := b.file(size)
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.Join(t.TempDir(), b.name)
			if err := os.WriteFile(name, content, 0o666); err != nil {
				t.Fatal(err)
			}
			for command, want := range map[string]string{"analyze": b.analyze, "replay": b.replay} {
				var talk bytes.Buffer
				c := exec.Command(os.Args[0], command, name)
				c.Env, c.Stdout, c.Stderr = append(os.Environ(), asCommand+"=peak"), &talk, &talk
				if err := c.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
					t.Fatal(err)
				}
				_, peak, _ := strings.Cut(talk.String(), "\npeak ")
				used, err := strconv.Atoi(strings.TrimSuffix(peak, " kB\n"))
				if err != nil {
					t.Fatalf("%v in %s", err, &talk)
				}
				used >>= 10
				t.Logf("%s of %d kB that unpack to %d MB: status %d, %d MB, %.1f s: %s", command, len(content)/1000, size>>20,
					c.ProcessState.ExitCode(), used, c.ProcessState.UserTime().Seconds(), &talk)
				if used > 100 {
					t.Errorf("%s took %d MB, want 100 at most", command, used)
				}
				if got := c.ProcessState.ExitCode(); got != b.status || !strings.Contains(talk.String(), want) {
					t.Errorf("%s ends with status %d and says %q, want %d and %q", command, got, &talk, b.status, want)
				}
			}
		})
	}
}

// member is how much a piece of a bomb unpacks to.
const member = 16 << 20

// bomb is a file of zeros behind a head, packed a thousandfold.
type bomb struct {
	name string
	head []byte
	// analyze and replay are part of what the commands say of it, and status is that of both.
	analyze, replay string
	status          int
}

// bombs are files of different kinds: no capture, a capture of packets without bytes, and one whose
// block, of a type that readers skip, says that it is as long as the file.
func bombs() []bomb {
	pcap := []byte{0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0}
	section := []byte{0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 28, 0, 0, 0}
	return []bomb{
		{"zeros.pcap.gz", nil, "not a capture", "not a capture", 1},
		{"empty.pcap.gz", pcap, "No TCP in it", "no TCP connection in it", 5},
		{"block.pcapng.gz", binary.LittleEndian.AppendUint32(append(section, 10, 0, 0, 0), 1<<32-4), "file is cut short", "file is cut short", 4},
	}
}

// file returns the bomb's file, which unpacks to at least n bytes: gzip's members, one after the
// other.
func (b *bomb) file(n int64) ([]byte, error) {
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
	file, err := pack(b.head)
	if err != nil {
		return nil, err
	}
	zeros, err := pack(make([]byte, member))
	if err != nil {
		return nil, err
	}
	return append(file, bytes.Repeat(zeros, int((n+member-1)/member))...), nil
}
