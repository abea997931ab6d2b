package tun

import (
	"math/rand/v2"
	"testing"

	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp/ledger"
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
			if got := s.pass(ledger.Range{Start: int64(start), End: int64(end)}); got != want {
				t.Fatalf("step %d: transmission %d of [%d, %d), want %d", k, got, start, end, want)
			}
			for i, want := range twin {
				got := uint32(0)
				for _, set := range s.passed {
					if set.Contains(ledger.Range{Start: int64(i), End: int64(i) + 1}) {
						got++
					}
				}
				if got != want {
					t.Fatalf("step %d: byte %d has passed %d times, want %d", k, i, got, want)
				}
			}
		}
	}
}

func TestTransmissionsAreBounded(t *testing.T) {
	var s stream
	for i := range int64(3 * maxRanges) {
		s.pass(ledger.Range{Start: 2 * i, End: 2*i + 1})
	}
	if all := s.passed[0]; len(all) > maxRanges || all[len(all)-1].Start != 2*(3*maxRanges-1) {
		t.Errorf("%d ranges, want at most %d, with the last", len(all), maxRanges)
	}
	for range 3 * maxRanges { // of one byte
		s.pass(ledger.Range{Start: 0, End: 1})
	}
	if len(s.passed) > maxRanges+1 {
		t.Errorf("%d sets, want at most %d", len(s.passed), maxRanges+1)
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
