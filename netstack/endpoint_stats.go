package netstack

import (
	"sync/atomic"

	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

// endpointStats are an endpoint's statistics. Most endpoints count nothing but segments: the others, of gVisor's type, are made when one
// of them is first counted, or somebody asks for them.
type endpointStats struct {
	received, sent atomic.Uint64 // segments that all does not have yet
	rest           atomic.Pointer[gtcp.Stats]
}

// more returns the statistics other than the segments, to be counted in.
func (s *endpointStats) more() *gtcp.Stats {
	if all := s.rest.Load(); all != nil {
		return all
	}
	s.rest.CompareAndSwap(nil, new(gtcp.Stats))
	return s.rest.Load()
}

// all returns all statistics. From then on segments are counted there, so that who has asked once sees them.
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
