package capture

import (
	"bytes"
	"io"
	"testing"

	"tcpwheel/pcaps/samples"
)

// TestLiveIsAReader decodes the frames of the samples as live packets: segments and counts equal
// those of a Reader.
func TestLiveIsAReader(t *testing.T) {
	for _, s := range samples.List() {
		in, err := samples.Open(s.Captures[0])
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(in, s.Name)
		if err != nil {
			t.Fatal(err)
		}
		var live Live
		for {
			want, err := r.Next()
			if err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			data, length, link := r.Frame()
			got, ok := live.Decode(&Frame{Time: want.Time, Data: data, Length: length, LinkType: link, Direction: want.Direction})
			if !ok {
				t.Fatalf("%s: packet %d is no segment", s.Name, want.Number)
			}
			same := *got
			same.Payload = want.Payload
			if !bytes.Equal(got.Payload, want.Payload) || same.Src != want.Src || same.Dst != want.Dst || same.Header != want.Header ||
				same.Number != r.Stats().TCP || same.Len != want.Len || same.Problems != want.Problems {
				t.Fatalf("%s: %+v, want %+v", s.Name, got, want)
			}
		}
		if got, want := live.Stats(), r.Stats(); got.TCP != want.TCP || got.Packets != want.TCP || got.Problems != want.Problems {
			t.Errorf("%s: %+v, want %+v", s.Name, got, want)
		}
	}
}

// TestLiveCountsWhatIsNoTCP: a packet without a segment is counted with its reason, and a device
// and an unfinished checksum are kept.
func TestLiveCountsWhatIsNoTCP(t *testing.T) {
	var live Live
	if _, ok := live.Decode(&Frame{Data: []byte{0x45}, Length: 40, LinkType: linkRaw}); ok || live.Stats().Skipped[CutHeader] != 1 {
		t.Errorf("%+v, want one cut header", live.Stats())
	}
	frame := append([]byte{0x45, 0, 0, 40, 0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2}, 0, 1, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0x50, 0x10, 1, 0, 0, 0, 0, 0)
	p, ok := live.Decode(&Frame{Data: frame, Length: 40, LinkType: linkRaw, Device: 7, PartialChecksum: true, Direction: Outbound})
	if !ok || p.Device != 7 || !p.Problems.Has(PartialChecksum) || p.Direction != Outbound || p.Number != 2 {
		t.Errorf("%+v", p)
	}
}
