package capture

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"testing"
)

// variantOf returns a file whose records have that layout: behind the first 16 bytes of their
// headers come an interface, an ethertype, and the direction "sent".
func variantOf(order byteOrder, magic uint32, layout int, packets ...raw) []byte {
	plain := magic
	if magic == magicKuznet {
		plain = magicMicro
	}
	file := pcapOf(order, plain, 1, packets...)
	order.PutUint32(file, magic)
	b, more := file[:pcapHeader:pcapHeader], join([]byte{0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0}[:layout-layoutPlain])
	for file = file[pcapHeader:]; len(file) > 0; {
		size := layoutPlain + int(order.Uint32(file[8:]))
		b = append(append(append(b, file[:layoutPlain]...), more...), file[layoutPlain:size]...)
		file = file[size:]
	}
	return b
}

func TestPcapVariants(t *testing.T) {
	packet := ether(0x0800, hello())
	packets := []raw{{at: stampNano, data: packet}, {at: stampNano + 5000, data: packet[:60], length: len(packet)}, {at: stampNano + 9000, data: packet}}
	for name, order := range orders {
		for _, c := range []struct {
			name      string
			magic     uint32
			layout    int
			direction Direction
		}{
			{"plain", magicMicro, layoutPlain, Unknown},
			{"Nokia's", magicMicro, layoutNokia, Unknown},
			{"Kuznetzov's of April 1999", magicMicro, layoutKuznet, Outbound},
			{"Kuznetzov's of September 1999", magicKuznet, layoutCPUs, Outbound},
			{"Kuznetzov's of October 1999", magicKuznet, layoutKuznet, Outbound},
		} {
			for n := 2; n <= len(packets); n++ {
				all, _, err := readBytes(t, variantOf(order, c.magic, c.layout, packets[:n]...))
				if err != io.EOF || len(all) != n {
					t.Fatalf("%s, %s endian: %d packets, %v, want %d", c.name, name, len(all), err, n)
				}
				for i, p := range all {
					if p.Len != 5 || p.Time.Sub(stampMicro).Nanoseconds() != packets[i].at-stampNano || p.Direction != c.direction {
						t.Errorf("%s, %s endian: packet %d: %+v", c.name, name, i+1, p)
					}
				}
			}
		}
		ixia := pcapOf(order, magicIxiaHW, 1, packets...)
		ixia = join(ixia[:pcapHeader], order.AppendUint32(nil, uint32(len(ixia)-pcapHeader)), ixia[pcapHeader:])
		if all, _, err := readBytes(t, ixia); len(all) != 3 || err != io.EOF {
			t.Errorf("Ixia's, %s endian: %d packets, %v", name, len(all), err)
		}
	}
}

// TestAIX reads AIX's link types, stamps in ns, and padded FDDI frames.
func TestAIX(t *testing.T) {
	for link, packet := range map[int][]byte{
		6:  ether(0x0800, hello()),
		15: join([]byte{0, 0, 0, 0x57}, repeat(2, 12), []byte{0xaa, 0xaa, 3, 0, 0, 0}, be16(0x0800), hello()),
		24: join([]byte{0, 0, 0, 2}, hello()),
	} {
		file := pcapOf(binary.BigEndian, magicNano, link, raw{at: stampNano, data: packet})
		binary.BigEndian.PutUint32(file, magicMicro)
		file[7] = 2
		if all, _, err := readBytes(t, file); len(all) != 1 || err != io.EOF || all[0].Time != stampNano || all[0].Len != 5 {
			t.Errorf("interface type %d: %+v, %v", link, all, err)
		}
	}
}

// TestDamageIsNoVariant cuts a file at each byte and damages each byte of the first records'
// headers, which must not change the layout.
func TestDamageIsNoVariant(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		var packets []raw
		for range 6 {
			data := make([]byte, random.IntN(80))
			for i := range data {
				a, b, c := random.Uint32(), random.Uint32(), random.Uint32()
				data[i] = byte(a & b & c) // most bits are 0, as in headers
			}
			packets = append(packets, raw{at: stampNano, data: data})
		}
		for magic, layout := range map[uint32]int{magicMicro: layoutPlain, magicKuznet: layoutKuznet} {
			file := variantOf(binary.LittleEndian, magic, layout, packets...)
			check := func(file []byte, what string, at int) {
				f, err := newPcapFile(newInput(bytes.NewReader(file), int64(len(file))))
				if err != nil {
					t.Fatal(err)
				}
				if f.next(&record{}); f.header != layout {
					t.Fatalf("%#x, %s at byte %d: headers of %d bytes, want %d", magic, what, at, f.header, layout)
				}
			}
			for n := pcapHeader; n < len(file); n++ {
				check(file[:n], "cut", n)
			}
			for at, record := pcapHeader, 0; record < 3; record++ {
				for i := range layout {
					for _, v := range []byte{0, 1, 0x7f, 0xff, file[at+i] ^ 4} {
						damaged := bytes.Clone(file)
						damaged[at+i] = v
						check(damaged, "damaged", at+i)
					}
				}
				at += layout + len(packets[record].data)
			}
		}
	}
}

// TestKuznetzovsPublicCapture reads the one public capture in this format. tshark finds as many
// segments.
func TestKuznetzovsPublicCapture(t *testing.T) {
	r, err := Open(publicFile(t, "third/t32-modified-pcap.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if all, err := readAll(t, r); len(all) != 482 || err != io.EOF {
		t.Errorf("%d segments, %v, want 482", len(all), err)
	}
}
