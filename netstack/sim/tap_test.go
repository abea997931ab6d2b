package sim

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tcpwheel/internal/pcapng"
)

// repeated serialises a datagram as Size bytes of its body.
type repeated struct{}

func (repeated) Serialize(buf []byte, d *Datagram[uint64]) []byte {
	return append(buf, bytes.Repeat([]byte{byte(d.Body)}, int(d.Size))...)
}

// capture sends a few datagrams over a link with a tap at each end.
func capture(t *testing.T) []byte {
	t.Helper()
	var file bytes.Buffer
	out, err := pcapng.NewWriter(&file, "tcpwheel")
	if err != nil {
		t.Fatal(err)
	}
	n := newTestNetwork(t, "", 1)
	a, b, c := n.mustAdd(t, "a", nodeFunc(sink)), n.mustAdd(t, "b", nodeFunc(sink)), n.mustAdd(t, "c", nodeFunc(sink))
	const epoch = 1_000_000_000 * second
	ab, _ := n.mustConnect(t, a, b, LinkConfig{Rate: 8_000_000, Delay: time.Millisecond, Queue: Limit{Packets: 1}, Loss: Losses{PacketNumbers{2}}})
	ac, _ := n.mustConnect(t, a, c, LinkConfig{Duplicate: 1, Corrupt: 1})
	tap, err := NewCapture(out, n.LinkName(ab), pcapng.LinkTypeRaw, repeated{}, AtSender, epoch)
	if err != nil {
		t.Fatal(err)
	}
	n.Tap(ab, tap)
	tap, err = NewCapture(out, "at c", pcapng.LinkTypeRaw, repeated{}, AtReceiver, epoch)
	if err != nil {
		t.Fatal(err)
	}
	n.Tap(ac, tap)
	n.Run(7)
	for k := range uint64(3) {
		n.Send(ab, &Datagram[uint64]{Packet: Packet{Size: 5}, Body: k + 1})
	}
	n.Send(ac, &Datagram[uint64]{Packet: Packet{Size: 2}, Body: 0})
	n.Run(second)
	if tap.Err() != nil {
		t.Fatal(tap.Err())
	}
	return file.Bytes()
}

func TestCapture(t *testing.T) {
	bit := int(below(newStream(LinkKey(1, "a>c"), forBit).at(1), 16))
	flipped := []byte{0, 0}
	flipped[bit/8] = 0x80 >> (bit % 8)
	var want bytes.Buffer
	out, err := pcapng.NewWriter(&want, "tcpwheel")
	if err != nil {
		t.Fatal(err)
	}
	const at = 1_000_000_000*second + 7
	_, err1 := out.AddInterface("a>b", pcapng.LinkTypeRaw)
	_, err2 := out.AddInterface("at c", pcapng.LinkTypeRaw)
	arrival := fmt.Sprintf("bit %d flipped", bit)
	if err := errors.Join(err1, err2,
		out.WritePacket(0, at, []byte{1, 1, 1, 1, 1}, 5, ""),
		out.WritePacket(0, at, []byte{2, 2, 2, 2, 2}, 5, "dropped: loss"),
		out.WritePacket(0, at, []byte{3, 3, 3, 3, 3}, 5, "dropped: queue"),
		out.WritePacket(1, at, flipped, 2, arrival),
		out.WritePacket(1, at, flipped, 2, arrival)); err != nil {
		t.Fatal(err)
	}
	if got := capture(t); !bytes.Equal(got, want.Bytes()) {
		t.Errorf("captured\n%q\nwant\n%q", got, want.Bytes())
	}
}

func TestCaptureIsReadByTshark(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	file := filepath.Join(t.TempDir(), "sim.pcapng")
	if err := os.WriteFile(file, capture(t), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := exec.Command(tshark, "-r", file, "-T", "fields", "-e", "frame.time_epoch", "-e", "frame.interface_name").Output()
	if want := "1000000000.000000007\ta>b\n"; err != nil || !strings.HasPrefix(string(got), want) {
		t.Errorf("tshark: %v, %q, want %q first", err, got, want)
	}
}

// brokenWriter fails after good calls.
type brokenWriter struct{ good int }

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.good--; w.good < 0 {
		return 0, errors.New("no space")
	}
	return len(p), nil
}

func TestCaptureError(t *testing.T) {
	out, err := pcapng.NewWriter(&brokenWriter{good: 2}, "")
	if err != nil {
		t.Fatal(err)
	}
	tap, err := NewCapture(out, "x", pcapng.LinkTypeRaw, repeated{}, AtSender, 0)
	if err != nil {
		t.Fatal(err)
	}
	tap.Sent(0, &Datagram[uint64]{Packet: Packet{Size: 1}}, Fate{})
	if tap.Err() == nil || tap.Err().Error() != "no space" {
		t.Errorf("Err() = %v, want that of the writer", tap.Err())
	}
}

func ExampleCapture() {
	var file bytes.Buffer
	out, _ := pcapng.NewWriter(&file, "tcpwheel")
	n, _ := NewNetwork[uint64](Config{Seed: 1})
	a, _ := n.AddNode("a", nodeFunc(sink))
	b, _ := n.AddNode("b", nodeFunc(sink))
	there, _, _ := n.Connect(a, b, LinkConfig{Loss: Losses{PacketNumbers{1}}}, LinkConfig{})
	tap, _ := NewCapture(out, n.LinkName(there), pcapng.LinkTypeRaw, repeated{}, AtSender, 0)
	n.Tap(there, tap)
	n.Send(there, &Datagram[uint64]{Packet: Packet{Size: 4}, Body: 255})
	fmt.Println(strings.Contains(file.String(), "dropped: loss"), tap.Err())
	// Output: true <nil>
}
