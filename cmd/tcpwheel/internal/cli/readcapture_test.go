package cli

import (
	"bytes"
	"context"
	"testing"

	"github.com/spf13/cobra"

	"tcpwheel/internal/pcapng"
	"tcpwheel/pcaps/capture"
)

// captureOf is a capture of one SYN and one UDP packet.
func captureOf(t *testing.T) []byte {
	t.Helper()
	var file bytes.Buffer
	out, err := pcapng.NewWriter(&file, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.AddInterface("", pcapng.LinkTypeRaw); err != nil {
		t.Fatal(err)
	}
	syn := []byte("\x45\x00\x00\x28\x00\x00\x40\x00\x40\x06\x00\x00\x0a\x00\x00\x01\x0a\x00\x00\x02" +
		"\x00\x01\x00\x02\x00\x00\x00\x03\x00\x00\x00\x00\x50\x02\x01\x00\x00\x00\x00\x00")
	datagram := []byte("\x45\x00\x00\x1c\x00\x00\x40\x00\x40\x11\x00\x00\x0a\x00\x00\x01\x0a\x00\x00\x02\x00\x01\x00\x02\x00\x08\x00\x00")
	for _, packet := range [][]byte{syn, datagram} {
		if err := out.WritePacket(0, 1, packet, uint32(len(packet)), ""); err != nil {
			t.Fatal(err)
		}
	}
	return file.Bytes()
}

// endlessCapture is a capture that never ends.
type endlessCapture struct {
	head, packet, rest []byte
}

func (e *endlessCapture) Read(b []byte) (int, error) {
	if len(e.head) > 0 {
		e.rest, e.head = e.head, nil
	}
	if len(e.rest) == 0 {
		e.rest = e.packet
	}
	n := copy(b, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

func TestReadCaptureIsInterrupted(t *testing.T) {
	file := captureOf(t)
	cmd := &cobra.Command{}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cmd.SetContext(ctx)
	// After the SYN there is only UDP, in blocks of 60 bytes.
	cmd.SetIn(&endlessCapture{head: file, packet: file[len(file)-60:]})
	_, err := readCapture(cmd, &captureFile{Name: "-", Size: -1}, true, nil, func(*capture.Packet) error {
		cancel()
		return nil
	})
	if err != context.Canceled {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}

func TestReadingLine(t *testing.T) {
	for _, c := range []struct {
		read, size int64
		want       string
	}{{1_500_000, -1, "1.5 MB read"}, {500_000, 2_000_000, "25 % of 2.0 MB read"}, {7, 0, "0.0 MB read"}} {
		if got := readingLine(c.read, c.size); got != c.want {
			t.Errorf("readingLine(%d, %d) = %q, want %q", c.read, c.size, got, c.want)
		}
	}
	s, reason := capture.Stats{Packets: 3, TCP: 1, Dropped: 3}, capture.Reasons()[0]
	s.Skipped[reason] = 2
	if got, want := unusedPackets(s), "2 of 3 packets are not TCP (2 "+reason.String()+"); the capture missed 3 packets by its own account"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
