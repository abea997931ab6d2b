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

// TestVirtual has the exact instants at which each policy sends the last segment again.
func TestVirtual(t *testing.T) {
	const rtt = 10 * time.Millisecond
	c := Config{RTT: rtt, Count: 3, Segments: []int{1, 10}, Virtual: true,
		Senders: []string{Ours("per-segment"), Ours("per-segment:20ms"), Ours("rfc6298"), Ours("rfc7765"), GVisor}}
	results, err := Run(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	for _, test := range []struct {
		sender   string
		segments int
		resend   time.Duration // rounded up to the tick of 1 ms, and one more for readings that are 1 ns apart
		timeouts uint64
		probes   uint64
		isInVain bool // towards ACKs that are put off
		isPutOff bool
	}{
		// SRTT + 50 ms, at which a probe takes the place of the timeout (RFC 8985 §7.2).
		{sender: Ours("per-segment"), segments: 1, resend: rtt + ms(50), probes: 3, isPutOff: true},
		// 2·SRTT from its transmission, as the ACKs of the others show that the client puts off none.
		{sender: Ours("per-segment"), segments: 10, resend: 2 * rtt, probes: 3},
		// SRTT + 20 ms is sooner than an ACK that is put off by 40 ms.
		{sender: Ours("per-segment:20ms"), segments: 1, resend: rtt + ms(20), probes: 3, isInVain: true, isPutOff: true},
		{sender: Ours("per-segment:20ms"), segments: 10, resend: 2 * rtt, probes: 3},
		// 1 s from the segment's transmission, or from the ACK of the segments before it.
		{sender: Ours("rfc6298"), segments: 1, resend: ms(1000), timeouts: 3, isPutOff: true},
		{sender: Ours("rfc6298"), segments: 10, resend: rtt + ms(1000), timeouts: 3},
		{sender: Ours("rfc7765"), segments: 10, resend: ms(1000), timeouts: 3},
		// 2·SRTT + 200 ms, from the segment's transmission or from that ACK.
		{sender: GVisor, segments: 1, resend: 2*rtt + ms(200), probes: 3, isPutOff: true},
		{sender: GVisor, segments: 10, resend: 3*rtt + ms(200), probes: 3},
	} {
		r := find(t, results, test.sender, test.segments)
		if late := r.ResendP50 - test.resend; late < 0 || late > ms(1) || r.ResendP95 != r.ResendP50 {
			t.Errorf("%s, %d segments: sent again after %v and %v, want %v", r.Sender, r.Segments, r.ResendP50, r.ResendP95, test.resend)
		}
		if late := r.CompleteP50 - r.ResendP50 - rtt/2; late < 0 || late > ms(1)/10 {
			t.Errorf("%s, %d segments: complete after %v, want half a round trip behind %v", r.Sender, r.Segments, r.CompleteP50, r.ResendP50)
		}
		if r.Timeouts != test.timeouts || r.Probes != test.probes || r.FastRetransmits != 0 || r.Spurious != 0 {
			t.Errorf("%s, %d segments: %+v, in vain %d, want %d timeouts and %d probes", r.Sender, r.Segments, r.Causes, r.Spurious, test.timeouts, test.probes)
		}
		if r.ControlSpurious > 0 != test.isInVain {
			t.Errorf("%s, %d segments: %d in vain without losses, want some: %v", r.Sender, r.Segments, r.ControlSpurious, test.isInVain)
		}
		if d := r.ControlDelayP50; test.isPutOff && (d < ms(40) || d > ms(41)) {
			t.Errorf("%s: ACKs are put off by %v, want 40ms", r.Sender, d)
		}
	}

	again, err := Run(t.Context(), c, nil)
	if err != nil || !reflect.DeepEqual(again, results) {
		t.Errorf("a second run has %+v, %v, want %+v", again, err, results)
	}
}

// TestVirtualDelayedAcks has a client that acknowledges every second segment at once, and puts off the ACK of one: of an even number,
// two are outstanding when the last is lost, and of an odd one its ACK may be put off.
func TestVirtualDelayedAcks(t *testing.T) {
	const rtt = 10 * time.Millisecond
	us := Ours("per-segment")
	c := Config{RTT: rtt, Count: 2, Segments: []int{2, 3, 4, 7, 8, 9, 10}, Senders: []string{us}, DelayAcks: true, Virtual: true}
	results, err := Run(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		// ACKs that were put off before are in RTTVAR.
		least, most := rtt+50*time.Millisecond, 2*(rtt+50*time.Millisecond)
		if r.Segments%2 == 0 {
			least, most = 2*rtt, 3*rtt
		}
		if r.ResendP50 < least || r.ResendP95 > most || !r.DelayAcks {
			t.Errorf("last of %d: sent again after %v to %v, want %v to %v", r.Segments, r.ResendP50, r.ResendP95, least, most)
		}
		if r.Spurious+r.ControlSpurious > 0 {
			t.Errorf("last of %d: %d and %d sent in vain", r.Segments, r.Spurious, r.ControlSpurious)
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
