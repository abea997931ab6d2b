package track

import (
	"bytes"
	"encoding/json"
	"math/rand"
	"net/netip"
	"testing"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// reportOf returns everything a tracker reports about packets, as JSON.
func reportOf(t *testing.T, cfg Config, packets []capture.Packet) []byte {
	t.Helper()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	cfg.Done = func(c *Conn) {
		lines := []any{c.Record("")}
		for i := range c.Flows {
			for _, e := range c.Flows[i].Episodes {
				lines = append(lines, e)
			}
		}
		for _, line := range lines {
			if err := enc.Encode(line); err != nil {
				t.Fatal(err)
			}
		}
	}
	tr := New(cfg)
	for i := range packets {
		tr.Add(&packets[i])
	}
	tr.Close()
	return out.Bytes()
}

// sameWithHeldSYNs compares a tracker that holds SYNs and reuses memory with one that does neither.
// Both must report the same.
func sameWithHeldSYNs(t *testing.T, cfg Config, packets []capture.Packet) {
	t.Helper()
	plain := cfg
	plain.Event = func(*Event) {}
	want := reportOf(t, plain, packets)
	for _, reuse := range []bool{false, true} {
		cfg.Reuse = reuse
		if got := reportOf(t, cfg, packets); !bytes.Equal(got, want) {
			t.Fatalf("reuse %t:\n%s\nwant\n%s", reuse, got, want)
		}
	}
}

// flood returns SYNs to one server; few are retransmitted, answered, or on two paths.
func flood(n int) (packets []capture.Packet) {
	random := rand.New(rand.NewSource(1))
	server := netip.MustParseAddrPort("192.0.2.1:80")
	for i := range n {
		var addr [4]byte
		random.Read(addr[:])
		p := capture.Packet{
			Number: int64(len(packets) + 1), Time: wheel.Time(i) * wheel.Time(time.Millisecond),
			Src: netip.AddrPortFrom(netip.AddrFrom4(addr), uint16(random.Uint32())), Dst: server,
		}
		p.Header.Flags, p.Header.Seq = tcp.SYN, tcp.Seq(random.Uint32())
		setStamps(&p, random.Uint32(), 0)
		if i%8 == 1 {
			p = packets[random.Intn(len(packets))]
			p.Number, p.Time = int64(len(packets)+1), wheel.Time(i)*wheel.Time(time.Millisecond)
			switch random.Intn(4) {
			case 0:
				p.Src, p.Dst, p.Header.Flags = p.Dst, p.Src, tcp.SYN|tcp.ACK
				p.Header.Seq, p.Header.Ack = p.Header.Ack, p.Header.Seq+1
			case 1:
				p.Path, p.Time = 7, packets[len(packets)-1].Time
			case 2:
				p.Header.Seq += 1000
			}
		}
		packets = append(packets, p)
	}
	return packets
}

func TestWaiting(t *testing.T) {
	packets := flood(2000)
	for _, conns := range []int{1, 4, 40, 1 << 18} {
		sameWithHeldSYNs(t, Config{MaxConns: conns}, packets)
	}
}

// BenchmarkFlood sends each SYN from another client.
func BenchmarkFlood(b *testing.B) {
	packets := flood(1 << 19)
	b.ReportAllocs()
	for b.Loop() {
		tr := New(Config{Done: func(*Conn) {}, Reuse: true})
		for i := range packets {
			tr.Add(&packets[i])
		}
		tr.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(packets)), "ns/packet")
}
