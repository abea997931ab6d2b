package capture

import (
	"bytes"
	"io"
	"net/netip"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"tcpwheel/netstack/tcp"
)

// TestAgreesWithGopacket decodes the public captures by gopacket, too: same segments, same fields.
func TestAgreesWithGopacket(t *testing.T) {
	for _, truth := range publicTable(t, "truth_files.tsv") {
		name := truth["file"]
		r, err := Open(publicFile(t, name))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for n := int64(1); n < 3000; n++ {
			r.rec.options, r.rec.direction, r.rec.problems = nil, Unknown, 0
			if err := r.file.next(&r.rec); err != nil {
				break
			}
			got := r.decode(&r.rec, &r.file.interfaces()[r.rec.iface])
			theirs, ok := byGopacket(r.file.interfaces()[r.rec.iface].LinkType, r.rec.data)
			if got != ok {
				// gopacket 1.1.19 knows neither SLL2 nor Cisco's tag.
				if name == "tls-linux-sll2.pcap" || name == "tls-sgt-rto-backoff.pcap" {
					continue
				}
				t.Fatalf("%s: packet %d is a segment: %v, gopacket %v", name, n, got, ok)
			}
			if !got {
				continue
			}
			p := r.d.p
			ours := twin{p.Src, p.Dst, p.Header.Seq, p.Header.Ack, p.Header.Flags, p.Header.Window, p.Header.Checksum, p.TTL}
			if ours != theirs {
				t.Fatalf("%s: packet %d is %+v, gopacket %+v", name, n, ours, theirs)
			}
		}
	}
}

// twin is what both decoders find.
type twin struct {
	src, dst         netip.AddrPort
	seq, ack         tcp.Seq
	flags            tcp.Flags
	window, checksum uint16
	ttl              uint8
}

func byGopacket(link uint16, data []byte) (w twin, ok bool) {
	if link > 255 {
		return w, false
	}
	packet := gopacket.NewPacket(data, layers.LinkType(link), gopacket.DecodeOptions{NoCopy: true})
	h, ok := packet.Layer(layers.LayerTypeTCP).(*layers.TCP)
	if !ok {
		return w, false
	}
	var src, dst netip.Addr
	switch ip := packet.NetworkLayer().(type) {
	case *layers.IPv4:
		src, dst, w.ttl = netip.AddrFrom4([4]byte(ip.SrcIP)), netip.AddrFrom4([4]byte(ip.DstIP)), ip.TTL
	case *layers.IPv6:
		src, dst, w.ttl = netip.AddrFrom16([16]byte(ip.SrcIP)), netip.AddrFrom16([16]byte(ip.DstIP)), ip.HopLimit
	}
	w.src, w.dst = netip.AddrPortFrom(src, uint16(h.SrcPort)), netip.AddrPortFrom(dst, uint16(h.DstPort))
	w.seq, w.ack, w.window, w.checksum = tcp.Seq(h.Seq), tcp.Seq(h.Ack), h.Window, h.Checksum
	w.flags = tcp.Flags(h.Contents[13])
	return w, true
}

// BenchmarkGopacket is BenchmarkNext with gopacket's decoders, for comparison.
func BenchmarkGopacket(b *testing.B) {
	file := unpacked(b, publicFile(b, "echo-82k-packets.pcap.gz"))
	b.ReportAllocs()
	packets := 0
	for b.Loop() {
		f, err := newPcapFile(newInput(bytes.NewReader(file), -1))
		if err != nil {
			b.Fatal(err)
		}
		rec := record{}
		for ; f.next(&rec) == nil; packets++ {
			if _, ok := byGopacket(1, rec.data); !ok {
				b.Fatal("not a segment")
			}
		}
		if err := f.next(&rec); err != io.EOF {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(packets)/b.Elapsed().Seconds()/1e6, "Mpackets/s")
}
