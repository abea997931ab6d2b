package tun

import (
	"fmt"
	"slices"
	"sync"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/sim"
	"tcpwheel/wheel"
)

// Direction is one of the two of an emulated link.
type Direction uint8

const (
	There Direction = iota // from the stack to the link below Impair, or from a to b of Join
	Back
)

// String returns "there" or "back".
func (d Direction) String() string {
	if d > Back {
		return fmt.Sprintf("Direction(%d)", uint8(d))
	}
	return [...]string{"there", "back"}[d]
}

// Passing is what an emulated link knows of a packet on it.
type Passing struct {
	Direction Direction
	Number    uint64     // of the packets of its direction that the model has seen, from 1, in the order of sending; else 0
	TooBig    bool       // larger than LinkOptions.PathMTU: the model has not seen it
	Model     sim.Packet // as the model has seen it, with its place in its TCP stream: see LinkOptions.There
	Fate      sim.Fate
}

// Tap sees all packets of an emulated link. now is that of the link's clock. Its methods must not keep the packet, nor
// call back into the link. Each is called by one goroutine at a time for a direction, and else they may be called at once.
type Tap interface {
	// Sent is called in the order in which packets are handed to the link, before their marks and flipped bits.
	Sent(now wheel.Time, p *Passing, pkt *stack.PacketBuffer)
	// Arrived is called in the order of arrival, right before a packet leaves the link: twice for a duplicated one. One without
	// a number is of the link itself: an ICMP error for a packet that was too big.
	Arrived(now wheel.Time, p *Passing, pkt *stack.PacketBuffer)
}

// LinkOptions say what an emulated link does.
type LinkOptions struct {
	// There and Back are the plans. To the loss model sim.Ranges, the octets of a TCP stream count from 0, the one behind
	// its SYN, for each connection and direction by itself; a FIN takes the place of an octet.
	There, Back sim.LinkConfig

	// PathMTU is the size of packets, in octets, that the link takes; 0 is without bound. A larger one is dropped, and its
	// sender is told at once, as by a router next to it, if it may not be fragmented: an IPv4 packet with DF, and all of IPv6.
	PathMTU int

	// Seed is where all randomness comes from, as in sim.Config: the n-th packet of a direction has the same luck in
	// each run. Which packet is the n-th is up to real time.
	Seed uint64

	// Clock serves the link. Packets arrive at its ticks, never before their instant; those without delay at once. It
	// belongs to the caller, and must stay open as long as the link is in use. Links may share one.
	Clock *wheel.Realtime

	// Tap sees all packets, if it is not nil.
	Tap Tap
}

// wires makes both directions.
func (o *LinkOptions) wires(out [2]func(*stack.PacketBuffer)) (w [2]*wire, err error) {
	if o.PathMTU < 0 || o.PathMTU > 0 && o.PathMTU < minMTU {
		return w, fmt.Errorf("tun: path MTU %d, want 0 or %d at least", o.PathMTU, minMTU)
	}
	if o.Clock == nil {
		return w, fmt.Errorf("tun: link without a clock: set LinkOptions.Clock")
	}
	for d, cfg := range [2]sim.LinkConfig{o.There, o.Back} {
		d := Direction(d)
		link, err := sim.NewLink(cfg, sim.LinkKey(o.Seed, d.String()))
		if err != nil {
			return w, fmt.Errorf("tun: link %v: %w", d, err)
		}
		w[d] = &wire{direction: d, clock: o.Clock, tap: o.Tap, out: out[d], link: link}
		if o.Tap != nil || slices.ContainsFunc(cfg.Loss, isRanges) {
			w[d].sent = &transmissions{}
		}
		w[d].idle.L = &w[d].mu
	}
	w[There].mtu, w[There].back = o.PathMTU, w[Back]
	w[Back].mtu, w[Back].back = o.PathMTU, w[There]
	return w, nil
}

func isRanges(l sim.Loss) bool {
	_, ok := l.(sim.Ranges)
	return ok
}

// wire is one direction of an emulated link: sim.Link in real time. Multiple goroutines may invoke its methods.
//
// Packets leave in the order of their arrival, through whoever holds the baton, which is busy: a sender whose packet is
// due at once, or the goroutine of the timer. No lock is held while they do.
type wire struct {
	direction Direction
	clock     *wheel.Realtime
	tap       Tap
	out       func(*stack.PacketBuffer) // takes no reference
	inline    bool                      // out returns soon: packets leave in the goroutine of the clock
	mtu       int                       // 0 is without bound
	back      *wire                     // the other direction, for errors

	mu      sync.Mutex
	idle    sync.Cond // busy has become false
	link    *sim.Link
	sent    *transmissions // nil if nobody asks
	pending arrivals
	started uint64 // packets that were ever pending
	due     []arrival
	timer   *wheel.RealtimeTimer // for the first of pending; nil before there was one
	busy    bool
	closed  bool
}

// maxPasses is how many times a sender looks for packets that are due before it leaves the rest to the timer.
const maxPasses = 16

// send puts pkt on the wire, cut into what a wire carries. It takes no reference.
func (w *wire) send(pkt *stack.PacketBuffer) {
	packets := split(pkt)
	var errors []*stack.PacketBuffer
	w.mu.Lock()
	now := w.clock.Now()
	for _, p := range packets {
		if w.mtu != 0 && p.Size() > w.mtu && !w.closed {
			if e := w.refuse(now, p); e != nil {
				errors = append(errors, e)
			}
			continue
		}
		w.sendOne(now, p)
	}
	w.run()
	for _, e := range errors { // without the lock, since the other direction may refuse at the same time
		w.back.inject(now, e)
	}
}

// refuse drops a packet that is too big, and returns the error to be sent back, or nil. It owns pkt.
func (w *wire) refuse(now wheel.Time, pkt *stack.PacketBuffer) *stack.PacketBuffer {
	if w.tap != nil {
		w.tap.Sent(now, &Passing{Direction: w.direction, TooBig: true}, pkt)
	}
	defer pkt.DecRef()
	return tooBig(pkt, w.mtu)
}

// inject has a packet arrive now that the model does not see, in a goroutine of its own: the caller may be the receiver.
func (w *wire) inject(now wheel.Time, pkt *stack.PacketBuffer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		pkt.DecRef()
		return
	}
	w.push(now, pkt, &Passing{Direction: w.direction})
	if !w.busy {
		w.arm()
	}
}

// sendOne owns pkt.
func (w *wire) sendOne(now wheel.Time, pkt *stack.PacketBuffer) {
	size := pkt.Size()
	if w.closed || size == 0 {
		pkt.DecRef()
		return
	}
	model := sim.Packet{Size: uint32(size), ECN: ecnOf(pkt)}
	if w.sent != nil {
		w.sent.note(pkt, &model)
	}
	fate := w.link.Send(now, &model)
	var known *Passing
	if w.tap != nil {
		known = &Passing{Direction: w.direction, Number: w.link.Counts().Packets, Model: model, Fate: fate}
		w.tap.Sent(now, known, pkt)
	}
	if fate.Verdict != sim.Delivered {
		pkt.DecRef()
		return
	}
	if fate.Marked {
		markCE(pkt)
	}
	if fate.Corrupt {
		pkt = corrupted(pkt, fate.Bit)
	}
	w.push(fate.At, pkt, known)
	if fate.Duplicated {
		w.push(fate.At, pkt.Clone(), known)
	}
}

func (w *wire) push(at wheel.Time, pkt *stack.PacketBuffer, known *Passing) {
	w.started++
	w.pending.push(arrival{at, w.started, pkt, known})
}

// run sends on what has arrived, and sets the timer for what is next. It is called with the lock held and releases it.
func (w *wire) run() {
	if w.busy {
		w.mu.Unlock()
		return // whoever is at it looks again before it ends
	}
	w.busy = true
	for pass := 0; pass < maxPasses && !w.closed; pass++ {
		now := w.clock.Now()
		due := w.due[:0]
		for len(w.pending) > 0 && w.pending[0].at <= now {
			due = append(due, w.pending.pop())
		}
		if len(due) == 0 {
			break
		}
		w.mu.Unlock()
		for i := range due {
			if w.tap != nil { // which is to know how late each is, and not only the first
				w.tap.Arrived(w.clock.Now(), due[i].known, due[i].pkt)
			}
			w.out(due[i].pkt)
			due[i].pkt.DecRef()
		}
		clear(due)
		w.mu.Lock()
		w.due = due
	}
	w.busy = false
	w.idle.Broadcast()
	if len(w.pending) > 0 {
		w.arm()
	}
	w.mu.Unlock()
}

// arm sets the timer for the first that is pending.
func (w *wire) arm() {
	at := w.pending[0].at
	if w.timer == nil {
		start := w.clock.AfterFunc
		if w.inline {
			start = w.clock.InlineFunc
		}
		w.timer = start(at.Sub(w.clock.Now()), func() {
			w.mu.Lock()
			w.run()
		})
	} else {
		w.timer.ResetAt(at)
	}
}

// open lets packets onto the wire again after stop.
func (w *wire) open() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = false
}

// stop drops what is on the wire and what is sent from now on. It does not wait.
func (w *wire) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if w.timer != nil {
		w.timer.Stop()
	}
	for _, a := range w.pending {
		a.pkt.DecRef()
	}
	clear(w.pending)
	w.pending = w.pending[:0]
}

// wait returns when no packet is on its way out, after stop for good.
func (w *wire) wait() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.busy {
		w.idle.Wait()
	}
}

// noted reports whether nobody is between reading the clock and telling the tap. It does not wait, as the tap may.
func (w *wire) noted() bool {
	if !w.mu.TryLock() {
		return false
	}
	w.mu.Unlock()
	return true
}

// counts returns what the model has counted.
func (w *wire) counts() sim.LinkCounts {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.link.Counts()
}

// arrival is a packet on the wire.
type arrival struct {
	at  wheel.Time
	n   uint64 // the order of sending: of one instant, the earlier comes first
	pkt *stack.PacketBuffer

	known *Passing // by the tap; nil without one
}

// arrivals are a heap, the next to arrive in front.
type arrivals []arrival

func (h arrivals) before(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].n < h[j].n
}

func (h *arrivals) push(a arrival) {
	*h = append(*h, a)
	s := *h
	for i := len(s) - 1; i > 0 && s.before(i, (i-1)/2); i = (i - 1) / 2 {
		s[i], s[(i-1)/2] = s[(i-1)/2], s[i]
	}
}

func (h *arrivals) pop() arrival {
	s := *h
	first := s[0]
	last := len(s) - 1
	s[0] = s[last]
	s[last] = arrival{}
	s = s[:last]
	for i := 0; ; {
		next := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if s.before(child, next) {
				next = child
			}
		}
		if next == i {
			break
		}
		s[i], s[next] = s[next], s[i]
		i = next
	}
	*h = s
	return first
}

// ecnOf returns the ECN field of a packet of split.
func ecnOf(pkt *stack.PacketBuffer) sim.ECN {
	switch b := pkt.NetworkHeader().Slice(); {
	case len(b) == 0:
		return sim.NotECT // unreadable
	case pkt.NetworkProtocolNumber == header.IPv4ProtocolNumber:
		return sim.ECN(b[1] & 3)
	default:
		return sim.ECN(b[1] >> 4 & 3)
	}
}

// markCE sets the ECN field of a packet of split, whose headers are its own, to CE.
func markCE(pkt *stack.PacketBuffer) {
	b := pkt.NetworkHeader().Slice()
	if pkt.NetworkProtocolNumber == header.IPv6ProtocolNumber {
		b[1] |= 3 << 4
		return
	}
	ip := header.IPv4(b)
	b[1] |= 3
	ip.SetChecksum(0)
	ip.SetChecksum(^ip.CalculateChecksum())
}

// corrupted returns a copy of pkt with one bit flipped, and releases pkt.
func corrupted(pkt *stack.PacketBuffer, bit uint32) *stack.PacketBuffer {
	view := pkt.ToView()
	view.AsSlice()[bit/8] ^= 0x80 >> (bit % 8)
	bad := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithView(view)})
	bad.NetworkProtocolNumber, bad.Hash = pkt.NetworkProtocolNumber, pkt.Hash
	pkt.DecRef()
	return bad
}
