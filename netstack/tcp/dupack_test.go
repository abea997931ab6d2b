package tcp

import "testing"

// RFC 5681 §2: each condition of a duplicate ACK matters.
func TestIsDuplicateAck(t *testing.T) {
	dup := dupAckInput{Ack: 100, SndUna: 100, SameWindow: true, HasInFlight: true}
	if !isDuplicateAck(dup) {
		t.Errorf("isDuplicateAck(%+v) = false", dup)
	}
	for _, change := range []func(*dupAckInput){
		func(a *dupAckInput) { a.Ack = 101 },
		func(a *dupAckInput) { a.SegLen = 1 },
		func(a *dupAckInput) { a.SYNOrFIN = true },
		func(a *dupAckInput) { a.SameWindow = false },
		func(a *dupAckInput) { a.HasInFlight = false },
	} {
		a := dup
		change(&a)
		if isDuplicateAck(a) {
			t.Errorf("isDuplicateAck(%+v) = true", a)
		}
	}
}

// RFC 5681 §3.2: the third duplicate ACK. RFC 6582 §3.2 step 2: not one caused by the last
// recovery's retransmissions. Step 3: an ACK below the recovery point is partial.
func TestDupAcks(t *testing.T) {
	var d dupAckCounter
	third := func(ack Seq, want bool) {
		t.Helper()
		d.Reset()
		for n := uint32(1); n <= 4; n++ {
			if got := d.Count(); got != n || d.N() != n {
				t.Errorf("duplicate %d is counted as %d, %d", n, got, d.N())
			}
			if got := d.FastRetransmit(ack); got != (want && n == 3) {
				t.Errorf("fast retransmit at duplicate %d of %v: %v", n, ack, got)
			}
		}
	}
	third(100, true)
	d.Recover(1000)
	third(1000, false)
	third(1001, true)
	d.Advanced(1001)
	third(1000+1<<31, true) // 2 GiB later the recovery point is forgotten
	d.Recover(1000)
	d.Advanced(1000)
	third(1000, false)
}
