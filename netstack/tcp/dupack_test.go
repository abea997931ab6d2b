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
