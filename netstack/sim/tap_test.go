package sim

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tcpwheel/wheel"
)

// repeated serialises a datagram as Size bytes of its body.
type repeated struct{}

func (repeated) Serialize(buf []byte, d *Datagram[uint64]) []byte {
	return append(buf, bytes.Repeat([]byte{byte(d.Body)}, int(d.Size))...)
}

// readPcapng reads our blocks and returns a line for each. It is written from the format's
// description, not from the writer.
func readPcapng(file []byte) (lines []string, err error) {
	le := binary.LittleEndian
	for len(file) > 0 {
		if len(file) < 12 {
			return lines, fmt.Errorf("%d bytes left, want a block", len(file))
		}
		kind, length := le.Uint32(file), int(le.Uint32(file[4:]))
		if length < 12 || length%4 != 0 || length > len(file) || int(le.Uint32(file[length-4:])) != length {
			return lines, fmt.Errorf("block of %d bytes, want the same length at both ends", length)
		}
		body := file[8 : length-4]
		file = file[length:]
		var line string
		switch kind {
		case 0x0a0d0d0a:
			line = fmt.Sprintf("section %x %d.%d %d", le.Uint32(body), le.Uint16(body[4:]), le.Uint16(body[6:]), int64(le.Uint64(body[8:])))
			body = body[16:]
		case 1:
			line = fmt.Sprintf("interface link %d snap %d", le.Uint16(body), le.Uint32(body[4:]))
			body = body[8:]
		case 6:
			n := int(le.Uint32(body[12:]))
			at := uint64(le.Uint32(body[4:]))<<32 | uint64(le.Uint32(body[8:]))
			line = fmt.Sprintf("packet %d at %d of %d: %x", le.Uint32(body), at, le.Uint32(body[16:]), body[20:20+n])
			body = body[20+(n+3)/4*4:]
		case 5:
			line = fmt.Sprintf("statistics %d at %d", le.Uint32(body), uint64(le.Uint32(body[4:]))<<32|uint64(le.Uint32(body[8:])))
			body = body[12:]
		default:
			return lines, fmt.Errorf("block of type %d", kind)
		}
		for len(body) > 0 {
			code, n := le.Uint16(body), int(le.Uint16(body[2:]))
			if code == 0 {
				if body = body[4:]; len(body) > 0 {
					return lines, fmt.Errorf("%d bytes after the end of options", len(body))
				}
				break
			}
			line += fmt.Sprintf(" %d=%q", code, body[4:4+n])
			if body = body[4+(n+3)/4*4:]; len(body) == 0 {
				return lines, errors.New("options without an end")
			}
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// capture sends a few datagrams over a link with a tap at each end.
func capture(t *testing.T) []byte {
	t.Helper()
	var file bytes.Buffer
	out, err := NewPcapng(&file, "tcpwheel")
	if err != nil {
		t.Fatal(err)
	}
	n := newTestNetwork(t, "", 1)
	a, b, c := n.mustAdd(t, "a", nodeFunc(sink)), n.mustAdd(t, "b", nodeFunc(sink)), n.mustAdd(t, "c", nodeFunc(sink))
	const epoch = 1_000_000_000 * second
	ab, _ := n.mustConnect(t, a, b, LinkConfig{Rate: 8_000_000, Delay: time.Millisecond, Queue: Limit{Packets: 1}, Loss: Losses{PacketNumbers{2}}})
	ac, _ := n.mustConnect(t, a, c, LinkConfig{Duplicate: 1, Corrupt: 1})
	tap, err := NewCapture(out, n.LinkName(ab), LinkTypeRaw, repeated{}, AtSender, epoch)
	if err != nil {
		t.Fatal(err)
	}
	n.Tap(ab, tap)
	tap, err = NewCapture(out, "at c", LinkTypeRaw, repeated{}, AtReceiver, epoch)
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

func TestCaptureIsReadBack(t *testing.T) {
	got, err := readPcapng(capture(t))
	if err != nil {
		t.Fatal(err)
	}
	bit := int(below(newStream(LinkKey(1, "a>c"), forBit).at(1), 16))
	flipped := [2]byte{}
	flipped[bit/8] = 0x80 >> (bit % 8)
	arrival := fmt.Sprintf(`packet 1 at 1000000000000000007 of 2: %x 1="bit %d flipped"`, flipped, bit)
	want := []string{
		`section 1a2b3c4d 1.0 -1 4="tcpwheel"`,
		`interface link 101 snap 0 2="a>b" 9="\t"`,
		`interface link 101 snap 0 2="at c" 9="\t"`,
		`packet 0 at 1000000000000000007 of 5: 0101010101`,
		`packet 0 at 1000000000000000007 of 5: 0202020202 1="dropped: loss"`,
		`packet 0 at 1000000000000000007 of 5: 0303030303 1="dropped: queue"`,
		arrival, arrival,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("read\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestDirectionsAndStatistics checks packets' directions and an interface's count of missing
// packets.
func TestDirectionsAndStatistics(t *testing.T) {
	var file bytes.Buffer
	out, err := NewPcapng(&file, "")
	if err != nil {
		t.Fatal(err)
	}
	iface, err := out.AddInterface("x", LinkTypeRaw)
	if err != nil {
		t.Fatal(err)
	}
	for direction, comment := range map[Direction]string{Inbound: "", Outbound: "late"} {
		file.Reset()
		if err := out.WriteDirected(iface, 7, direction, []byte{1}, 1, comment); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("packet 0 at 7 of 1: 01 2=%q", []byte{byte(direction), 0, 0, 0})
		if comment != "" {
			want = `packet 0 at 7 of 1: 01 1="late" 2="\x02\x00\x00\x00"`
		}
		if got, err := readPcapng(file.Bytes()); err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("read %q, %v, want %q", got, err, want)
		}
	}
	file.Reset()
	if err := out.WriteStatistics(iface, 1<<32+7, 258, 1); err != nil {
		t.Fatal(err)
	}
	want := `statistics 0 at 4294967303 4="\x02\x01\x00\x00\x00\x00\x00\x00" 5="\x01\x00\x00\x00\x00\x00\x00\x00"`
	if got, err := readPcapng(file.Bytes()); err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("read %q, %v, want %q", got, err, want)
	}
	if out.WriteStatistics(1, 0, 0, 0) == nil || out.WriteStatistics(0, -1, 0, 0) == nil || out.WriteDirected(0, 0, 3, nil, 0, "") == nil {
		t.Error("an interface that is not there, an instant before 1970, or a fourth direction gave no error")
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

func TestCaptureErrors(t *testing.T) {
	if _, err := NewPcapng(&brokenWriter{}, "x"); err == nil {
		t.Error("NewPcapng over a writer that fails: no error")
	}
	out, err := NewPcapng(&brokenWriter{good: 2}, "")
	if err != nil {
		t.Fatal(err)
	}
	tap, err := NewCapture(out, "x", LinkTypeRaw, repeated{}, AtSender, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		iface   uint32
		at      wheel.Time
		comment string
		want    string
	}{
		{1, 0, "", "sim: pcapng interface 1, want one of 1"},
		{0, -1, "", "sim: pcapng stamp -1 ns, want 0 at least"},
		{0, 0, strings.Repeat("x", 65536), "sim: pcapng comment of 65536 bytes, want 0 to 65535"},
	} {
		if err := out.WritePacket(test.iface, test.at, nil, 0, test.comment); err == nil || err.Error() != test.want {
			t.Errorf("WritePacket(%d, %d): error %v, want %q", test.iface, test.at, err, test.want)
		}
	}
	tap.Sent(0, &Datagram[uint64]{Packet: Packet{Size: 1}}, Fate{})
	if tap.Err() == nil || tap.Err().Error() != "no space" {
		t.Errorf("Err() = %v, want that of the writer", tap.Err())
	}
}

func ExampleCapture() {
	var file bytes.Buffer
	out, _ := NewPcapng(&file, "tcpwheel")
	n, _ := NewNetwork[uint64](Config{Seed: 1})
	a, _ := n.AddNode("a", nodeFunc(sink))
	b, _ := n.AddNode("b", nodeFunc(sink))
	there, _, _ := n.Connect(a, b, LinkConfig{Loss: Losses{PacketNumbers{1}}}, LinkConfig{})
	tap, _ := NewCapture(out, n.LinkName(there), LinkTypeRaw, repeated{}, AtSender, 0)
	n.Tap(there, tap)
	n.Send(there, &Datagram[uint64]{Packet: Packet{Size: 4}, Body: 255})
	lines, _ := readPcapng(file.Bytes())
	fmt.Println(lines[2], tap.Err())
	// Output:
	// packet 0 at 0 of 4: ffffffff 1="dropped: loss" <nil>
}
