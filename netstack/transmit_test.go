package netstack

import (
	"slices"
	"testing"

	"tcpwheel/netstack/tcp"
)

// TestOnlyTheLastPureACKLeaves: of the pure ACKs of a step only the last is sent.
func TestOnlyTheLastPureACKLeaves(t *testing.T) {
	ack := func(n tcp.Seq, change func(*tcp.Outgoing)) tcp.Outgoing {
		o := tcp.Outgoing{Header: tcp.Header{Seq: 7, Ack: n, Flags: tcp.ACK, Window: 100}}
		o.Header.Options.HasTimestamps, o.Header.Options.TSEcr = true, uint32(n)
		if change != nil {
			change(&o)
		}
		return o
	}
	plain := func(n tcp.Seq) tcp.Outgoing { return ack(n, nil) }
	with := func(f tcp.Flags) func(*tcp.Outgoing) { return func(o *tcp.Outgoing) { o.Header.Flags |= f } }
	for _, test := range []struct {
		name string
		segs []tcp.Outgoing
		want []int // indices of those sent
		echo uint32
	}{
		{"one", []tcp.Outgoing{plain(1)}, []int{0}, 1},
		{"each more", []tcp.Outgoing{plain(1), plain(2), plain(3)}, []int{2}, 1},
		{"over the wrap", []tcp.Outgoing{plain(1<<32 - 1), plain(1)}, []int{1}, 1<<32 - 1},
		{"the same", []tcp.Outgoing{plain(2), plain(2), plain(2)}, []int{0, 1, 2}, 2},
		{"less", []tcp.Outgoing{plain(3), plain(2)}, []int{0, 1}, 2},
		{"more, then the same", []tcp.Outgoing{plain(1), plain(2), plain(2)}, []int{1, 2}, 2},
		{"SACK before", []tcp.Outgoing{ack(1, func(o *tcp.Outgoing) { o.Header.Options.NumSACK = 1 }), plain(2)}, []int{0, 1}, 2},
		{"SACK behind", []tcp.Outgoing{plain(1), ack(2, func(o *tcp.Outgoing) { o.Header.Options.NumSACK = 1 })}, []int{0, 1}, 2},
		{"ECE ends", []tcp.Outgoing{ack(1, with(tcp.ECE)), plain(2)}, []int{0, 1}, 2},
		{"ECE begins", []tcp.Outgoing{plain(1), ack(2, with(tcp.ECE))}, []int{0, 1}, 2},
		{"CWR", []tcp.Outgoing{ack(1, with(tcp.CWR)), plain(2)}, []int{0, 1}, 2},
		{"SYN", []tcp.Outgoing{ack(1, with(tcp.SYN)), plain(2)}, []int{0, 1}, 2},
		{"FIN", []tcp.Outgoing{ack(1, with(tcp.FIN)), ack(2, func(o *tcp.Outgoing) { o.Header.Seq++ })}, []int{0, 1}, 2},
		{"RST", []tcp.Outgoing{plain(1), ack(2, with(tcp.RST))}, []int{0, 1}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			var e Endpoint
			p := new(scratch)
			p.out.Segments = test.segs
			p.out.Counters.OutSegs = uint64(len(test.segs))
			e.buildPackets(p)
			var got []int
			for _, pk := range p.packets {
				got = append(got, pk.first)
			}
			last := p.out.Segments[len(p.out.Segments)-1].Header.Options.TSEcr
			if !slices.Equal(got, test.want) || last != test.echo {
				t.Errorf("segments %v are sent, the last echoes %d; want %v and %d", got, last, test.want, test.echo)
			}
			if n := p.out.Counters.OutSegs; n != uint64(len(test.want)) {
				t.Errorf("OutSegs counts %d, want %d", n, len(test.want))
			}
		})
	}
}

// TestACKsOfTimersLeave: ACKs whose causes are reported are all sent.
func TestACKsOfTimersLeave(t *testing.T) {
	var e Endpoint
	p := &scratch{causes: make([]Cause, 1)}
	for n := range tcp.Seq(2) {
		p.out.Segments = append(p.out.Segments, tcp.Outgoing{Header: tcp.Header{Ack: n, Flags: tcp.ACK}})
	}
	if e.buildPackets(p); len(p.packets) != 2 {
		t.Errorf("%d packets are sent, want 2", len(p.packets))
	}
}
