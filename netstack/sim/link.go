package sim

import (
	"fmt"
	"strings"
	"time"

	"tcpwheel/wheel"
)

// Outcome is what happens to a packet on a link.
type Outcome uint8

const (
	Delivered    Outcome = iota
	QueueDropped         // the queue was full
	Lost                 // on the wire, by a loss model
)

// String returns "delivered", "queue" or "loss".
func (v Outcome) String() string {
	if v > Lost {
		return fmt.Sprintf("Outcome(%d)", uint8(v))
	}
	return [...]string{"delivered", "queue", "loss"}[v]
}

// Fate is what a link decides for one packet.
type Fate struct {
	At         wheel.Time // arrival, if Delivered
	Outcome    Outcome
	Model      int  // if Lost: the index in Loss of the first model that lost it
	Duplicated bool // arrives twice, both at At
	Reordered  bool // picked by Reorder
	Held       bool // by Hold
	Marked     bool // CE is set
	Corrupt    bool // bit number Bit is flipped
	Bit        uint32
}

// Impairments lists what the link does to a delivered packet, such as "reordered, corrupted"; "" is
// nothing.
func (f *Fate) Impairments() string {
	var words []string
	for _, w := range []struct {
		is   bool
		word string
	}{{f.Marked, "marked CE"}, {f.Reordered, "reordered"}, {f.Held, "held"}, {f.Duplicated, "duplicated"}, {f.Corrupt, "corrupted"}} {
		if w.is {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, ", ")
}

// LinkCounts are the counters of a link. Packets is the sum of Delivered, QueueDropped and Lost.
type LinkCounts struct {
	Packets      uint64 `json:"packets"`
	Delivered    uint64 `json:"delivered"`
	QueueDropped uint64 `json:"queue_dropped"`
	Lost         uint64 `json:"lost"`
	Marked       uint64 `json:"marked"`
	Reordered    uint64 `json:"reordered"`
	Duplicated   uint64 `json:"duplicated"`
	Corrupted    uint64 `json:"corrupted"`
	WireBytes    uint64 `json:"wire_bytes"` // sent, with Overhead; lost packets count
}

// Add adds o to c.
func (c *LinkCounts) Add(o LinkCounts) {
	c.Packets += o.Packets
	c.Delivered += o.Delivered
	c.QueueDropped += o.QueueDropped
	c.Lost += o.Lost
	c.Marked += o.Marked
	c.Reordered += o.Reordered
	c.Duplicated += o.Duplicated
	c.Corrupted += o.Corrupted
	c.WireBytes += o.WireBytes
}

// Link models one direction of a link. It has no clock: each call passes now. A now earlier than
// the latest one counts as no time passing.
type Link struct {
	cfg    LinkConfig // with 0 replaced by the maximum
	counts LinkCounts
	now    wheel.Time
	queue  packetQueue

	// The sender is idle from free + frac/Rate ns on. The fraction keeps a busy link at exactly
	// Rate.
	free   wheel.Time
	frac   uint64
	cursor traceCursor // with a trace

	last     wheel.Time // arrival of the last packet that was not reordered
	droppers []Dropper

	reorder, duplicate, corrupt             chance
	drawReorder, drawDuplicate, drawCorrupt stream
	drawBit                                 stream
	drawJitter                              [3]stream
	drawHold                                [2]stream
}

// NewLink makes a link that draws random numbers under key, see LinkKey. Its error is that of
// cfg.Check.
func NewLink(cfg LinkConfig, key uint64) (*Link, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	l := &Link{
		cfg: cfg, now: earliest, free: earliest, last: earliest,
		reorder: newChance(cfg.Reorder.Probability), drawReorder: newStream(key, forReorder),
		duplicate: newChance(cfg.Duplicate), drawDuplicate: newStream(key, forDuplicate),
		corrupt: newChance(cfg.Corrupt), drawCorrupt: newStream(key, forCorrupt), drawBit: newStream(key, forBit),
		drawJitter: [3]stream{newStream(key, forJitter), newStream(key, forJitter2), newStream(key, forJitter3)},
		drawHold:   [2]stream{newStream(key, forHold), newStream(key, forHold2)},
	}
	for i, m := range cfg.Loss {
		l.droppers = append(l.droppers, m.Start(Mix64(key+uint64(i))))
	}
	l.setLimits()
	if l.cfg.Hold.Every == 0 {
		l.cfg.Hold.Every = 2 * l.cfg.Hold.Longest
	}
	return l, nil
}

func (l *Link) setLimits() {
	l.cfg.Queue = l.cfg.Queue.or(Limit{maxPackets, maxBytes})
	l.cfg.Mark = l.cfg.Mark.or(Limit{1<<32 - 1, 1<<64 - 1})
}

// SetRate changes the rate and the delay for packets from now on. Packets of before keep their
// fate, and waiting ones keep their place. The error is that of LinkConfig.Check.
func (l *Link) SetRate(r LinkRate, delay time.Duration) error {
	cfg := l.cfg
	cfg.Rate, cfg.Trace, cfg.Delay = uint64(r.Fixed), r.Trace, delay
	if cfg.Trace != nil {
		cfg.Rate = 0
	}
	check := LinkConfig{Rate: cfg.Rate, Trace: cfg.Trace, Delay: delay, Jitter: cfg.Jitter}
	if err := check.Check(); err != nil {
		return err
	}
	if cfg.Trace != l.cfg.Trace {
		l.cursor = traceCursor{}
		if cfg.Trace != nil {
			l.cursor.skip(cfg.Trace, l.free)
		}
	}
	l.cfg = cfg
	return nil
}

const earliest wheel.Time = -1 << 63

func (l Limit) or(most Limit) Limit {
	if l.Packets == 0 {
		l.Packets = most.Packets
	}
	if l.Bytes == 0 {
		l.Bytes = most.Bytes
	}
	return l
}

// Send decides the fate of a packet that enters the link at now. It costs O(1), and allocates only
// when the queue grows beyond its longest so far. It panics if p.Size is 0 or above MaxSize.
func (l *Link) Send(now wheel.Time, p *Packet) (f Fate) {
	l.send(now, p, &f)
	return f
}

// send is Send with a result by pointer: f is zero. The engine's notes on performance say why.
func (l *Link) send(now wheel.Time, p *Packet, f *Fate) {
	if p.Size-1 >= MaxSize {
		panic(fmt.Sprintf("BUG: sim: packet of %d bytes, want 1 to %d", p.Size, MaxSize))
	}
	now = max(now, l.now)
	l.now = now
	l.counts.Packets++
	n := l.counts.Packets
	for i, d := range l.droppers { // every model sees every packet
		if d.Lost(now, n, p) && f.Outcome != Lost {
			f.Outcome, f.Model = Lost, i
		}
	}
	sent := now
	if l.cfg.Rate != 0 || l.cfg.Trace != nil {
		var waited, ok bool
		if sent, waited, ok = l.serialise(now, p.Size); !ok {
			l.counts.QueueDropped++
			f.Outcome, f.Model = QueueDropped, 0
			return
		}
		if waited && (l.queue.n > l.cfg.Mark.Packets || l.queue.bytes > l.cfg.Mark.Bytes) && p.ECN.Capable() {
			f.Marked = true
			l.counts.Marked++
		}
	}
	l.counts.WireBytes += uint64(p.Size) + uint64(l.cfg.Overhead)
	if f.Outcome == Lost {
		l.counts.Lost++
		return
	}
	l.counts.Delivered++
	l.arrive(sent, n, f)
	if l.duplicate.hit(l.drawDuplicate, n) {
		f.Duplicated = true
		l.counts.Duplicated++
	}
	if l.corrupt.hit(l.drawCorrupt, n) {
		f.Corrupt = true
		f.Bit = uint32(below(l.drawBit.at(n), 8*uint64(p.Size)))
		l.counts.Corrupted++
	}
}

// serialise queues a packet. It returns when its last bit is sent, rounded up to a nanosecond, and
// whether it waits first. ok is false if the queue is full.
func (l *Link) serialise(now wheel.Time, size uint32) (sent wheel.Time, waits, ok bool) {
	l.queue.removeStarted(now)
	if l.cfg.Trace != nil {
		return l.serveByTrace(now, size)
	}
	if now > l.free {
		l.free, l.frac = now, 0
	}
	start := l.free
	if l.frac != 0 {
		start++
	}
	if waits = start > now; waits {
		if l.queue.n >= l.cfg.Queue.Packets || l.queue.bytes+uint64(size) > l.cfg.Queue.Bytes {
			return 0, true, false
		}
		l.queue.push(start, size)
	}
	// Below 2^58 + 2^50: (2^24 + 2^16)·8 bits, 10^9 ns/s, and frac < Rate.
	units := (uint64(size)+uint64(l.cfg.Overhead))*8*uint64(time.Second) + l.frac
	ns := units / l.cfg.Rate
	l.free = l.free.Add(time.Duration(ns))
	l.frac = units - ns*l.cfg.Rate
	sent = l.free
	if l.frac != 0 {
		sent = sent.Add(1)
	}
	return sent, waits, true
}

// arrive decides when packet n arrives, given when its last bit is sent.
func (l *Link) arrive(sent wheel.Time, n uint64, f *Fate) {
	if l.reorder != 0 && (l.cfg.Reorder.Gap <= 1 || n%uint64(l.cfg.Reorder.Gap) == 0) && l.reorder.hit(l.drawReorder, n) {
		f.Reordered = true
		l.counts.Reordered++
		if l.cfg.Reorder.Extra == 0 {
			f.At = sent
			return
		}
	}
	f.At = sent.Add(l.cfg.Delay)
	if l.cfg.Jitter.Amount != 0 {
		draw := n
		if hold := l.cfg.Jitter.Hold; hold != 0 {
			draw = uint64(sent / wheel.Time(hold))
		}
		f.At = f.At.Add(l.jitter(draw))
	}
	switch {
	case f.Reordered:
		f.At = f.At.Add(l.cfg.Reorder.Extra)
	case !l.cfg.Jitter.Overtake:
		f.At = max(f.At, l.last)
		l.last = f.At
	}
	if l.cfg.Hold.Longest != 0 {
		at := f.At
		f.At = l.held(at)
		f.Held = f.At != at
	}
}

// held returns when a packet is let go that would arrive at an instant.
func (l *Link) held(at wheel.Time) wheel.Time {
	h := &l.cfg.Hold
	if at < 0 {
		return at
	}
	n := uint64(at) / uint64(h.Every)
	lasts := h.Least + time.Duration(below(l.drawHold[0].at(n), uint64(h.Longest-h.Least)+1))
	begin := wheel.Time(n*uint64(h.Every) + below(l.drawHold[1].at(n), uint64(h.Every-lasts)+1))
	if begin <= at && at < begin.Add(lasts) {
		return begin.Add(lasts)
	}
	return at
}

// jitter returns draw n of the difference to Delay.
func (l *Link) jitter(n uint64) time.Duration {
	amount := l.cfg.Jitter.Amount
	if !l.cfg.Jitter.Normal {
		return time.Duration(below(l.drawJitter[0].at(n), 2*uint64(amount)+1)) - amount
	}
	// 6·2^16 times 24 h overflows 63 bits, so units of 2^16 ns and the rest are multiplied
	// separately.
	z := time.Duration(normal(l.drawJitter[0].at(n), l.drawJitter[1].at(n), l.drawJitter[2].at(n)))
	d := amount/(1<<16)*z + amount%(1<<16)*z/(1<<16)
	return min(max(d, -l.cfg.Delay), l.cfg.Delay)
}

// Queued returns the packets that wait at now, without the one being sent.
func (l *Link) Queued(now wheel.Time) (packets uint32, bytes uint64) {
	now = max(now, l.now)
	l.now = now
	l.queue.removeStarted(now)
	return l.queue.n, l.queue.bytes
}

// Counts returns the counters.
func (l *Link) Counts() LinkCounts { return l.counts }
