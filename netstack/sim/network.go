package sim

import (
	"fmt"
	"slices"
	"strings"

	"tcpwheel/wheel"
)

// NodeID numbers the nodes of a network from 0, in the order of AddNode.
type NodeID uint32

// LinkID numbers the directions of links of a network from 0, in the order of Connect.
type LinkID uint32

// Datagram is a packet with its payload, on its path from one node to another.
type Datagram[P any] struct {
	Packet
	From, To NodeID // the ends of the whole path; links ignore them
	Body     P
}

// Node receives the datagrams that arrive over links.
type Node[P any] interface {
	// Receive takes a datagram that arrives over via at now. d is valid until Receive returns;
	// Receive may change it and send it on. It may call all methods of the network except Run and
	// Step.
	Receive(now wheel.Time, via LinkID, d *Datagram[P])
}

// Handler is called by a timer of the network.
type Handler interface {
	// Expire handles the expiry at now. It may call all methods of the network except Run and Step.
	Expire(now wheel.Time)
}

// Tap observes a link. It must not call the network, and must not keep or change d.
type Tap[P any] interface {
	// Sent is called for each datagram that enters the link, before it is marked or changed.
	Sent(now wheel.Time, d *Datagram[P], f Fate)

	// Arrived is called for each arrival, before the node's Receive.
	Arrived(now wheel.Time, d *Datagram[P])
}

// Config configures a network.
type Config struct {
	// Seed determines all random draws.
	Seed uint64

	// Scheme names the clock, one of ClockSchemes. The default is "scheme3", the heap: only the
	// first datagram of a link has a timer, so timers are few. Use "scheme7" if thousands of
	// datagrams overtake others. The tick is 1 ns. Hashed wheels are slow here, as they wake up in
	// every rotation of a few microseconds.
	Scheme string
}

// ClockSchemes returns the schemes of package wheel that a network may use. They expire timers on
// their own tick, timers of one tick in START order, and need no real clock.
func ClockSchemes() []string {
	return slices.DeleteFunc(wheel.Schemes(), func(name string) bool { return slices.Contains(unfitSchemes, name) })
}

// unfitSchemes are packed wheels (no START order), wheels that round deadlines, and Go's timers.
var unfitSchemes = []string{"scheme6", "scheme6-eager", "scheme7-lazy", "scheme7-nomigration", "scheme7-onemigration", "runtime"}

// Network is nodes, links and one virtual clock, which starts at 0. It is not safe for concurrent
// use.
type Network[P any] struct {
	seed  uint64
	clock wheel.Facility
	now   wheel.Time
	ran   uint64

	nodes []node[P]
	links []wire[P]
	names map[string]LinkID

	chunks [][]overtaker[P] // by number; a chunk never moves
	free   []uint32

	handlers     []Handler
	freeHandlers []uint32

	expire func(wheel.Timer) // made once: Advance then does not allocate
}

type node[P any] struct {
	name string
	node Node[P]
}

// wire is a link with the datagrams on it. Datagrams in order wait in a ring. Only the first has a
// timer, so the clock holds few timers even on a long link.
type wire[P any] struct {
	link *Link
	name string
	to   NodeID
	tap  Tap[P]

	timer   wheel.Timer
	ring    []arrival[P] // a power of two
	head, n uint32       // if handling, the one at head is being handled
	last    wheel.Time   // arrival of the last one in the ring

	handling bool
}

type arrival[P any] struct {
	at wheel.Time
	d  Datagram[P]
}

// overtaker is a datagram that overtakes others. Its timer's owner is its number.
type overtaker[P any] struct {
	d     Datagram[P]
	via   LinkID
	timer wheel.Timer
}

const chunkSize = 256

// A timer's owner is the number of a link, an overtaker or a handler. The low two bits say which.
const (
	ofOvertaker = 1 + iota // 0 is a link
	ofHandler
	ownerBits = 2
)

// NewNetwork makes an empty network. It fails if cfg.Scheme is not one of ClockSchemes.
func NewNetwork[P any](cfg Config) (*Network[P], error) {
	if cfg.Scheme == "" {
		cfg.Scheme = "scheme3"
	}
	if schemes := ClockSchemes(); !slices.Contains(schemes, cfg.Scheme) {
		return nil, fmt.Errorf("sim: scheme %q, want one of %s", cfg.Scheme, strings.Join(schemes, ", "))
	}
	clock, err := wheel.New(cfg.Scheme, wheel.Config{Tick: 1})
	if err != nil {
		return nil, err
	}
	n := &Network[P]{seed: cfg.Seed, clock: clock, names: map[string]LinkID{}}
	n.expire = n.event
	return n, nil
}

// AddNode adds a node. Its name is part of the names of its links, and so determines their draws.
func (n *Network[P]) AddNode(name string, to Node[P]) (NodeID, error) {
	if to == nil {
		panic("BUG: sim: nil node")
	}
	if name == "" || slices.ContainsFunc(n.nodes, func(other node[P]) bool { return other.name == name }) {
		return 0, fmt.Errorf("sim: node name %q, want one that is not empty and not taken", name)
	}
	n.nodes = append(n.nodes, node[P]{name, to})
	return NodeID(len(n.nodes) - 1), nil
}

// Connect links a to b and b to a. The links are named "a>b" and "b>a" after their nodes; a second
// pair gets the suffix "#2", and so on. On error nothing changes.
func (n *Network[P]) Connect(a, b NodeID, there, back LinkConfig) (ab, ba LinkID, err error) {
	if int(a) >= len(n.nodes) || int(b) >= len(n.nodes) || a == b {
		return 0, 0, fmt.Errorf("sim: link between nodes %d and %d, want two different ones of %d", a, b, len(n.nodes))
	}
	suffix := ""
	base := n.nodes[a].name + ">" + n.nodes[b].name
	reverse := n.nodes[b].name + ">" + n.nodes[a].name
	for k := 2; ; k++ {
		if _, taken := n.names[base+suffix]; !taken {
			break
		}
		suffix = fmt.Sprintf("#%d", k)
	}
	hops := [2]wire[P]{{name: base + suffix, to: b}, {name: reverse + suffix, to: a}}
	for i, cfg := range [2]LinkConfig{there, back} {
		if hops[i].link, err = NewLink(cfg, LinkKey(n.seed, hops[i].name)); err != nil {
			return 0, 0, fmt.Errorf("%s: %w", hops[i].name, err)
		}
	}
	ab = LinkID(len(n.links))
	ba = ab + 1
	for i := range hops {
		hops[i].timer = n.clock.New(uint64(ab+LinkID(i)) << ownerBits) // owner type 0: a link
	}
	n.names[hops[0].name], n.names[hops[1].name] = ab, ba
	n.links = append(n.links, hops[0], hops[1])
	return ab, ba, nil
}

// Tap sets the tap of a link. It replaces an earlier one; nil removes it.
func (n *Network[P]) Tap(via LinkID, t Tap[P]) { n.links[via].tap = t }

// Link returns the link of that number, for its counters and queue. Do not call its Send.
func (n *Network[P]) Link(via LinkID) *Link { return n.links[via].link }

// LinkName returns the name of a link, such as "a>b".
func (n *Network[P]) LinkName(via LinkID) string { return n.links[via].name }

// LinkNamed returns the link of that name.
func (n *Network[P]) LinkNamed(name string) (LinkID, bool) {
	via, ok := n.names[name]
	return via, ok
}

// Now returns the virtual time.
func (n *Network[P]) Now() wheel.Time { return n.now }

// Events returns the number of arrivals and expiries so far.
func (n *Network[P]) Events() uint64 { return n.ran }

// InFlight returns the number of datagrams on links, duplicates included.
func (n *Network[P]) InFlight() int {
	sum := len(n.chunks)*chunkSize - len(n.free)
	for i := range n.links {
		sum += int(n.links[i].n)
	}
	return sum
}

// Send sends a copy of d over the link, now, and returns its fate. It allocates only when more
// datagrams are in flight than ever before. It panics if Link.Send would.
func (n *Network[P]) Send(via LinkID, d *Datagram[P]) (f Fate) {
	h := &n.links[via]
	h.link.send(n.now, &d.Packet, &f)
	if h.tap != nil {
		h.tap.Sent(n.now, d, f)
	}
	if f.Outcome == Delivered {
		n.schedule(via, d, &f)
		if f.Duplicated {
			n.schedule(via, d, &f)
		}
	}
	return f
}

func (n *Network[P]) schedule(via LinkID, d *Datagram[P], f *Fate) {
	h := &n.links[via]
	var slot *Datagram[P]
	if h.n == 0 || f.At >= h.last {
		if int(h.n) == len(h.ring) {
			h.grow()
		}
		a := &h.ring[(h.head+h.n)&uint32(len(h.ring)-1)]
		h.n++
		a.at, h.last = f.At, f.At
		if h.n == 1 || h.n == 2 && h.handling {
			n.clock.Schedule(h.timer, f.At)
		}
		slot = &a.d
	} else {
		if len(n.free) == 0 {
			n.grow()
		}
		i := n.free[len(n.free)-1]
		n.free = n.free[:len(n.free)-1]
		s := n.overtaker(i)
		s.via = via
		n.clock.Schedule(s.timer, f.At)
		slot = &s.d
	}
	*slot = *d
	if f.Marked {
		slot.ECN = CE
	}
	if f.Corrupt {
		slot.Corrupt, slot.Bit = true, f.Bit
	}
}

// grow doubles the ring. It keeps a datagram that is being handled in place.
func (h *wire[P]) grow() {
	ring := make([]arrival[P], max(16, 2*len(h.ring)))
	for i := range h.n {
		ring[i] = h.ring[(h.head+i)&uint32(len(h.ring)-1)]
	}
	h.ring, h.head = ring, 0
}

func (n *Network[P]) overtaker(i uint32) *overtaker[P] { return &n.chunks[i/chunkSize][i%chunkSize] }

func (n *Network[P]) grow() {
	first := uint32(len(n.chunks) * chunkSize)
	chunk := make([]overtaker[P], chunkSize)
	n.chunks = append(n.chunks, chunk)
	for k := range chunk {
		chunk[k].timer = n.clock.New(uint64(first+uint32(k))<<ownerBits | ofOvertaker)
		n.free = append(n.free, first+chunkSize-1-uint32(k)) // the lowest number is used first
	}
}

// NewTimer makes a stopped timer that calls h.
func (n *Network[P]) NewTimer(h Handler) wheel.Timer {
	i := uint32(len(n.handlers))
	if last := len(n.freeHandlers) - 1; last >= 0 {
		i = n.freeHandlers[last]
		n.freeHandlers = n.freeHandlers[:last]
		n.handlers[i] = h
	} else {
		n.handlers = append(n.handlers, h)
	}
	return n.clock.New(uint64(i)<<ownerBits | ofHandler)
}

// FreeTimer stops and releases a timer of NewTimer.
func (n *Network[P]) FreeTimer(t wheel.Timer) {
	i := uint32(n.clock.Owner(t) >> ownerBits)
	n.clock.Free(t)
	n.handlers[i] = nil
	n.freeHandlers = append(n.freeHandlers, i)
}

// StartTimer arms t to expire at that instant. If that has passed, t expires now, after the events
// that were already scheduled for now. A running timer is moved behind all others of its instant.
// It costs O(1) and does not allocate.
func (n *Network[P]) StartTimer(t wheel.Timer, at wheel.Time) { n.clock.Schedule(t, at) }

// StopTimer stops t and reports whether it was running.
func (n *Network[P]) StopTimer(t wheel.Timer) bool { return n.clock.Stop(t) }

// event handles one expiry of the clock.
func (n *Network[P]) event(t wheel.Timer) {
	n.now = n.clock.Now()
	n.ran++
	owner := n.clock.Owner(t)
	i := uint32(owner >> ownerBits)
	switch owner & (1<<ownerBits - 1) {
	case ofHandler:
		n.handlers[i].Expire(n.now)
	case ofOvertaker:
		s := n.overtaker(i)
		n.arrive(s.via, &s.d)
		n.free = append(n.free, i)
	default:
		h := &n.links[i]
		a := &h.ring[h.head]
		if h.n > 1 {
			n.clock.Schedule(t, h.ring[(h.head+1)&uint32(len(h.ring)-1)].at)
		}
		h.handling = true
		n.arrive(LinkID(i), &a.d)
		h = &n.links[i] // links may have been added
		h.handling = false
		h.head = (h.head + 1) & uint32(len(h.ring)-1)
		h.n--
	}
}

// arrive delivers a datagram to the node at the end of the link.
func (n *Network[P]) arrive(via LinkID, d *Datagram[P]) {
	h := &n.links[via]
	if h.tap != nil {
		h.tap.Arrived(n.now, d)
	}
	n.nodes[h.to].node.Receive(n.now, via, d)
}

// Run handles all events up to and including until, and leaves the clock there. It returns their
// number. It never returns if nodes answer each other at once over links without delay or rate.
func (n *Network[P]) Run(until wheel.Time) uint64 {
	before := n.ran
	for {
		at, ok := n.clock.NextWakeup()
		if !ok || at > until {
			break
		}
		n.clock.Advance(at, 0, n.expire)
	}
	if until > n.now {
		n.clock.Advance(until, 0, n.expire)
		n.now = until
	}
	return n.ran - before
}

// Step handles the next event and moves the clock there. It returns false if there is none.
func (n *Network[P]) Step() bool {
	for {
		at, ok := n.clock.NextWakeup()
		if !ok {
			return false
		}
		if k, _ := n.clock.Advance(at, 1, n.expire); k > 0 {
			return true
		}
	}
}
