package link

import (
	"bytes"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp/events"
	"tcpwheel/tun"
	"tcpwheel/wheel"
	"tcpwheel/wheel/base/pcapng"
)

// recorder is the tap of a link. A goroutine of its own writes the log and the captures, so that no
// packet waits for a file. It copies the packets.
type recorder struct {
	links [2]sim.LinkConfig
	clock *wheel.Realtime
	files bool

	mu       sync.Mutex
	late     [2]lateness
	tooBig   [2]uint64
	bytes    [2]uint64
	batch    []event
	size     int // bytes of the batch
	room     sync.Cond
	waiting  bool // the writer was woken and will look
	closed   bool
	upToDate func() bool // TapCaughtUp of the link; nil while there is none

	wake chan struct{} // to the writer; closed at the end
	done chan struct{}

	// Only the writer uses these.
	log      *sink
	json     *json.Encoder
	captures [2]*capture
	open     [2][]*line // entries not written yet, in sending order
	lines    map[*tun.LinkPacket]*line
	twice    map[*tun.LinkPacket]bool // duplicated packets with one copy arrived
}

// event is the sending or the arrival of a packet.
type event struct {
	now     wheel.Time
	arrived bool
	known   *tun.LinkPacket
	data    []byte
}

// line is a log entry that is not complete.
type line struct {
	events.Packet
	arrivals int // still to come
}

const (
	flushEvery = 10 * time.Millisecond
	mostQueued = 64 << 20 // bytes; beyond this, packets wait for the writer
)

// newRecorder opens the files. epoch is the clock's.
func newRecorder(c *Config, clock *wheel.Realtime, epoch time.Time) (*recorder, error) {
	r := &recorder{
		links: c.Links, clock: clock, files: c.Log != "" || c.Captures != [2]string{},
		wake: make(chan struct{}, 1), done: make(chan struct{}),
		lines: make(map[*tun.LinkPacket]*line), twice: make(map[*tun.LinkPacket]bool),
	}
	r.room.L = &r.mu
	if err := r.openFiles(c, epoch); err != nil {
		for _, c := range r.captures {
			if c != nil {
				c.sink.close()
			}
		}
		return nil, err
	}
	go r.serve()
	return r, nil
}

func (r *recorder) openFiles(c *Config, epoch time.Time) (err error) {
	for i, name := range c.Captures {
		if name != "" {
			if r.captures[i], err = newCapture(name, sideName(i), wheel.Time(epoch.UnixNano())); err != nil {
				return err
			}
		}
	}
	if c.Log == "" {
		return nil
	}
	if r.log, err = createSink(c.Log); err != nil {
		return err
	}
	r.json = json.NewEncoder(r.log)
	r.json.SetEscapeHTML(false)
	// a sink never fails
	_ = r.json.Encode(planRecord{"plan", epoch.UnixNano(), c.Seed, c.Links[0], c.Links[1], c.PathMTU})
	r.log.flush()
	return nil
}

// planRecord is the first line of a log.
type planRecord struct {
	Record  string         `json:"record"` // "plan"
	Epoch   int64          `json:"epoch_ns"`
	Seed    uint64         `json:"seed"`
	AToB    sim.LinkConfig `json:"a_to_b"`
	BToA    sim.LinkConfig `json:"b_to_a"`
	PathMTU int            `json:"path_mtu,omitempty"`
}

// endRecord is the last line of a log.
type endRecord struct {
	Record  string     `json:"record"` // "end"
	Time    wheel.Time `json:"time_ns"`
	Summary [2]Summary `json:"summary"`
}

// Sent implements tun.Tap.
func (r *recorder) Sent(now wheel.Time, p *tun.LinkPacket, pkt *stack.PacketBuffer) {
	r.add(event{now, false, p, nil}, pkt)
}

// Arrived implements tun.Tap. add reads the clock again with the lock held, so that later events
// have later stamps: on a busy machine much time may pass since the link read it.
func (r *recorder) Arrived(now wheel.Time, p *tun.LinkPacket, pkt *stack.PacketBuffer) {
	r.add(event{now, true, p, nil}, pkt)
}

func (r *recorder) add(e event, pkt *stack.PacketBuffer) {
	if r.files {
		view := pkt.ToView()
		e.data = bytes.Clone(view.AsSlice())
		view.Release()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.files && r.size > mostQueued && !r.closed {
		r.room.Wait()
	}
	if e.arrived {
		e.now = r.clock.Now()
	}
	d := e.known.Direction
	switch {
	case e.known.TooBig:
		r.tooBig[d]++
	case e.arrived && e.known.Number != 0:
		r.late[d].add(e.now.Sub(e.known.Fate.At))
		r.bytes[d] += uint64(pkt.Size())
	}
	if !r.files || r.closed {
		return
	}
	r.batch = append(r.batch, e)
	r.size += len(e.data)
	if !r.waiting {
		r.waiting = true
		r.wake <- struct{}{} // has room: the writer received the last one before it cleared waiting
	}
}

// serve writes the recorded events until close.
func (r *recorder) serve() {
	defer close(r.done)
	for range r.wake {
		time.Sleep(flushEvery) // one round for all events until then
		now, upToDate := r.clock.Now(), r.caughtUp()
		r.mu.Lock()
		r.waiting = false
		batch := r.take()
		closed := r.closed
		r.mu.Unlock()
		for i := range batch {
			r.write(&batch[i])
		}
		if !upToDate {
			now = 0 // a sender is about to record an earlier event: wait for the next round
		}
		r.flush(now)
		if !closed && r.holds() {
			r.again()
		}
	}
}

// caughtUp reports whether everything that was sent before the call has been recorded.
func (r *recorder) caughtUp() bool {
	r.mu.Lock()
	upToDate := r.upToDate
	r.mu.Unlock()
	return upToDate != nil && upToDate() // without the lock: senders may be waiting for it
}

// take returns the batch and makes room. The caller holds the lock.
func (r *recorder) take() []event {
	batch := r.batch
	r.batch, r.size = nil, 0
	r.room.Broadcast()
	return batch
}

// holds reports whether a capture holds packets back.
func (r *recorder) holds() bool {
	for _, c := range r.captures {
		if c != nil && len(c.held) > 0 {
			return true
		}
	}
	return false
}

// again wakes serve for another round, because captures hold packets back.
func (r *recorder) again() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.waiting && !r.closed {
		r.waiting = true
		r.wake <- struct{}{}
	}
}

// write writes one event to the files.
func (r *recorder) write(e *event) {
	d, p := int(e.known.Direction), e.known
	if e.arrived {
		r.captures[1-d].add(e.now, pcapng.Inbound, e.data, r.arrived(d, e))
		return
	}
	comment := sentComment(&p.Fate, r.links[d].Loss)
	if p.TooBig {
		comment = "dropped: larger than the path MTU"
	}
	r.captures[d].add(e.now, pcapng.Outbound, e.data, comment)
	if r.log == nil {
		return
	}
	l := &line{Packet: *newEntry(d, p.Number, e.now, e.data, &p.Model)}
	l.describe(p, r.links[d].Loss)
	r.open[d] = append(r.open[d], l)
	if l.arrivals > 0 {
		r.lines[p] = l
	} else {
		r.writeLines(d)
	}
}

// describe records what the model decided.
func (l *line) describe(p *tun.LinkPacket, loss sim.Losses) {
	f := &p.Fate
	l.Reordered, l.Duplicated, l.Marked = f.Reordered, f.Duplicated, f.Marked
	if f.Corrupt {
		l.CorruptBit = &f.Bit
	}
	switch {
	case p.TooBig:
		l.Fate = events.FateTooBig
	case f.Outcome == sim.QueueDropped:
		l.Fate = events.FateQueue
	case f.Outcome == sim.Lost:
		l.Fate, l.By = events.FateLost, loss[f.Model].String()
	default:
		l.Fate, l.Due, l.arrivals = events.FateDelivered, &f.At, 1
		if f.Duplicated {
			l.arrivals = 2
		}
	}
}

// arrived records an arrival in the log and returns its comment.
func (r *recorder) arrived(d int, e *event) (comment string) {
	p := e.known
	if p.Number == 0 {
		return "made by the link: a packet was larger than the path MTU"
	}
	again := r.twice[p]
	if again {
		delete(r.twice, p)
	} else if p.Fate.Duplicated {
		r.twice[p] = true
	}
	if l := r.lines[p]; l != nil {
		l.Arrived = append(l.Arrived, e.now)
		if l.arrivals--; l.arrivals == 0 {
			delete(r.lines, p)
			r.writeLines(d)
		}
	}
	return arrivedComment(&p.Fate, again)
}

// writeLines writes the complete entries, in order.
func (r *recorder) writeLines(d int) {
	n := 0
	for ; n < len(r.open[d]) && r.open[d][n].arrivals == 0; n++ {
		_ = r.json.Encode(&r.open[d][n].Packet) // a sink never fails
	}
	clear(r.open[d][:n])
	r.open[d] = r.open[d][n:]
}

func (r *recorder) flush(until wheel.Time) {
	for _, c := range r.captures {
		c.write(until)
	}
	if r.log != nil {
		r.log.flush()
	}
}

// close writes the remaining events and the end of the log, and closes the files. The link must
// have ended.
func (r *recorder) close(summary [2]Summary) error {
	r.mu.Lock()
	r.closed = true
	close(r.wake)
	r.mu.Unlock()
	<-r.done
	for _, e := range r.take() {
		r.write(&e)
	}
	for d := range r.open {
		for _, l := range r.open[d] {
			if l.arrivals > 0 {
				l.arrivals = 0
				if len(l.Arrived) == 0 {
					l.Fate = events.FateUnfinished
				}
			}
		}
		r.writeLines(d)
	}
	now := r.clock.Now()
	var err error
	for i, c := range r.captures {
		if c != nil {
			err = errors.Join(err, c.end(now, summary[i].KernelDrops))
		}
	}
	if r.log != nil {
		_ = r.json.Encode(endRecord{"end", now, summary}) // a sink never fails
		err = errors.Join(err, r.log.close())
	}
	return err
}

// lateness returns how late the packets of a direction arrived, compared with the model.
func (r *recorder) lateness(d int) (p50, p99, most time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := &r.late[d]
	return l.quantile(0.5), l.quantile(0.99), l.max
}
