package pcapng

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tcpwheel/wheel"
)

// read reads our blocks and returns a line for each. It is written from the format's
// description, not from the writer.
func read(file []byte) (lines []string, err error) {
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

func TestWriter(t *testing.T) {
	var file bytes.Buffer
	out, err := NewWriter(&file, "tcpwheel")
	if err != nil {
		t.Fatal(err)
	}
	iface, err := out.AddInterface("a>b", LinkTypeRaw)
	if err == nil {
		err = out.WritePacket(iface, 1_000_000_000_000_000_007, []byte{1, 2, 3, 4, 5}, 9, "late")
	}
	if err != nil {
		t.Fatal(err)
	}
	got, err := read(file.Bytes())
	want := `section 1a2b3c4d 1.0 -1 4="tcpwheel"
interface link 101 snap 0 2="a>b" 9="\t"
packet 0 at 1000000000000000007 of 9: 0102030405 1="late"`
	if text := strings.Join(got, "\n"); err != nil || text != want {
		t.Errorf("read %v\n%s\nwant\n%s", err, text, want)
	}
}

// TestDirectionsAndStatistics checks packets' directions and an interface's count of missing
// packets.
func TestDirectionsAndStatistics(t *testing.T) {
	var file bytes.Buffer
	out, err := NewWriter(&file, "")
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
		if got, err := read(file.Bytes()); err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("read %q, %v, want %q", got, err, want)
		}
	}
	file.Reset()
	if err := out.WriteStatistics(iface, 1<<32+7, 258, 1); err != nil {
		t.Fatal(err)
	}
	want := `statistics 0 at 4294967303 4="\x02\x01\x00\x00\x00\x00\x00\x00" 5="\x01\x00\x00\x00\x00\x00\x00\x00"`
	if got, err := read(file.Bytes()); err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("read %q, %v, want %q", got, err, want)
	}
	if out.WriteStatistics(1, 0, 0, 0) == nil || out.WriteStatistics(0, -1, 0, 0) == nil || out.WriteDirected(0, 0, 3, nil, 0, "") == nil {
		t.Error("an interface that is not there, an instant before 1970, or a fourth direction gave no error")
	}
}

// broken is a writer that fails.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestErrors(t *testing.T) {
	if _, err := NewWriter(broken{}, "x"); err == nil {
		t.Error("NewWriter over a writer that fails: no error")
	}
	out, err := NewWriter(&bytes.Buffer{}, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.AddInterface("x", LinkTypeRaw); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		iface   uint32
		at      wheel.Time
		comment string
		want    string
	}{
		{1, 0, "", "pcapng: interface 1, want one of 1"},
		{0, -1, "", "pcapng: stamp -1 ns, want 0 at least"},
		{0, 0, strings.Repeat("x", 65536), "pcapng: comment of 65536 bytes, want 0 to 65535"},
	} {
		if err := out.WritePacket(test.iface, test.at, nil, 0, test.comment); err == nil || err.Error() != test.want {
			t.Errorf("WritePacket(%d, %d): error %v, want %q", test.iface, test.at, err, test.want)
		}
	}
}
