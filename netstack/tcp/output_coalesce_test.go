package tcp

import (
	"slices"
	"testing"
)

// TestOnlyTheLastPureACKLeaves: of the pure ACKs in an output only the last is sent, unless they
// carry anything else or a timer caused them.
func TestOnlyTheLastPureACKLeaves(t *testing.T) {
	ack := func(n Seq, change func(*Outgoing)) Outgoing {
		o := Outgoing{Header: Header{Seq: 7, Ack: n, Flags: ACK, Window: 100}}
		o.Header.Options.HasTimestamps, o.Header.Options.TSEcr = true, uint32(n)
		if change != nil {
			change(&o)
		}
		return o
	}
	plain := func(n Seq) Outgoing { return ack(n, nil) }
	with := func(f Flags) func(*Outgoing) { return func(o *Outgoing) { o.Header.Flags |= f } }
	for _, test := range []struct {
		name string
		segs []Outgoing
		want []Seq // ACK numbers of those sent
		echo uint32
	}{
		{"one", []Outgoing{plain(1)}, []Seq{1}, 1},
		{"each more", []Outgoing{plain(1), plain(2), plain(3)}, []Seq{3}, 1},
		{"over the wrap", []Outgoing{plain(1<<32 - 1), plain(1)}, []Seq{1}, 1<<32 - 1},
		{"the same", []Outgoing{plain(2), plain(2), plain(2)}, []Seq{2, 2, 2}, 2},
		{"less", []Outgoing{plain(3), plain(2)}, []Seq{3, 2}, 2},
		{"more, then the same", []Outgoing{plain(1), plain(2), plain(2)}, []Seq{2, 2}, 2},
		{"SACK before", []Outgoing{ack(1, func(o *Outgoing) { o.Header.Options.NumSACK = 1 }), plain(2)}, []Seq{1, 2}, 2},
		{"SACK behind", []Outgoing{plain(1), ack(2, func(o *Outgoing) { o.Header.Options.NumSACK = 1 })}, []Seq{1, 2}, 2},
		{"ECE ends", []Outgoing{ack(1, with(ECE)), plain(2)}, []Seq{1, 2}, 2},
		{"ECE begins", []Outgoing{plain(1), ack(2, with(ECE))}, []Seq{1, 2}, 2},
		{"CWR", []Outgoing{ack(1, with(CWR)), plain(2)}, []Seq{1, 2}, 2},
		{"SYN", []Outgoing{ack(1, with(SYN)), plain(2)}, []Seq{1, 2}, 2},
		{"FIN", []Outgoing{ack(1, with(FIN)), ack(2, func(o *Outgoing) { o.Header.Seq++ })}, []Seq{1, 2}, 2},
		{"RST", []Outgoing{plain(1), ack(2, with(RST))}, []Seq{1, 2}, 2},
		{"by a timer", []Outgoing{ack(1, func(o *Outgoing) { o.Timed = true }), plain(2)}, []Seq{1, 2}, 2},
	} {
		var o Output
		for _, s := range test.segs {
			o.Segments = append(o.Segments, s)
			o.Counters.OutSegs++
			o.coalesceACKs()
		}
		var got []Seq
		for _, s := range o.Segments {
			got = append(got, s.Header.Ack)
		}
		last := o.Segments[len(o.Segments)-1].Header.Options.TSEcr
		if !slices.Equal(got, test.want) || last != test.echo {
			t.Errorf("%s: ACKs %v are sent, the last echoes %d; want %v and %d", test.name, got, last, test.want, test.echo)
		}
		if n := o.Counters.OutSegs; n != uint64(len(test.want)) {
			t.Errorf("%s: OutSegs counts %d, want %d", test.name, n, len(test.want))
		}
	}
}

// TestACKsOfTimersLeave: an ACK that a timer causes does not replace an earlier one.
func TestACKsOfTimersLeave(t *testing.T) {
	o := Output{expiring: true}
	for n := range Seq(2) {
		o.Segments = append(o.Segments, Outgoing{Header: Header{Ack: n, Flags: ACK}})
		o.coalesceACKs()
	}
	if len(o.Segments) != 2 {
		t.Errorf("%d segments are sent, want 2", len(o.Segments))
	}
}
