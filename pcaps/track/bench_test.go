package track

import (
	"path/filepath"
	"testing"

	"tcpwheel/pcaps/capture"
)

// BenchmarkTracker follows the connections of a public capture of 82,582 packets. It does not count
// reading them.
func BenchmarkTracker(b *testing.B) {
	r, err := capture.Open(filepath.Join(captures, "echo-82k-packets.pcap.gz"))
	if err != nil {
		b.Skipf("no public captures: %v", err)
	}
	defer r.Close()
	var packets []capture.Packet
	for {
		p, err := r.Next()
		if err != nil {
			break
		}
		packets = append(packets, *p)
		packets[len(packets)-1].Payload = nil
	}
	b.ReportAllocs()
	for b.Loop() {
		tr := New(Config{})
		for i := range packets {
			tr.Add(&packets[i])
		}
		tr.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(packets)), "ns/packet")
}
