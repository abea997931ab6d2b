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

// Direction is a direction of an emulated link.
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

// LinkPacket is what an emulated link knows of a packet.
type LinkPacket struct {
	Direction Direction
	// Number counts the packets of the direction that the model saw, from 1. It is 0 for others.
	Number uint64
	TooBig bool // larger than LinkOptions.PathMTU: dropped before the model
	// Model is the packet as the model saw it, with its place in its TCP stream: see LinkOptions.
	Model sim.Packet
	Fate  sim.Fate
}

// Tap observes all packets of an emulated link. now is the time of the link's clock. Its methods
// must not keep the packet or call back into the link. Calls for one direction do not overlap;
// calls for different directions may.
type Tap interface {
	// Sent is called in sending order, before the link marks the packet or flips its bits.
	Sent(now wheel.Time, p *LinkPacket, pkt *stack.PacketBuffer)
	// Arrived is called in order of arrival, just before a packet leaves the link, and twice for a
	// duplicated packet. A packet without a number comes from the link itself: an ICMP error for a
	// packet that was too big.
	Arrived(now wheel.Time, p *LinkPacket, pkt *stack.PacketBuffer)
}

// LinkOptions configure an emulated link.
type LinkOptions struct {
	// There and Back are the models of the two directions. For the loss model sim.LostRanges, each TCP
	// stream counts its bytes from 0, the byte after its SYN; a FIN counts as a byte.
	There, Back sim.LinkConfig

	// PathMTU is the largest packet, in bytes, that the link carries; 0 is no limit. A larger packet
	// is dropped. If it must not be fragmented (IPv4 with DF, and IPv6), its sender gets an ICMP error
	// at once, as from a router next to it.
	PathMTU int

	// Seed is the source of all randomness, as in sim.Config: the n-th packet of a direction meets the
	// same fate in each run. Which packet is the n-th depends on real time.
	Seed uint64

	// Clock drives the link. Packets arrive at its ticks, never early; without delay they arrive at
	// once. The caller owns it and must keep it open while the link is in use. Links may share one.
	Clock *wheel.Realtime

	// Tap observes all packets. It may be nil.
	Tap Tap
}

// wires makes both directions.
func (o *LinkOptions) wires(out [2]func(*stack.PacketBuffer)) (w [2]*wire, err error) {
	if o.PathMTU < 0 || o.PathMTU > 0 && o.PathMTU < minMTU {
		return w, fmt.Errorf("tun: path MTU %d, want 0, or %d or more", o.PathMTU, minMTU)
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
	_, ok := l.(sim.LostRanges)
	return ok
}

// wire is one direction of an emulated link: sim.Link in real time. Multiple goroutines may invoke
// its methods.
//
// Packets leave in order of arrival. The goroutine that set busy delivers them, without holding the
// lock: a sender whose packet is due at once, or the goroutine of the timer.
type wire struct {
	direction Direction
	clock     *wheel.Realtime
	tap       Tap
	out       func(*stack.PacketBuffer) // does not take over the reference
	// inline lets packets leave in the clock's goroutine, because out does not wait.
	inline bool
	mtu    int   // 0 is no limit
	back   *wire // the other direction, for ICMP errors

	mu      sync.Mutex
	idle    sync.Cond // busy became false
	link    *sim.Link
	sent    *transmissions // nil if neither a tap nor a loss model needs it
	pending arrivals
	started uint64 // packets that were ever pending
	due     []arrival
	timer   *wheel.RealtimeTimer // for the first of pending; nil before its first use
	busy    bool
	closed  bool
}

// maxPasses is how often a sender looks for packets that are due before it leaves the rest to the
// timer.
const maxPasses = 16

// send puts pkt on the wire, cut into the packets that a wire carries. It does not take over the
// reference.
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
	// Without the lock: the other direction may refuse a packet at the same time
	for _, e := range errors {
		w.back.inject(now, e)
	}
}

// refuse drops a packet that is too big and returns the ICMP error for its sender, or nil. It owns
// pkt.
func (w *wire) refuse(now wheel.Time, pkt *stack.PacketBuffer) *stack.PacketBuffer {
	if w.tap != nil {
		w.tap.Sent(now, &LinkPacket{Direction: w.direction, TooBig: true}, pkt)
	}
	defer pkt.DecRef()
	return tooBig(pkt, w.mtu)
}

// inject makes a packet arrive now, without the model. It arrives in another goroutine, because the
// caller may be its receiver.
func (w *wire) inject(now wheel.Time, pkt *stack.PacketBuffer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		pkt.DecRef()
		return
	}
	w.push(now, pkt, &LinkPacket{Direction: w.direction})
	if !w.busy {
		w.arm()
	}
}

// sendOne passes one packet to the model. It owns pkt.
func (w *wire) sendOne(now wheel.Time, pkt *stack.PacketBuffer) {
	size := pkt.Size()
	if w.closed || size == 0 {
		pkt.DecRef()
		return
	}
	model := sim.Packet{Size: uint32(size), ECN: ecnOf(pkt)}
	if w.sent != nil {
		w.sent.annotate(pkt, &model)
	}
	fate := w.link.Send(now, &model)
	var known *LinkPacket
	if w.tap != nil {
		known = &LinkPacket{Direction: w.direction, Number: w.link.Counts().Packets, Model: model, Fate: fate}
		w.tap.Sent(now, known, pkt)
	}
	if fate.Outcome != sim.Delivered {
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

func (w *wire) push(at wheel.Time, pkt *stack.PacketBuffer, known *LinkPacket) {
	w.started++
	w.pending.push(arrival{at, w.started, pkt, known})
}

// run delivers the packets that have arrived and sets the timer for the next. It is called with the
// lock held and releases it.
func (w *wire) run() {
	if w.busy {
		w.mu.Unlock()
		return // the goroutine that set busy looks again before it ends
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
			if w.tap != nil { // read the clock for each packet, for its lateness
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

// arm sets the timer for the first pending packet.
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

// stop drops the packets on the wire and all that are sent later. It does not wait.
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

// wait returns when no packet is being delivered, after stop for good.
func (w *wire) wait() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.busy {
		w.idle.Wait()
	}
}

// tapCaughtUp reports whether no sender is between reading the clock and calling the tap. It does
// not wait, because the tap may call it.
func (w *wire) tapCaughtUp() bool {
	if !w.mu.TryLock() {
		return false
	}
	w.mu.Unlock()
	return true
}

// counts returns the model's counters.
func (w *wire) counts() sim.LinkCounts {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.link.Counts()
}

// arrival is a packet on the wire.
type arrival struct {
	at  wheel.Time
	n   uint64 // sending order, for packets that arrive at the same time
	pkt *stack.PacketBuffer

	known *LinkPacket // for the tap; nil without one
}

// arrivals is a heap, the next arrival in front.
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

// markCE sets the ECN field of a packet of split to CE. split has given the packet headers of its
// own.
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

// corrupted returns a copy of pkt with one bit flipped. It releases pkt.
func corrupted(pkt *stack.PacketBuffer, bit uint32) *stack.PacketBuffer {
	view := pkt.ToView()
	view.AsSlice()[bit/8] ^= 0x80 >> (bit % 8)
	bad := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithView(view)})
	bad.NetworkProtocolNumber, bad.Hash = pkt.NetworkProtocolNumber, pkt.Hash
	pkt.DecRef()
	return bad
}
