package tun

import (
	"math/rand/v2"
	"testing"

	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/sim"
)

// TestTransmissionsAgreeWithTheirTwin compares with a count of each byte.
func TestTransmissionsAgreeWithTheirTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var (
			s    stream
			twin [400]uint32
		)
		for k := range 300 {
			start := rng.IntN(len(twin) - 1)
			end := start + 1 + rng.IntN(min(40, len(twin)-start))
			want := uint32(0)
			for i := start; i < end; i++ {
				twin[i]++
				want = max(want, twin[i])
			}
			if got := s.pass(uint64(start), uint64(end)); got != want {
				t.Fatalf("step %d: transmission %d of [%d, %d), want %d", k, got, start, end, want)
			}
			for i, o := range s.spans {
				if o.from >= o.to || i > 0 && (s.spans[i-1].to > o.from || s.spans[i-1].to == o.from && s.spans[i-1].sent == o.sent) {
					t.Fatalf("step %d: spans %v, want sorted, disjoint spans whose neighbours differ", k, s.spans)
				}
				for j := o.from; j < o.to; j++ {
					if twin[j] != o.sent {
						t.Fatalf("step %d: byte %d has passed %d times, want %d", k, j, o.sent, twin[j])
					}
				}
			}
		}
	}
}

func TestTransmissionsAreBounded(t *testing.T) {
	var s stream
	for i := range uint64(3 * maxSpans) {
		s.pass(2*i, 2*i+1)
	}
	if len(s.spans) > maxSpans || s.spans[len(s.spans)-1].from != 2*(3*maxSpans-1) {
		t.Errorf("%d spans, want at most %d, with the last", len(s.spans), maxSpans)
	}
	var ts transmissions
	for i := range uint32(maxStreams + 10) {
		ts.add(streamKey{srcPort: uint16(i), dstPort: uint16(i >> 16)}, 0)
	}
	if len(ts.streams) != maxStreams || len(ts.order) != maxStreams {
		t.Errorf("%d streams in an order of %d, want %d", len(ts.streams), len(ts.order), maxStreams)
	}
}

// TestTransmissionsOfAConnection follows a connection from its SYN past the wrap-around of its
// sequence numbers.
func TestTransmissionsOfAConnection(t *testing.T) {
	const syn, fin, ack = 0x02, 0x11, 0x10
	for _, v6 := range []bool{false, true} {
		var ts transmissions
		for i, step := range []struct {
			flags byte
			seq   uint32
			n     int
			want  sim.Packet
		}{
			{syn, 0xfffffff0, 0, sim.Packet{Attempt: 1}},
			{syn, 0xfffffff0, 0, sim.Packet{Attempt: 2}},
			{ack, 0xfffffff1, 0, sim.Packet{}},
			{ack, 0xfffffff1, 100, sim.Packet{Start: 0, End: 100, Attempt: 1}},
			{ack, 0x55, 100, sim.Packet{Start: 100, End: 200, Attempt: 1}},
			{ack, 0xfffffff1, 150, sim.Packet{Start: 0, End: 150, Attempt: 2}},
			{ack, 0xfffffff0, 10, sim.Packet{}}, // from before the stream
			{fin, 0x55, 100, sim.Packet{Start: 100, End: 201, Attempt: 3}},
			{fin, 0xb9, 0, sim.Packet{Start: 200, End: 201, Attempt: 2}},
			{syn, 7, 0, sim.Packet{Attempt: 1}}, // of a new connection
			{ack, 8, 5, sim.Packet{Start: 0, End: 5, Attempt: 1}},
		} {
			b := tunTCP(t, v6, step.flags, make([]byte, step.n))
			header.TCP(b[len(b)-step.n-32:]).SetSequenceNumber(step.seq)
			whole := tunPacket(b, stack.GSO{}, maxHeaders)
			var got sim.Packet
			for _, pkt := range split(whole) {
				ts.annotate(pkt, &got)
				pkt.DecRef()
			}
			whole.DecRef()
			if got != step.want {
				t.Errorf("IPv6 %v, step %d: %+v, want %+v", v6, i, got, step.want)
			}
		}
		if len(ts.streams) != 1 {
			t.Errorf("IPv6 %v: %d streams, want 1", v6, len(ts.streams))
		}
	}
}
