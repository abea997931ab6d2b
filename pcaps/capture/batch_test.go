package capture

import (
	"bytes"
	"reflect"
	"testing"
)

// TestBatchesAreNext reads the public captures with Next and with NextBatch, through a small
// buffer: the same packets, ICMP errors and end.
func TestBatchesAreNext(t *testing.T) {
	for _, name := range publicFiles(t) {
		one, err := Open(name)
		if err != nil {
			continue
		}
		many, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		compareBatches(t, name, one, shortOf(many))
		one.Close()
		many.Close()
	}
}

// shortOf gives a new Reader a small buffer and returns it.
func shortOf(r *Reader) *Reader {
	small := make([]byte, max(len(r.in.window), 2048))
	r.in.window, r.in.buf = small[:copy(small, r.in.window)], small
	return r
}

// compareBatches reads the same capture twice.
func compareBatches(t *testing.T, name string, one, many *Reader) {
	var errors [2][]ICMPError
	one.OnICMPError(func(e ICMPError) { errors[0] = append(errors[0], e) })
	many.OnICMPError(func(e ICMPError) { errors[1] = append(errors[1], e) })
	for calls := 0; ; calls++ {
		most := 1 + 7*calls%80
		batch, err := many.NextBatch(most)
		if (err == nil) != (len(batch) > 0) || len(batch) > min(most, batchLen) {
			t.Fatalf("%s: %d packets with %v", name, len(batch), err)
		}
		for i := range batch {
			q := &batch[i]
			p, err := one.Next()
			if err != nil {
				t.Fatalf("%s: packet %d after the end: %v", name, q.Number, err)
			}
			if !bytes.Equal(p.Payload, q.Payload) {
				t.Fatalf("%s: packet %d: payloads differ", name, p.Number)
			}
			x, y := *p, *q
			if x.Payload, y.Payload = nil, nil; !reflect.DeepEqual(x, y) {
				t.Fatalf("%s: packet %+v, in a batch %+v", name, x, y)
			}
			if len(errors[0]) != len(errors[1]) {
				t.Fatalf("%s: before packet %d: %d ICMP errors and %d", name, p.Number, len(errors[0]), len(errors[1]))
			}
		}
		if err != nil {
			if _, want := one.Next(); want == nil || err.Error() != want.Error() {
				t.Errorf("%s: ends with %v, want %v", name, err, want)
			}
			break
		}
	}
	if !reflect.DeepEqual(one.Stats(), many.Stats()) || !reflect.DeepEqual(errors[0], errors[1]) {
		t.Errorf("%s: %+v, in batches %+v", name, one.Stats(), many.Stats())
	}
}
