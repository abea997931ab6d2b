package netstack

import (
	"sync"
	"testing"

	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

// TestEndpointStatsAreMadeOnDemand counts segments before and after the first call of Stats, and
// during concurrent calls. Each segment counts once, and all callers see the same counters.
func TestEndpointStatsAreMadeOnDemand(t *testing.T) {
	var e Endpoint
	e.stats.segmentReceived()
	e.stats.segmentSent()
	e.stats.segmentSent()
	if e.stats.rest.Load() != nil {
		t.Fatal("counting segments allocated the other statistics")
	}
	all := e.Stats().(*gtcp.Stats)
	e.stats.segmentReceived()
	e.stats.more().SendErrors.Timeouts.Increment()
	if r, s, n := all.SegmentsReceived.Value(), all.SegmentsSent.Value(), all.SendErrors.Timeouts.Value(); r != 2 || s != 2 || n != 1 {
		t.Errorf("received %d, sent %d, timeouts %d, want 2, 2, 1", r, s, n)
	}

	var many Endpoint
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 1000 {
				many.stats.segmentReceived()
				many.stats.segmentSent()
			}
		})
		wait.Go(func() { many.Stats() })
	}
	wait.Wait()
	all = many.Stats().(*gtcp.Stats)
	if r, s := all.SegmentsReceived.Value(), all.SegmentsSent.Value(); r != 4000 || s != 4000 {
		t.Errorf("received %d, sent %d, want 4000 of each", r, s)
	}
}
