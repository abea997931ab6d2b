package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// entry is what a copy keeps of a packet.
type entry struct {
	time   int64
	data   string
	length uint32
	iface  int
}

// entries reads a file to its end.
func entries(t *testing.T, file []byte) (all []entry, comments [][]string, faces []Interface, err error) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(file), "copy")
	if err != nil {
		return nil, nil, nil, err
	}
	for {
		r.rec.options, r.rec.direction, r.rec.problems = nil, Unknown, 0
		if err := r.file.next(&r.rec); err != nil {
			return all, comments, r.Interfaces(), err
		}
		rec := &r.rec
		all = append(all, entry{int64(rec.time), string(rec.data), rec.length, rec.iface})
		r.d.p.Number = rec.number
		comments = append(comments, r.Comments())
	}
}

// everyThird comments on packets 3, 6, 9 and so on.
func everyThird(n int64) string {
	if n%3 != 0 {
		return ""
	}
	return fmt.Sprintf("retransmission %d, by RTO", n)
}

func copied(t *testing.T, file []byte, comment func(int64) string) ([]byte, error) {
	t.Helper()
	var out bytes.Buffer
	err := annotate(&out, newSource(bytes.NewReader(file), "x"), comment)
	return out.Bytes(), err
}

func TestAnnotateKeepsEverything(t *testing.T) {
	packets := []raw{{at: 1e9, data: hello()}, {at: stampNano, data: hello6()[:50], length: 1000}, {at: stampNano, data: repeat(1, 3)}, {}, {}, {at: 7, data: hello()}}
	files := map[string][]byte{}
	for name, order := range orders {
		files["pcap "+name] = pcapOf(order, magicNano, 101, packets...)
		g := (&ng{byteOrder: order}).section().port(101, 0, g0(order).option(2, []byte("eth0")), g0(order).option(9, []byte{9}))
		g.port(1, 60, g.option(2, []byte("eth1")), g.option(14, g.AppendUint64(nil, 3)))
		for i, p := range packets {
			g.packet(i%2, uint64(p.at), p.data, g.option(1, []byte("was there")), g.option(2, g.u32(nil, 1)), g.option(0, nil))
			g.packet(i%2, uint64(p.at), p.data)
		}
		g.block(blockOldPacket, g.u32(nil, 0, 0, 9, 3, 7), []byte{1, 2, 3, 0}, g.option(1, []byte("old")))
		g.block(blockOldPacket, g.u32(nil, 0, 0, 9, 3, 7), []byte{1, 2, 3, 0}, g.option(1, []byte("old")))
		g.block(10, repeat(3, 400_000)) // secrets
		g.section().port(101, 0).packet(0, 5, hello())
		files["pcapng "+name] = g.b
	}
	for name, file := range files {
		want, before, faces, err := entries(t, file)
		if err != io.EOF {
			t.Fatalf("%s: %v", name, err)
		}
		file, err := copied(t, file, everyThird)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, comments, gotFaces, err := entries(t, file)
		if err != io.EOF || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %d packets, want %d, the same", name, err, len(got), len(want))
		}
		for i := range comments {
			wantComments := before[i]
			if c := everyThird(int64(i + 1)); c != "" {
				wantComments = append([]string{c}, wantComments...)
			}
			if !slices.Equal(comments[i], wantComments) {
				t.Errorf("%s: packet %d has comments %q, want %q", name, i+1, comments[i], wantComments)
			}
		}
		for i := range faces {
			if faces[i].Name != gotFaces[i].Name || faces[i].LinkType != gotFaces[i].LinkType {
				t.Errorf("%s: interface %+v, want %+v", name, gotFaces[i], faces[i])
			}
		}
		if strings.HasPrefix(name, "pcapng") && bytes.Count(file, repeat(3, 400_000)) != 1 {
			t.Errorf("%s: a block that is not about packets is gone", name)
		}
	}
}

func g0(order byteOrder) *ng { return &ng{byteOrder: order} }

// TestAnnotateWithoutComments copies a pcapng file byte by byte, except for the section length.
func TestAnnotateWithoutComments(t *testing.T) {
	g := (&ng{byteOrder: binary.LittleEndian}).section().port(101, 0).packet(0, 1, hello(), g0(binary.LittleEndian).option(1, []byte("x")))
	g.block(blockSimple, g.u32(nil, 5), repeat(1, 8)).block(99, repeat(7, 12))
	want := slices.Clone(g.b)
	binary.LittleEndian.PutUint64(g.b[16:], uint64(len(g.b)-28))
	got, err := copied(t, g.b, func(int64) string { return "" })
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v, %x, want %x", err, got, want)
	}
}

// TestAnnotateSimplePacket turns a simple packet, which has no room for a comment, into an enhanced
// one with the stamp of the packet before.
func TestAnnotateSimplePacket(t *testing.T) {
	g := (&ng{byteOrder: binary.BigEndian}).section().port(101, 50).packet(0, 1234, hello())
	g.block(blockSimple, g.u32(nil, 57), hello()[:50], repeat(0, 2))
	file, err := copied(t, g.b, func(n int64) string { return fmt.Sprint("number ", n) })
	if err != nil {
		t.Fatal(err)
	}
	all, comments, _, err := entries(t, file)
	if err != io.EOF || len(all) != 2 || all[1].time != 1_234_000 || all[1].length != 57 || comments[1][0] != "number 2" || all[1].data[:50] != string(hello()[:50]) {
		t.Errorf("%v, %+v, %q", err, all, comments)
	}
}

func TestAnnotateErrors(t *testing.T) {
	file := pcapOf(binary.LittleEndian, magicMicro, 101, raw{data: hello()}, raw{data: hello()}, raw{data: hello()})
	out, err := copied(t, file[:len(file)-1], everyThird)
	if want := "x: packet 3: at byte 170: the file is cut short: 56 bytes left, want a packet of 57"; !errors.Is(err, ErrCutShort) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if all, _, _, err := entries(t, out); len(all) != 2 || err != io.EOF {
		t.Errorf("%d packets, %v, want those before the cut", len(all), err)
	}
	ng := asPcapng(t, file)
	if _, err := copied(t, ng[:len(ng)-1], everyThird); !errors.Is(err, ErrCutShort) {
		t.Errorf("pcapng: %v", err)
	}
	for name, file := range map[string][]byte{"pcap": file, "pcapng": ng} {
		if _, err := copied(t, file, func(int64) string { return strings.Repeat("x", 65536) }); err == nil || !strings.HasSuffix(err.Error(), "a comment of 65536 bytes, want 65535 at most") {
			t.Errorf("%s: %v", name, err)
		}
		if err := annotate(failing{}, newSource(bytes.NewReader(file), "x"), everyThird); err != errFull {
			t.Errorf("%s: %v, want %v", name, err, errFull)
		}
	}
	if _, err := copied(t, []byte("hello"), everyThird); err == nil || !strings.HasPrefix(err.Error(), "x: not a capture") {
		t.Errorf("%v", err)
	}
	if err := Annotate(io.Discard, filepath.Join(t.TempDir(), "none"), everyThird); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

var errFull = errors.New("no space")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }

// TestAnnotatePublicCaptures copies each public capture. If tshark is installed it reads two of the
// copies.
func TestAnnotatePublicCaptures(t *testing.T) {
	tshark, _ := exec.LookPath("tshark")
	for _, truth := range publicTable(t, "truth_files.tsv") {
		name := truth["file"]
		file, err := os.ReadFile(publicFile(t, name))
		if err != nil {
			t.Fatal(err)
		}
		out, err := copied(t, file, everyThird)
		if err != nil && !errors.Is(err, ErrCutShort) {
			t.Errorf("%s: %v", name, err)
		}
		want, _, _, _ := entries(t, file)
		got, comments, _, err := entries(t, out)
		if err != io.EOF || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %d packets, want %d, the same", name, err, len(got), len(want))
		}
		if len(want) > 2 && !slices.Contains(comments[2], everyThird(3)) {
			t.Errorf("%s: comments of packet 3: %q", name, comments[2])
		}
		if tshark == "" || name != "tls-3-interfaces.pcapng" && name != "tls-linux-sll2.pcap" {
			continue
		}
		path := filepath.Join(t.TempDir(), "copy.pcapng")
		if err := os.WriteFile(path, out, 0o600); err != nil {
			t.Fatal(err)
		}
		lines, err := exec.Command(tshark, "-r", path, "-Y", "frame.comment", "-T", "fields", "-e", "frame.comment").Output()
		if n := strings.Count(string(lines), "retransmission "); err != nil || n != len(want)/3 {
			t.Errorf("%s: tshark: %v, %d comments, want %d", name, err, n, len(want)/3)
		}
	}
}
