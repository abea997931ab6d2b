package tcp

import (
	"testing"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

const ms = time.Millisecond

func TestDelAckRules(t *testing.T) {
	c := tcptimers.DelAckConfig{Every: 2, Delay: 40 * ms, Min: 40 * ms, Max: 40 * ms}
	full := SegmentIn{Len: 1000}
	push := func(n uint32) SegmentIn { return SegmentIn{Len: n, PSH: true} }
	for _, test := range []struct {
		why  string
		in   []SegmentIn // all but the last draw no ACK
		want AckTiming
	}{
		{"the first segment waits", []SegmentIn{full}, AckDelayed},
		// RFC 5681 §4.2: "an ACK SHOULD be generated for at least every second full-sized segment".
		{"the second does not", []SegmentIn{full, full}, AckNow},
		{"nor one and a bit", []SegmentIn{full, push(1)}, AckNow},
		{"a small one behind the largest so far", []SegmentIn{push(100), push(50)}, AckNow},
		{"a pure ACK", []SegmentIn{{}}, AckNone},
		// RFC 5681 §4.2: "Out-of-order data segments SHOULD be acknowledged immediately, in order
		// to accelerate loss recovery."
		{"out of order", []SegmentIn{{Len: 10, Gap: true}}, AckNow},
		// RFC 5681 §4.2: "the receiver SHOULD send an immediate ACK when it receives a data segment
		// that fills in all or part of a gap in the sequence space."
		{"the gap is filled", []SegmentIn{{Len: 10, FilledGap: true}}, AckNow},
		{"a duplicate", []SegmentIn{{Len: 10, Duplicate: true}}, AckNow},
		{"a keep-alive probe", []SegmentIn{{Duplicate: true}}, AckNow},
		{"FIN", []SegmentIn{{FIN: true}}, AckNow},
		{"a change of marks", []SegmentIn{{Len: 10, CE: true}}, AckNow},
		{"PSH", []SegmentIn{push(10)}, AckDelayed},
	} {
		var d DelAck
		var got AckTiming
		for _, s := range test.in {
			got, _ = d.OnSegment(0, &c, &s)
		}
		if got != test.want {
			t.Errorf("%s: %d, want %d", test.why, got, test.want)
		}
	}
	now := push(10)
	now.Now = true
	if got, _ := new(DelAck).OnSegment(0, &c, &now); got != AckNow {
		t.Errorf("wanted at once: %d", got)
	}
	if got, _ := new(DelAck).OnSegment(0, &tcptimers.DelAckConfig{Every: 2}, &full); got != AckNow {
		t.Errorf("without a delay: %d", got)
	}
}

func TestDelAckFirstUnacknowledged(t *testing.T) {
	// RFC 5681 §4.2: an ACK "MUST be generated within 500 ms of the arrival of the first
	// unacknowledged packet."
	c := tcptimers.DelAckConfig{Every: 2, Delay: 500 * ms, Min: 500 * ms, Max: 500 * ms}
	var d DelAck
	d.OnSegment(0, &c, &SegmentIn{Len: 1000})
	d.OnAckSent()
	for i := range 50 {
		got, delay := d.OnSegment(wheel.Time(10*ms)*wheel.Time(i), &c, &SegmentIn{Len: 10, PSH: true})
		if i == 0 && (got != AckDelayed || delay != c.Delay) || i > 0 && got != AckNone {
			t.Fatalf("segment %d: %d, %v", i, got, delay)
		}
	}
	if !d.pending {
		t.Error("no ACK is pending")
	}
	if got := d.OnTimeout(&c); got != AckNow {
		t.Errorf("the timer: %d", got)
	}
	d.OnAckSent()
	if got := d.OnTimeout(&c); got != AckNone {
		t.Errorf("an extra call: %d", got)
	}
}

func TestDelAckQuick(t *testing.T) {
	c := tcptimers.DelAckConfig{Every: 2, Delay: 40 * ms, Min: 40 * ms, Max: 40 * ms, Quick: 4}
	var d DelAck
	for round := range 2 {
		for i := range 5 {
			got, _ := d.OnSegment(0, &c, &SegmentIn{Len: 1000})
			if (got == AckNow) != (i < 4) {
				t.Errorf("round %d, segment %d: %d", round, i, got)
			}
			d.OnAckSent()
		}
		d.requicken()
	}
}

func TestDelAckShrunkSegments(t *testing.T) {
	// After the path MTU has fallen, every second segment is acknowledged again.
	c := tcptimers.DelAckConfig{Every: 2, Delay: 40 * ms, Min: 40 * ms, Max: 40 * ms}
	var d DelAck
	d.OnSegment(0, &c, &SegmentIn{Len: 1400})
	d.OnAckSent()
	now := 0
	for range 20 {
		if got, _ := d.OnSegment(0, &c, &SegmentIn{Len: 500}); got == AckNow {
			now++
			d.OnAckSent()
		}
	}
	if now != 10 {
		t.Errorf("%d ACKs for 20 segments, want 10", now)
	}
}

func TestDelAckAdapts(t *testing.T) {
	c := tcptimers.DelAckConfig{Every: 2, Delay: 40 * ms, Min: 40 * ms, Max: 200 * ms}
	var d DelAck
	now := wheel.Time(0)
	delay := func(gap time.Duration) time.Duration {
		now = now.Add(gap)
		_, wait := d.OnSegment(now, &c, &SegmentIn{Len: 1000})
		d.OnAckSent()
		return wait
	}
	if got := delay(0); got != 40*ms {
		t.Errorf("at the start %v, want 40ms", got)
	}
	for _, want := range []time.Duration{80 * ms, 120 * ms, 160 * ms, 200 * ms} {
		_, wait := d.OnSegment(now, &c, &SegmentIn{Len: 1000})
		now = now.Add(wait)
		if got := d.OnTimeout(&c); got != AckNow {
			t.Fatalf("timeout: %d", got)
		}
		d.OnAckSent()
		if got := delay(time.Second); got != want {
			t.Errorf("after a timeout %v, want %v", got, want)
		}
	}
	for _, want := range []time.Duration{120 * ms, 80 * ms, 60 * ms} {
		if got := delay(ms); got != want {
			t.Errorf("after a short gap %v, want %v", got, want)
		}
	}
}
