package sim

import (
	"fmt"
	"slices"
	"strings"

	"tcpwheel/wheel"
)

// NodeID is the number of a node of one network, from 0 in the order of AddNode.
type NodeID uint32

// LinkID is the number of one direction of a link of one network, from 0 in the order of Connect.
type LinkID uint32

// Datagram is a packet with what it carries, on its way from one node to another.
type Datagram[P any] struct {
	Packet
	From, To NodeID // the ends of the whole way; links do not look at them
	Body     P
}

// Node is what links lead to.
type Node[P any] interface {
	// Receive takes the datagram that arrives over via at now. d is valid until Receive returns; it may be changed, and
	// sent on. Receive may call all methods of the network but Run and Step.
	Receive(now wheel.Time, via LinkID, d *Datagram[P])
}

// Handler is what a timer of the network calls.
type Handler interface {
	// Expire handles the expiry at now. What Receive may call, it may.
	Expire(now wheel.Time)
}

// Tap sees what passes a link. It must not call the network, and must not keep or change d.
type Tap[P any] interface {
	// Sent is called for each datagram that is handed to the link, before any mark is set on it.
	Sent(now wheel.Time, d *Datagram[P], f Fate)

	// Arrived is called for each arrival, before the node's Receive.
	Arrived(now wheel.Time, d *Datagram[P])
}

// Config is the plan of a network beside its nodes and links.
type Config struct {
	// Seed is where all randomness comes from.
	Seed uint64 `json:"seed"`

	// Scheme names the facility of package wheel that is the clock: "scheme3" by default, the heap, since only the first
	// datagram of a link has a timer, and few timers are what a heap is for; "scheme7" where thousands of them overtake others.
	// Its tick is 1 ns. Hashed wheels are slow here: they wake up in each rotation of a few microseconds.
	Scheme string `json:"scheme,omitempty"`
}

// ClockSchemes returns the names that Config.Scheme may have: those of wheel.Schemes that expire timers on their tick, and
// those of a tick in START order, and that need no real clock.
func ClockSchemes() []string {
	return slices.DeleteFunc(wheel.Schemes(), func(name string) bool { return slices.Contains(unfitSchemes, name) })
}

// unfitSchemes are the packed wheels (no START order), those that round to coarser units, and Go's own timers.
var unfitSchemes = []string{"scheme6", "scheme6-eager", "scheme7-nomigration", "scheme7-onemigration", "runtime"}

// Network is nodes, links and one virtual clock, which begins at 0. It is not safe for concurrent use.
type Network[P any] struct {
	seed  uint64
	clock wheel.Facility
	now   wheel.Time
	ran   uint64

	nodes []node[P]
	links []wire[P]
	names map[string]LinkID

	chunks [][]overtaker[P] // datagrams on their way that overtake others; a chunk never moves
	free   []uint32

	handlers     []Handler
	freeHandlers []uint32

	expire func(wheel.Timer) // made once, so that an Advance does not allocate
}

type node[P any] struct {
	name string
	node Node[P]
}

// wire is a link with what is on it. Datagrams that arrive in the order in which they were sent wait in a ring, of which only
// the first has a timer: it is soon due, wherever the end of the link is.
type wire[P any] struct {
	link *Link
	name string
	to   NodeID
	tap  Tap[P]

	timer   wheel.Timer
	ring    []arrival[P] // a power of two
	head, n uint32       // the one at head is being handled, if handling
	last    wheel.Time   // when the last one in the ring arrives

	handling bool
}

type arrival[P any] struct {
	at wheel.Time
	d  Datagram[P]
}

// overtaker is a datagram that overtakes others. Its timer carries its number.
type overtaker[P any] struct {
	d     Datagram[P]
	via   LinkID
	timer wheel.Timer
}

const chunkSize = 256

// The owner of a timer is a link's, a flight's or a handler's number, behind two bits that tell which.
const (
	ofFlight = 1 + iota // 0 is of a link
	ofHandler
	ownerBits = 2
)

// NewNetwork makes an empty network. It fails for a scheme that is not one of ClockSchemes.
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

// AddNode adds a node. The name is for people, and part of the names of the node's links, whose draws depend on it.
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

// Connect links a to b and b to a. The links are named "a>b" and "b>a" after their nodes; further ones between the same
// nodes get "#2" and so on behind that. It changes nothing if it returns an error.
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
		hops[i].timer = n.clock.New(uint64(ab+LinkID(i)) << ownerBits) // 0: of a link
	}
	n.names[hops[0].name], n.names[hops[1].name] = ab, ba
	n.links = append(n.links, hops[0], hops[1])
	return ab, ba, nil
}

// Tap has t see what passes the link, instead of an earlier tap; nil takes it off.
func (n *Network[P]) Tap(via LinkID, t Tap[P]) { n.links[via].tap = t }

// Link returns the link of that number, for its counters and its queue. To call its Send is to send nothing anywhere.
func (n *Network[P]) Link(via LinkID) *Link { return n.links[via].link }

// LinkName returns the name of a link, as in "a>b".
func (n *Network[P]) LinkName(via LinkID) string { return n.links[via].name }

// LinkNamed returns the link of that name.
func (n *Network[P]) LinkNamed(name string) (LinkID, bool) {
	via, ok := n.names[name]
	return via, ok
}

// NodeName returns the name of a node.
func (n *Network[P]) NodeName(id NodeID) string { return n.nodes[id].name }

// Now returns the virtual time.
func (n *Network[P]) Now() wheel.Time { return n.now }

// Events returns how many arrivals and expiries there were so far.
func (n *Network[P]) Events() uint64 { return n.ran }

// InFlight returns how many datagrams are on links, copies counted.
func (n *Network[P]) InFlight() int {
	sum := len(n.chunks)*chunkSize - len(n.free)
	for i := range n.links {
		sum += int(n.links[i].n)
	}
	return sum
}

// Send hands a copy of d to the link, at the virtual time, and returns its fate. It allocates only when more datagrams are
// on their way than ever before. It panics on a size that Link.Send refuses.
func (n *Network[P]) Send(via LinkID, d *Datagram[P]) Fate {
	h := &n.links[via]
	f := h.link.Send(n.now, &d.Packet)
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
		s := n.flight(i)
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

// grow doubles the ring. A datagram that is being handled stays where it is too.
func (h *wire[P]) grow() {
	ring := make([]arrival[P], max(16, 2*len(h.ring)))
	for i := range h.n {
		ring[i] = h.ring[(h.head+i)&uint32(len(h.ring)-1)]
	}
	h.ring, h.head = ring, 0
}

func (n *Network[P]) flight(i uint32) *overtaker[P] { return &n.chunks[i/chunkSize][i%chunkSize] }

func (n *Network[P]) grow() {
	first := uint32(len(n.chunks) * chunkSize)
	chunk := make([]overtaker[P], chunkSize)
	n.chunks = append(n.chunks, chunk)
	for k := range chunk {
		chunk[k].timer = n.clock.New(uint64(first+uint32(k))<<ownerBits | ofFlight)
		n.free = append(n.free, first+chunkSize-1-uint32(k)) // the lowest is taken first
	}
}

// NewTimer makes a timer of the network that calls h. It is not running.
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

// FreeTimer stops a timer that NewTimer made, and gives it back.
func (n *Network[P]) FreeTimer(t wheel.Timer) {
	i := uint32(n.clock.Owner(t) >> ownerBits)
	n.clock.Free(t)
	n.handlers[i] = nil
	n.freeHandlers = append(n.freeHandlers, i)
}

// StartTimer has t expire at that instant, or as soon as all events of now are through that were scheduled before, if it
// has passed. A running timer is moved, and stands behind all others of its instant. O(1), without allocation.
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
	case ofFlight:
		s := n.flight(i)
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

// arrive hands a datagram to the node at the end of the link.
func (n *Network[P]) arrive(via LinkID, d *Datagram[P]) {
	h := &n.links[via]
	if h.tap != nil {
		h.tap.Arrived(n.now, d)
	}
	n.nodes[h.to].node.Receive(n.now, via, d)
}

// Run handles all events up to until, that instant included, and leaves the clock there. It returns how many there were.
// Nodes that answer at once over links without delay or rate keep it at one instant for ever.
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

// Step handles the next event, and reports whether there was one. The clock is then at its instant.
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
