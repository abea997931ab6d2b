package capture

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const publicDir = "../../../shared/captures"

// publicFile returns the path of a public capture. It skips the test if there is none.
func publicFile(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(publicDir, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the public captures are not here: %v", err)
	}
	return path
}

// readAll reads a capture to its end. It returns the packets without payload, and the final error.
func readAll(t testing.TB, r *Reader) (all []Packet, err error) {
	t.Helper()
	for {
		p, err := r.Next()
		if err != nil {
			return all, err
		}
		if uint32(len(p.Payload)) > p.Len {
			t.Fatalf("packet %d has %d bytes of payload, want %d at most", p.Number, len(p.Payload), p.Len)
		}
		q := *p
		q.Payload = nil
		all = append(all, q)
	}
}

// row is a line of a table, by column name.
type row map[string]string

// number returns a field, 0 if it is empty.
func (r row) number(t testing.TB, name string) int64 {
	t.Helper()
	if r[name] == "" {
		return 0
	}
	n, err := strconv.ParseInt(r[name], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func publicTable(t testing.TB, name string) (rows []row) {
	t.Helper()
	table, err := os.ReadFile(publicFile(t, name))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(string(table), "\n"), "\n")
	names := strings.Split(lines[0], "\t")
	for _, line := range lines[1:] {
		r := row{}
		for i, field := range strings.Split(line, "\t") {
			r[names[i]] = field
		}
		rows = append(rows, r)
	}
	return rows
}

// way is one direction between two ports.
type way struct{ file, src, dst string }

// traffic is what that direction carried.
type traffic struct{ packets, payload int64 }

// TestPublicCaptures compares each public capture with tshark's account of it, in total and by
// direction.
func TestPublicCaptures(t *testing.T) {
	// A pair of ports may have several streams.
	ways := map[way]traffic{}
	for _, r := range publicTable(t, "truth.tsv") {
		a, b := net.JoinHostPort(r["a_ip"], r["a_port"]), net.JoinHostPort(r["b_ip"], r["b_port"])
		for _, w := range []struct {
			way
			packets, payload string
		}{{way{r["file"], a, b}, "pkts_a2b", "payload_a2b"}, {way{r["file"], b, a}, "pkts_b2a", "payload_b2a"}} {
			sum := ways[w.way]
			sum.packets += r.number(t, w.packets)
			sum.payload += r.number(t, w.payload)
			ways[w.way] = sum
		}
	}
	for _, truth := range publicTable(t, "truth_files.tsv") {
		name := truth["file"]
		t.Run(name, func(t *testing.T) {
			r, err := Open(publicFile(t, name))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			var v6, bytes int64
			got := map[way]traffic{}
			for {
				var p *Packet
				if p, err = r.Next(); err != nil {
					break
				}
				if p.Src.Addr().Is6() {
					v6++
				}
				bytes += int64(r.rec.length)
				w := way{name, p.Src.String(), p.Dst.String()}
				got[w] = traffic{got[w].packets + 1, got[w].payload + int64(p.Len)}
			}
			if cut := strings.Contains(truth["tshark_message"], "cut short"); cut != errors.Is(err, ErrCutShort) || !cut && err != io.EOF {
				t.Errorf("ends with %v, want cut short: %v", err, cut)
			}
			s := r.Stats()
			for _, check := range []struct {
				what string
				got  int64
				want string
			}{
				{"packets", s.Packets, "file_packets"},
				{"TCP packets", s.TCP, "tcp_packets"},
				{"bytes in TCP packets", bytes, "tcp_bytes"},
				{"packets over IPv6", v6, "ipv6_tcp_packets"},
				{"packets that were cut", s.Truncated, "truncated_tcp_packets"},
				{"stamps that go back", s.Count(ClockBack), "time_backwards"},
				{"interfaces", int64(len(r.Interfaces())), "interfaces"},
				{"bytes kept at most", int64(r.Interfaces()[0].SnapLen), "snaplen"},
			} {
				if want := truth.number(t, check.want); check.got != want {
					t.Errorf("%d %s, want %d", check.got, check.what, want)
				}
			}
			for w, sum := range ways {
				if w.file == name && got[w] != sum {
					t.Errorf("%s > %s: %+v, want %+v", w.src, w.dst, got[w], sum)
				}
			}
			for w := range got {
				if _, ok := ways[w]; !ok {
					t.Errorf("%s > %s is not in the table", w.src, w.dst)
				}
			}
			seconds, err := strconv.ParseFloat(truth["duration_s"], 64)
			if span := time.Duration(s.Last - s.First); err != nil || math.Abs(span.Seconds()-seconds) > 1e-6 {
				t.Errorf("%v from the earliest packet to the last, want %v s", span, seconds)
			}
			sum := s.TCP
			for _, n := range s.Skipped {
				sum += n
			}
			if s.Packets != sum {
				t.Errorf("%d packets, and %d that are TCP or not", s.Packets, sum)
			}
		})
	}
}

// BenchmarkNext reads a capture of 82,582 small packets from memory. The target is 1.6 million per
// second of CPU.
func BenchmarkNext(b *testing.B) {
	packed := publicFile(b, "echo-82k-packets.pcap.gz")
	file := unpacked(b, packed)
	zipped, err := os.ReadFile(packed)
	if err != nil {
		b.Fatal(err)
	}
	for _, how := range []struct {
		name string
		file []byte
	}{{"format=pcap", file}, {"format=pcap.gz", zipped}, {"format=pcapng", asPcapng(b, file)}} {
		b.Run(how.name, func(b *testing.B) {
			b.ReportAllocs()
			packets := int64(0)
			for b.Loop() {
				r, err := NewReader(bytes.NewReader(how.file), "echo")
				if err != nil {
					b.Fatal(err)
				}
				for err == nil {
					_, err = r.Next()
				}
				if err != io.EOF {
					b.Fatal(err)
				}
				packets += r.Stats().Packets
			}
			b.ReportMetric(float64(packets)/b.Elapsed().Seconds()/1e6, "Mpackets/s")
		})
	}
}

// unpacked returns the decompressed bytes of a file.
func unpacked(t testing.TB, name string) []byte {
	t.Helper()
	s, err := openSource(name)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	in, _, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	// The file header was consumed.
	var all bytes.Buffer
	all.Write(in.buf[:len(in.buf)-cap(in.window)])
	if _, err := in.copy(&all, math.MaxInt64); err != io.EOF {
		t.Fatal(err)
	}
	return all.Bytes()
}
