package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"reflect"
	"testing"
)

// FuzzReader reads arbitrary files. It must not panic; packets and counts must be consistent; the
// end must be reported.
func FuzzReader(f *testing.F) {
	packets := []raw{{at: 1e9, data: ether(0x0800, hello())}, {at: 2e9, data: ether(0x86dd, hello6())[:70], length: 200}}
	for _, order := range orders {
		for _, magic := range []uint32{magicMicro, magicNano, magicKuznet} {
			f.Add(pcapOf(order, magic, 1, packets...))
		}
		f.Add(variantOf(order, magicMicro, layoutKuznet, packets...))
		f.Add(variantOf(order, magicMicro, layoutNokia, packets...))
		f.Add(variantOf(order, magicKuznet, layoutCPUs, packets...))
		g := (&ng{byteOrder: order}).section()
		g.port(1, 0, g.option(2, []byte("eth0")), g.option(9, []byte{0x80 | 20}), g.option(14, g.AppendUint64(nil, 3)))
		g.packet(0, 7, ether(0x0800, hello()), g.option(1, []byte("why")), g.option(2, g.u32(nil, 1)))
		g.block(blockSimple, g.u32(nil, 9), repeat(0, 9))
		g.block(blockOldPacket, g.u32(nil, 0, 0, 0, 2, 9), repeat(0, 4))
		g.block(blockStatistics, g.u32(nil, 0, 0, 0), g.option(5, g.AppendUint64(nil, 3)))
		f.Add(g.block(10, repeat(0, 16)).section().b)
	}
	var parts []raw
	for i, part := range pieces(77, 480, here4.As4(), there4.As4(), large()[:1000]) {
		parts = append(parts, raw{at: int64(i) * 4e8, data: part})
	}
	f.Add(pcapOf(binary.LittleEndian, magicNano, 101, parts...))
	f.Add(gzipped(f, pcapOfHello(101, hello())))
	f.Add(zstded(f, pcapOfHello(101, hello())))
	f.Add([]byte(bzipped))
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) > 1<<16 {
			t.Skip("more of the same")
		}
		r, err := NewReader(bytes.NewReader(file), "fuzz")
		if err != nil {
			var e *Error
			if !errors.As(err, &e) {
				t.Errorf("%v is not an Error", err)
			}
			return
		}
		defer r.Close()
		var segments, kept int64
		for segments < 1<<16 {
			p, nextErr := r.Next()
			if err = nextErr; err != nil {
				break
			}
			segments++
			kept += int64(len(p.Payload))
			if uint32(len(p.Payload)) > p.Len || p.Number < 1 || p.Number > r.Stats().Packets || !p.Src.IsValid() || !p.Dst.IsValid() ||
				p.Interface < 0 || p.Interface >= len(r.Interfaces()) {
				t.Fatalf("%+v", *p)
			}
			r.Comments()
		}
		s := r.Stats()
		sum := s.TCP
		for _, n := range s.Skipped {
			sum += n
		}
		if s.TCP != segments || s.Packets != sum {
			t.Errorf("%d segments, %+v", segments, s)
		}
		var e *Error
		if err == nil {
			return // a decompression bomb
		}
		if err != io.EOF && !errors.As(err, &e) {
			t.Errorf("%v is neither the end nor an Error", err)
		}
		if _, again := r.Next(); again != err {
			t.Errorf("%v after %v", again, err)
		}
	})
}

// decodeGenerally is decodeOne without plainIPv4.
func decodeGenerally(link uint16, data []byte, keep int) (*decoder, Reason) {
	d := &decoder{p: &Packet{Number: 1}}
	return d, d.link(link, data[:keep:keep], len(data))
}

// FuzzDecode decodes arbitrary packets of any link type. It must not panic. A segment found in a
// cut packet must be found in the whole one, with the same addresses. plainIPv4 changes nothing.
func FuzzDecode(f *testing.F) {
	for _, c := range encapsulations {
		f.Add(uint16(c.link), c.data, uint16(len(c.data)-3))
	}
	f.Fuzz(func(t *testing.T, link uint16, data []byte, keep uint16) {
		if len(data) > 1<<14 {
			t.Skip("more of the same")
		}
		whole, got := decodeOne(int(link), data, len(data))
		if got == isTCP && (uint32(len(whole.p.Payload)) > whole.p.Len || !whole.p.Src.Addr().IsValid() || whole.p.Src.Addr().Is4() != whole.p.Dst.Addr().Is4()) {
			t.Fatalf("%+v", whole.p)
		}
		Describe(&Frame{Data: data[:min(int(keep), len(data))], Length: uint32(len(data)), LinkType: link})
		cut, gotCut := decodeOne(int(link), data, min(int(keep), len(data)))
		if general, got := decodeGenerally(link, data, min(int(keep), len(data))); got != gotCut || got == isTCP && !reflect.DeepEqual(general.p, cut.p) {
			t.Errorf("link type %d, %d of %d bytes: %+v, without plainIPv4: %v %+v", link, keep, len(data), cut.p, got, general.p)
		}
		if gotCut != isTCP {
			return
		}
		if uint32(len(cut.p.Payload)) > cut.p.Len {
			t.Fatalf("%+v", cut.p)
		}
		if got != isTCP || cut.p.Src != whole.p.Src || cut.p.Len != whole.p.Len {
			t.Errorf("link type %d, %d of %d bytes: %+v, whole: %v %+v", link, keep, len(data), cut.p, got, whole.p)
		}
	})
}
