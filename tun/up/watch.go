package up

import (
	"net/http"
	"net/netip"
	"time"

	"tcpwheel/netstack"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/events"
	"tcpwheel/wheel"
	"tcpwheel/wheel/base/pcapng"
)

// Page is the page of a status server. Close is called once, before the host's stack ends.
type Page interface {
	http.Handler
	Close()
}

// Segment is a TCP segment at the stack's end of the link. It may hold several segments of a wire.
type Segment struct {
	Time          wheel.Time // on the stack's clock
	Direction     pcapng.Direction
	Lost          bool // the emulated link dropped it; it was passed before, if it is the stack's
	Local, Remote netip.AddrPort
	Header        tcp.Header
	Size          uint32           // bytes of payload
	Transmissions int              // of the stack's: 2 or more for a retransmission
	Causes        []netstack.Cause // the timers that sent it
}

// Watcher sees what /events reports, from one goroutine. A method must return soon: events that do
// not fit the queue meanwhile are dropped and counted.
type Watcher interface {
	TimerChanged(netstack.TimerEvent)
	SegmentPassed(*Segment)
	Recovered(took time.Duration) // a retransmitted segment was acknowledged
}

// watch adds or removes a watcher.
func (s *eventStream) watch(w Watcher, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if on && !s.closed {
		s.watchers[w] = struct{}{}
	} else {
		delete(s.watchers, w)
	}
	s.active.Store(len(s.readers)+len(s.watchers) > 0)
}

// pass hands a batch to the watchers, and reports whether there are readers too.
func (s *eventStream) pass(batch []event) (readers bool) {
	s.mu.Lock()
	var all []Watcher
	for w := range s.watchers {
		all = append(all, w)
	}
	readers = len(s.readers) > 0
	s.mu.Unlock()
	for _, w := range all {
		for i := range batch {
			batch[i].pass(w)
		}
	}
	return readers
}

// pass hands the event to a watcher.
func (e *event) pass(w Watcher) {
	switch e.name {
	case timerEvents[e.change]:
		w.TimerChanged(netstack.TimerEvent{
			Time: e.at, Change: e.change, Endpoint: e.endpoint, Kind: e.timer, Segment: e.number, Deadline: e.deadline,
			Local: e.segment.local, Remote: e.segment.remote,
		})
	case events.Recovered:
		w.Recovered(e.took)
	default:
		s := &e.segment
		w.SegmentPassed(&Segment{
			Time: e.at, Direction: s.direction, Lost: e.name == events.SegmentLost, Local: s.local, Remote: s.remote, Header: s.header,
			Size: s.size, Transmissions: e.transmissions, Causes: e.causes,
		})
	}
}
