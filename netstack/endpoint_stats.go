package netstack

import (
	"sync/atomic"

	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

// endpointStats holds the statistics of an endpoint. Most endpoints count only segments. The
// others, in gVisor's type, are allocated when one of them is first counted or read.
type endpointStats struct {
	received, sent atomic.Uint64 // segments not counted in rest
	rest           atomic.Pointer[gtcp.Stats]
}

// more returns the statistics other than segments.
func (s *endpointStats) more() *gtcp.Stats {
	if all := s.rest.Load(); all != nil {
		return all
	}
	s.rest.CompareAndSwap(nil, new(gtcp.Stats))
	return s.rest.Load()
}

// all returns all statistics. From then on segments are counted there too, so the caller sees later
// ones.
func (s *endpointStats) all() *gtcp.Stats {
	all := s.more()
	all.SegmentsReceived.IncrementBy(s.received.Swap(0))
	all.SegmentsSent.IncrementBy(s.sent.Swap(0))
	return all
}

func (s *endpointStats) segmentReceived() {
	if all := s.rest.Load(); all != nil {
		all.SegmentsReceived.Increment()
	} else {
		s.received.Add(1)
	}
}

func (s *endpointStats) segmentSent() {
	if all := s.rest.Load(); all != nil {
		all.SegmentsSent.Increment()
	} else {
		s.sent.Add(1)
	}
}
