package capture

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"reflect"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"tcpwheel/pcaps/samples"
)

// TestPacketReaderIsAReader reads the samples by gopacket's pcapgo: same segments and counts as by
// a Reader.
func TestPacketReaderIsAReader(t *testing.T) {
	for _, s := range samples.List() {
		in, err := samples.Open(s.Captures[0])
		if err != nil {
			t.Fatal(err)
		}
		file, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		in.Close()
		ours, err := NewReader(bytes.NewReader(file), s.Name)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := gzip.NewReader(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		source, err := pcapgo.NewNgReader(plain, pcapgo.DefaultNgReaderOptions)
		if err != nil {
			t.Fatal(err)
		}
		theirs := NewPacketReader(source, uint16(source.LinkType()), s.Name)
		for n := 1; ; n++ {
			p, err := ours.Next()
			q, theirErr := theirs.Next()
			if err != nil || theirErr != nil {
				if err != io.EOF || theirErr != io.EOF {
					t.Errorf("%s: %v, by pcapgo %v", s.Name, err, theirErr)
				}
				break
			}
			a, b := *p, *q
			a.Direction, b.Direction = Unknown, Unknown // pcapgo does not say
			if !reflect.DeepEqual(a, b) {
				t.Fatalf("%s: segment %d: %+v, by pcapgo %+v", s.Name, n, a, b)
			}
		}
		if a, b := ours.Stats(), theirs.Stats(); a.TCP == 0 || a.TCP != b.TCP || a.Packets != b.Packets || a.Skipped != b.Skipped || b.Bytes == 0 {
			t.Errorf("%s: %+v, by pcapgo %+v", s.Name, a, b)
		}
	}
}

// TestReaderIsAGopacketSource has gopacket decode what a Reader returns.
func TestReaderIsAGopacketSource(t *testing.T) {
	g := (&ng{byteOrder: binary.LittleEndian}).section().port(int(layers.LinkTypeRaw), 0).packet(0, 1, hello())
	r, err := NewReader(bytes.NewReader(g.b), "hello")
	if err != nil {
		t.Fatal(err)
	}
	packets := gopacket.NewPacketSource(r, layers.LinkTypeRaw)
	p, err := packets.NextPacket()
	if err != nil {
		t.Fatal(err)
	}
	tcp, ok := p.TransportLayer().(*layers.TCP)
	if !ok || string(tcp.Payload) != "hello" || p.Metadata().Length != len(hello()) {
		t.Errorf("gopacket finds %v, %+v", p, p.Metadata())
	}
	if _, err := packets.NextPacket(); err != io.EOF {
		t.Errorf("after the last packet: %v, want EOF", err)
	}
}

// packetsOf is a source of given packets, and then of an error.
type packetsOf struct {
	info []gopacket.CaptureInfo
	data []byte
	err  error
}

func (s *packetsOf) ReadPacketData() ([]byte, gopacket.CaptureInfo, error) {
	if len(s.info) == 0 {
		return nil, gopacket.CaptureInfo{}, s.err
	}
	info := s.info[0]
	s.info = s.info[1:]
	return s.data, info, nil
}

func TestPacketReaderChecksItsSource(t *testing.T) {
	at := time.Unix(1, 5)
	for _, test := range []struct {
		name string
		src  packetsOf
		want error
		text string
	}{
		{"a cut file", packetsOf{err: io.ErrUnexpectedEOF}, ErrCutShort, ""},
		{"an interface below 0", packetsOf{info: []gopacket.CaptureInfo{{Timestamp: at, InterfaceIndex: -1}}}, nil,
			"x: packet 1: at byte 0: interface -1, want 0 to 65535"},
		{"an interface out of bounds", packetsOf{info: []gopacket.CaptureInfo{{Timestamp: at, InterfaceIndex: 1 << 20}}}, nil,
			"x: packet 1: at byte 0: interface 1048576, want 0 to 65535"},
		{"a packet too large", packetsOf{info: []gopacket.CaptureInfo{{Timestamp: at}}, data: make([]byte, maxRecord+1)}, nil,
			"x: packet 1: at byte 0: a packet of 16777217 bytes, want 0 to 16777216"},
	} {
		_, err := NewPacketReader(&test.src, 101, "x").Next()
		if test.want != nil && !errors.Is(err, test.want) || test.text != "" && (err == nil || err.Error() != test.text) {
			t.Errorf("%s: %v, want %v%s", test.name, err, test.want, test.text)
		}
	}
	r := NewPacketReader(&packetsOf{info: []gopacket.CaptureInfo{{Timestamp: at, Length: -7}, {}}, data: hello(), err: io.EOF}, 101, "x")
	for i, problem := range []Problems{0, NoStamp} {
		p, err := r.Next()
		if err != nil || p.Time != 1_000_000_005 || p.Problems.Has(problem) != true || string(p.Payload) != "hello" {
			t.Errorf("packet %d: %+v, %v", i+1, p, err)
		}
	}
	r.Stop()
	if _, err := r.Next(); !errors.Is(err, ErrStopped) {
		t.Errorf("after Stop: %v", err)
	}
}
