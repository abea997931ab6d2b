package up

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"tcpwheel/internal/pcapng"
	"tcpwheel/netstack"
	"tcpwheel/netstack/tcp/events"
	"tcpwheel/tun/internal/background"
	"tcpwheel/wheel"
)

// Event is an event of the stack: a change of a timer, a segment, or a recovery.
type Event struct {
	Time          wheel.Time // on the stack's clock
	Name          string     // of package events: it says which fields are set
	Timer         netstack.TimerEvent
	Segment       Segment          // that passed, was lost or is recovered
	Transmissions int              // of the stack's segment: 2 or more for a retransmission
	Causes        []netstack.Cause // the timers that sent it
	Took          time.Duration    // a recovery
}

// timerEvents are the names of events by netstack.TimerChange.
var timerEvents = [...]string{events.TimerStarted, events.TimerMoved, events.TimerStopped, events.TimerExpired}

// append adds the event as a line of JSON. conn returns the name of the connection of an endpoint.
func (e *Event) append(b []byte, conn func(*netstack.Endpoint) string) []byte {
	head := events.Head{T: events.Seconds(e.Time), Event: e.Name}
	switch timer := &e.Timer; {
	case timer.Endpoint != nil:
		head.Conn = conn(timer.Endpoint)
	case timer.Local.IsValid():
		head.Conn = connName(timer.Local, timer.Remote)
	default:
		head.Conn = connName(e.Segment.Local, e.Segment.Remote)
	}
	var record any
	switch e.Name {
	case timerEvents[e.Timer.Change]:
		t := events.Timer{Head: head, Timer: e.Timer.Kind.String(), Segment: e.Timer.Segment}
		left := events.Seconds(e.Timer.Deadline.Sub(e.Time))
		if late := -left; e.Name == events.TimerExpired {
			t.Late = &late
		} else if e.Name != events.TimerStopped {
			t.Due = &left
		}
		record = &t
	case events.Recovered:
		record = &events.Repair{Head: head, Seq: uint32(e.Segment.Header.Seq), Took: events.Seconds(e.Took), Transmissions: e.Transmissions}
	default:
		p := events.Passed{Head: head, Segment: events.SegmentOf(&e.Segment.Header, e.Segment.Size)}
		if e.Transmissions > 1 {
			p.Transmission = e.Transmissions
		}
		if len(e.Causes) > 0 {
			p.By = e.Causes[0].Name()
		}
		record = &p
	}
	text, err := json.Marshal(record)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return append(append(b, text...), '\n')
}

// Bounds of an eventStream.
const (
	eventQueue  = 1 << 16 // events that wait to be encoded, in addition to those being encoded
	chunkQueue  = 256     // chunks that wait for a reader
	eventsChunk = 64 << 10
)

// eventStream passes events to readers as lines of JSON. The stack never waits for a reader: events
// that do not fit are dropped and counted. Without a reader, events cost nothing. Multiple
// goroutines may invoke its methods.
type eventStream struct {
	conn    func(*netstack.Endpoint) string
	active  atomic.Bool // there are readers
	queue   *background.Queue[Event]
	dropped atomic.Uint64 // behind the queue

	mu      sync.Mutex
	readers map[*eventReader]struct{}
	closed  bool
}

// eventReader receives the lines of an eventStream, in chunks of whole lines.
type eventReader struct {
	chunks chan []byte // closed at the end
	missed uint64      // lines not delivered and not yet reported; the stream's lock guards it
}

// newEventStream starts a stream.
func newEventStream(conn func(*netstack.Endpoint) string) *eventStream {
	s := &eventStream{conn: conn, readers: map[*eventReader]struct{}{}}
	s.queue = background.Start(eventQueue, background.Drop, s.run)
	return s
}

// add queues an event.
func (s *eventStream) add(e Event) {
	if s.active.Load() {
		s.queue.Add(1, func(b *background.Batch[Event]) { b.Items = append(b.Items, e) })
	}
}

// missed returns how many events or lines did not reach a reader.
func (s *eventStream) missed() uint64 { return s.queue.Dropped() + s.dropped.Load() }

// subscribe adds a reader. The reader's chunks are closed at once if the stream has ended.
func (s *eventStream) subscribe() *eventReader {
	r := &eventReader{chunks: make(chan []byte, chunkQueue)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		close(r.chunks)
		return r
	}
	s.readers[r] = struct{}{}
	s.active.Store(true)
	return r
}

// unsubscribe removes a reader.
func (s *eventStream) unsubscribe(r *eventReader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.readers, r)
	s.active.Store(len(s.readers) > 0)
}

// run encodes the queue until close.
func (s *eventStream) run(q *background.Queue[Event]) {
	for q.Next() {
		batch := q.Take()
		s.encode(batch.Items)
		q.Recycle(batch)
	}
}

// encode delivers events to the readers.
func (s *eventStream) encode(batch []Event) {
	names := map[*netstack.Endpoint]string{} // of this batch: endpoints come and go
	conn := func(e *netstack.Endpoint) string {
		name, ok := names[e]
		if !ok {
			name = s.conn(e)
			names[e] = name
		}
		return name
	}
	var chunk []byte
	lines := uint64(0)
	for i := range batch {
		chunk = batch[i].append(chunk, conn)
		lines++
		if len(chunk) >= eventsChunk || i == len(batch)-1 {
			s.deliver(chunk, lines)
			chunk, lines = nil, 0
		}
	}
}

// deliver passes a chunk to all readers.
func (s *eventStream) deliver(chunk []byte, lines uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.readers {
		if r.missed > 0 {
			select {
			case r.chunks <- fmt.Appendf(nil, `{"event":%q,"lines":%d}`+"\n", events.LinesMissed, r.missed):
				r.missed = 0
			default:
			}
		}
		select {
		case r.chunks <- chunk:
		default:
			r.missed += lines
			s.dropped.Add(lines)
		}
	}
}

// close delivers what is queued and ends the stream.
func (s *eventStream) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.active.Store(false)
	s.queue.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.readers {
		close(r.chunks)
	}
	clear(s.readers)
}

// traceFile writes the events of a stream to a file.
type traceFile struct {
	// close waits until everything is written, after the stream has ended. It returns the first error.
	close func() error
}

// newTraceFile makes the file and starts to write.
func newTraceFile(name string, s *eventStream) (*traceFile, error) {
	f, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	r, ended, sink := s.subscribe(), make(chan struct{}), pcapng.NewSink(f)
	go func() {
		defer close(ended)
		for chunk := range r.chunks {
			for line := range bytes.Lines(chunk) {
				sink.Write(line) // keeps the error
			}
			if sink.Flush() != nil {
				s.unsubscribe(r)
				return
			}
		}
	}()
	return &traceFile{close: sync.OnceValue(func() error {
		<-ended
		if err := sink.Close(); err != nil {
			return fmt.Errorf("up: trace: %w", err)
		}
		return nil
	})}, nil
}

// segmentEvent returns the name of the event of a segment.
func segmentEvent(d pcapng.Direction) string {
	if d == pcapng.Outbound {
		return events.SegmentSent
	}
	return events.SegmentReceived
}
