package tail

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"tcpwheel/tun/netns"
)

// TestReal measures all three in real time. The lower bounds are those of their timers, which are
// never early. The upper bounds allow for how late this machine wakes the test.
func TestReal(t *testing.T) {
	t.Parallel()
	const rtt = 10 * time.Millisecond
	for _, test := range []struct {
		sender   string
		segments int
		delay    bool
		least    time.Duration
	}{
		{Ours("per-segment"), 1, false, rtt + 50*time.Millisecond},
		{Ours("per-segment"), 10, false, 2 * rtt},
		{Ours("per-segment"), 10, true, 2 * rtt},
		{GVisor, 1, false, 200 * time.Millisecond},
		{Linux, 1, false, 200 * time.Millisecond},
	} {
		t.Run(fmt.Sprintf("%s/%d/delay=%v", test.sender, test.segments, test.delay), func(t *testing.T) {
			t.Parallel()
			least := test.least
			c := Config{RTT: rtt, Count: 3, Segments: []int{test.segments}, Senders: []string{test.sender},
				DelayAcks: test.delay}
			late := netns.Lateness(t)
			results, err := Run(t.Context(), c, nil)
			slack := 2*time.Second + 20*late()
			netns.Must(t, err)
			r := results[0]
			t.Logf("%+v", r)
			if r.RetransmitP50 < least || r.RetransmitP50 > least+slack || r.CompleteP50 < r.RetransmitP50+rtt/2 {
				t.Errorf("retransmitted after %v and complete after %v, want %v at least", r.RetransmitP50,
					r.CompleteP50, least)
			}
			if r.Timeouts+r.Probes == 0 { // on a busy machine ACKs may arrive apart and cause recovery
				t.Errorf("causes %v, want timers", r.Causes)
			}
			if test.segments == 1 && r.ControlDelayP50 < 30*time.Millisecond {
				t.Errorf("ACKs are delayed by %v, want about 40ms", r.ControlDelayP50)
			}
			if r.Control == "" {
				t.Error("the congestion control is not known")
			}
			if (test.sender == Linux) != (r.Kernels != nil) || len(r.Kernels) > r.Count {
				t.Errorf("%d kernels of %d connections of %s", len(r.Kernels), r.Count, test.sender)
			}
			for _, k := range r.Kernels {
				if k.SRTT < rtt || k.RTO < k.SRTT+200*time.Millisecond || k.Jiffy < time.Millisecond ||
					k.Jiffy > 10*time.Millisecond || k.Wait < 200*time.Millisecond {
					t.Errorf("the kernel had %+v, want an SRTT of at least %v, an RTO at least 200ms above it, and "+
						"a wait of at least 200ms", k, rtt)
				}
			}
		})
	}
}

// TestRealIsInterrupted: it ends soon after its context.
func TestRealIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := Run(ctx, Config{RTT: time.Second, Count: 5, Segments: []int{10}, Senders: []string{Ours("rfc6298")}}, nil)
	if !errors.Is(err, context.DeadlineExceeded) {
		netns.Must(t, err)
		t.Error("the run ended, want it stopped")
	}
}
