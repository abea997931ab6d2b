package link

import (
	"encoding/json"
	"errors"
	"os"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/internal/pcapng"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp/events"
	"tcpwheel/tun"
	"tcpwheel/tun/internal/background"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

// recorder is the tap of a link. It copies the packets, and writes the log and the captures in a
// goroutine of their own. A packet waits only if very many bytes wait to be written.
type recorder struct {
	links [2]sim.LinkConfig
	clock *wheel.Realtime
	queue *background.Queue[event] // nil without files

	mu       sync.Mutex
	late     [2]stat.Histogram
	tooBig   [2]uint64
	bytes    [2]uint64
	upToDate func() bool // TapCaughtUp of the link; nil while there is none

	// Only the writer uses these, and close.
	log      *pcapng.Sink
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
	size    int // bytes
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
	r := &recorder{links: c.Links, clock: clock, lines: make(map[*tun.LinkPacket]*line), twice: make(map[*tun.LinkPacket]bool)}
	if err := r.openFiles(c, epoch); err != nil {
		for _, c := range r.captures {
			if c != nil {
				c.sink.Close()
			}
		}
		return nil, err
	}
	if c.Log != "" || c.Captures != [2]string{} {
		r.queue = background.Start(mostQueued, background.Wait, r.serve)
	}
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
	file, err := os.Create(c.Log)
	if err != nil {
		return err
	}
	r.log = pcapng.NewSink(file)
	r.json = json.NewEncoder(r.log)
	r.json.SetEscapeHTML(false)
	_ = r.json.Encode(planRecord{"plan", epoch.UTC(), c.Seed, c.Links[0], c.Links[1], c.PathMTU})
	_ = r.log.Flush() // closing reports the error
	return nil
}

// planRecord is the first line of a log.
type planRecord struct {
	Record  string         `json:"record"` // "plan"
	Epoch   time.Time      `json:"epoch"`  // when times were 0
	Seed    uint64         `json:"seed"`
	AToB    sim.LinkConfig `json:"a_to_b"`
	BToA    sim.LinkConfig `json:"b_to_a"`
	PathMTU int            `json:"path_mtu,omitempty"`
}

// endRecord is the last line of a log.
type endRecord struct {
	Record  string         `json:"record"` // "end"
	Time    events.Seconds `json:"time_s"`
	Summary [2]Summary     `json:"summary"`
}

// Sent implements tun.Tap.
func (r *recorder) Sent(now wheel.Time, p *tun.LinkPacket, pkt *stack.PacketBuffer) {
	r.add(event{now, false, p, pkt.Size()}, pkt)
}

// Arrived implements tun.Tap.
func (r *recorder) Arrived(now wheel.Time, p *tun.LinkPacket, pkt *stack.PacketBuffer) {
	r.add(event{now, true, p, pkt.Size()}, pkt)
}

func (r *recorder) add(e event, pkt *stack.PacketBuffer) {
	if r.queue == nil {
		r.count(&e)
		return
	}
	r.queue.Add(e.size, func(b *background.Batch[event]) {
		r.count(&e)
		b.Items, b.Data = append(b.Items, e), background.AppendPacket(b.Data, pkt)
	})
}

// count counts the packet. It reads the clock of an arrival again, under the queue's lock, so that
// later events have later stamps: on a busy machine much time may pass since the link read it.
func (r *recorder) count(e *event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.arrived {
		e.now = r.clock.Now()
	}
	d := e.known.Direction
	switch {
	case e.known.TooBig:
		r.tooBig[d]++
	case e.arrived && e.known.Number != 0:
		r.late[d].Add(e.now.Sub(e.known.Fate.At))
		r.bytes[d] += uint64(e.size)
	}
}

// serve writes the recorded events until close.
func (r *recorder) serve(q *background.Queue[event]) {
	for q.Next() {
		time.Sleep(flushEvery) // one round for all events until then
		now := r.clock.Now()
		if !r.caughtUp() {
			now = 0 // a sender is about to record an earlier event: wait for the next round
		}
		batch := q.Take()
		rest := batch.Data
		for i := range batch.Items {
			e := &batch.Items[i]
			r.write(e, rest[:e.size:e.size])
			rest = rest[e.size:]
		}
		q.Recycle(background.Batch[event]{Items: batch.Items}) // captures hold the data
		r.flush(now)
		if r.holds() {
			q.Again()
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

// holds reports whether a capture holds packets back.
func (r *recorder) holds() bool {
	for _, c := range r.captures {
		if c != nil && len(c.held) > 0 {
			return true
		}
	}
	return false
}

// write writes one event to the files.
func (r *recorder) write(e *event, data []byte) {
	d, p := int(e.known.Direction), e.known
	if e.arrived {
		r.captures[1-d].add(e.now, pcapng.Inbound, data, r.arrived(d, e))
		return
	}
	comment := sentComment(&p.Fate, r.links[d].Loss)
	if p.TooBig {
		comment = "dropped: larger than the path MTU"
	}
	r.captures[d].add(e.now, pcapng.Outbound, data, comment)
	if r.log == nil {
		return
	}
	l := &line{Packet: *newEntry(d, p.Number, e.now, data, &p.Model)}
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
		due := events.Seconds(f.At)
		l.Fate, l.Due, l.arrivals = events.FateDelivered, &due, 1
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
		l.Arrived = append(l.Arrived, events.Seconds(e.now))
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
		_ = r.json.Encode(&r.open[d][n].Packet) // closing reports the error
	}
	clear(r.open[d][:n])
	r.open[d] = r.open[d][n:]
}

func (r *recorder) flush(until wheel.Time) {
	for _, c := range r.captures {
		c.write(until)
	}
	if r.log != nil {
		_ = r.log.Flush()
	}
}

// close writes the remaining events and the end of the log, and closes the files. The link must
// have ended.
func (r *recorder) close(summary [2]Summary) error {
	if r.queue == nil {
		return nil
	}
	r.queue.Close() // no file ends the queue by its error
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
		_ = r.json.Encode(endRecord{"end", events.Seconds(now), summary}) // closing reports the error
		err = errors.Join(err, r.log.Close())
	}
	return err
}

// lateness returns how late the packets of a direction arrived, compared with the model.
func (r *recorder) lateness(d int) (p50, p99, most float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := &r.late[d]
	return l.Quantile(0.5).Seconds(), l.Quantile(0.99).Seconds(), l.Max().Seconds()
}
