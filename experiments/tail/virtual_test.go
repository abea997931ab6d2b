package tail

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"
)

// find returns the result of a sender and a size.
func find(t *testing.T, results []Result, sender string, segments int) Result {
	t.Helper()
	for _, r := range results {
		if r.Sender == sender && r.Segments == segments {
			return r
		}
	}
	t.Fatalf("no result of %s with %d segments", sender, segments)
	return Result{}
}

// TestVirtual has the exact times at which each policy retransmits the last segment.
func TestVirtual(t *testing.T) {
	const rtt = 10 * time.Millisecond
	c := Config{RTT: rtt, Count: 3, Segments: []int{1, 10}, Virtual: true,
		Senders: []string{Ours("per-segment"), Ours("per-segment+rto-floor=20ms"), Ours("rfc6298"), Ours("rfc7765"), GVisor}}
	results, err := Run(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	for _, test := range []struct {
		sender     string
		segments   int
		retransmit time.Duration // rounded up to the tick of 1 ms, plus one for clock readings 1 ns apart
		timeouts   uint64
		probes     uint64
		isSpurious bool // when ACKs are delayed
		isDelayed  bool
	}{
		// SRTT + 50 ms: the probe that replaces the timeout (RFC 8985 §7.2).
		{sender: Ours("per-segment"), segments: 1, retransmit: rtt + ms(50), probes: 3, isDelayed: true},
		// 2·SRTT after its transmission, because the other ACKs show that the client does not delay.
		{sender: Ours("per-segment"), segments: 10, retransmit: 2 * rtt, probes: 3},
		// SRTT + 20 ms is earlier than an ACK delayed by 40 ms.
		{sender: Ours("per-segment+rto-floor=20ms"), segments: 1, retransmit: rtt + ms(20), probes: 3, isSpurious: true,
			isDelayed: true},
		{sender: Ours("per-segment+rto-floor=20ms"), segments: 10, retransmit: 2 * rtt, probes: 3},
		// 1 s after the segment's transmission, or after the ACK of the segments before it.
		{sender: Ours("rfc6298"), segments: 1, retransmit: ms(1000), timeouts: 3, isDelayed: true},
		{sender: Ours("rfc6298"), segments: 10, retransmit: rtt + ms(1000), timeouts: 3},
		{sender: Ours("rfc7765"), segments: 10, retransmit: ms(1000), timeouts: 3},
		// 2·SRTT + 200 ms, after the segment's transmission or after that ACK.
		{sender: GVisor, segments: 1, retransmit: 2*rtt + ms(200), probes: 3, isDelayed: true},
		{sender: GVisor, segments: 10, retransmit: 3*rtt + ms(200), probes: 3},
	} {
		r := find(t, results, test.sender, test.segments)
		if late := r.RetransmitP50 - test.retransmit; late < 0 || late > ms(1) || r.RetransmitP95 != r.RetransmitP50 {
			t.Errorf("%s, %d segments: retransmitted after %v and %v, want %v", r.Sender, r.Segments, r.RetransmitP50,
				r.RetransmitP95, test.retransmit)
		}
		if late := r.CompleteP50 - r.RetransmitP50 - rtt/2; late < 0 || late > ms(1)/10 {
			t.Errorf("%s, %d segments: complete after %v, want half a round trip after %v", r.Sender, r.Segments,
				r.CompleteP50, r.RetransmitP50)
		}
		if r.Timeouts != test.timeouts || r.Probes != test.probes || r.FastRetransmits != 0 || r.Spurious != 0 {
			t.Errorf("%s, %d segments: %+v, spurious %d, want %d timeouts and %d probes", r.Sender, r.Segments,
				r.Causes, r.Spurious, test.timeouts, test.probes)
		}
		if r.ControlSpurious > 0 != test.isSpurious {
			t.Errorf("%s, %d segments: %d spurious without losses, want any: %v", r.Sender, r.Segments,
				r.ControlSpurious, test.isSpurious)
		}
		if d := r.ControlDelayP50; test.isDelayed && (d < ms(40) || d > ms(41)) {
			t.Errorf("%s: ACKs are delayed by %v, want 40ms", r.Sender, d)
		}
	}

	again, err := Run(t.Context(), c, nil)
	if err != nil || !reflect.DeepEqual(again, results) {
		t.Errorf("a second run has %+v, %v, want %+v", again, err, results)
	}
}

// TestVirtualDelayedAcks: the client acknowledges every second segment at once and delays the ACK
// of a single one. Of an even number, two segments are in flight when the last is lost; of an odd
// number, its ACK may be delayed.
func TestVirtualDelayedAcks(t *testing.T) {
	const rtt = 10 * time.Millisecond
	us := Ours("per-segment")
	c := Config{RTT: rtt, Count: 2, Segments: []int{2, 3, 4, 7, 8, 9, 10}, Senders: []string{us}, DelayAcks: true,
		Virtual: true}
	results, err := Run(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		// Earlier delayed ACKs are in RTTVAR.
		least, most := rtt+50*time.Millisecond, 2*(rtt+50*time.Millisecond)
		if r.Segments%2 == 0 {
			least, most = 2*rtt, 3*rtt
		}
		if r.RetransmitP50 < least || r.RetransmitP95 > most || !r.DelayAcks {
			t.Errorf("last of %d: retransmitted after %v to %v, want %v to %v", r.Segments, r.RetransmitP50,
				r.RetransmitP95, least, most)
		}
		if r.Spurious+r.ControlSpurious > 0 {
			t.Errorf("last of %d: %d and %d spurious", r.Segments, r.Spurious, r.ControlSpurious)
		}
	}
}

func TestContextThatHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := Config{RTT: time.Millisecond, Count: 1, Segments: []int{1}, Virtual: true, Senders: []string{GVisor}}
	if _, err := Run(ctx, c, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
