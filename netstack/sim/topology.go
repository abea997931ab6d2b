package sim

import (
	"fmt"

	"tcpwheel/wheel"
)

// TopologyConfig configures a network of senders that share a bottleneck.
//
//	dumbbell   s1 ─┐                      ┌─ r1      each sender has a receiver
//	           s2 ─┴─ left ═══════ right ─┴─ r2
//
//	star       s1 ─┐                                 incast: all send to one receiver
//	           s2 ─┴─ hub ═══════ r1
type TopologyConfig struct {
	Kind    string // "dumbbell" or "star"
	Senders int    // 1 to 100,000

	// Access are the hosts' links, in both directions. Hosts take them in turn: s1 and r1 the
	// first. An empty list is links without effect.
	Access []LinkConfig

	// Bottleneck leads towards the receivers, Return back. A nil Return is Bottleneck.
	Bottleneck LinkConfig
	Return     *LinkConfig
}

const maxSenders = 100_000

// Check returns an error that names the first field out of bounds, its value and the bound.
func (t *TopologyConfig) Check() error {
	if t.Kind != "dumbbell" && t.Kind != "star" {
		return fmt.Errorf("sim: topology kind %q, want dumbbell or star", t.Kind)
	}
	if t.Senders < 1 || t.Senders > maxSenders {
		return fmt.Errorf("sim: topology senders %d, want 1 to %d", t.Senders, maxSenders)
	}
	for i := range t.Access {
		if err := t.Access[i].Check(); err != nil {
			return fmt.Errorf("access %d: %w", i, err)
		}
	}
	if err := t.Bottleneck.Check(); err != nil {
		return fmt.Errorf("bottleneck: %w", err)
	}
	if t.Return != nil {
		if err := t.Return.Check(); err != nil {
			return fmt.Errorf("return: %w", err)
		}
	}
	return nil
}

// Receivers returns the number of receivers: one for each sender, or one in a star.
func (t *TopologyConfig) Receivers() int {
	if t.Kind == "star" {
		return 1
	}
	return t.Senders
}

// Topology is what Build made. SenderOut and ReceiverOut are the links by which the hosts send.
type Topology struct {
	Senders, Receivers         []NodeID
	SenderOut, ReceiverOut     []LinkID
	Bottleneck, BottleneckBack LinkID // towards the receivers, and back
}

// Build adds nodes "s1", "s2", …, "r1", …, routers and links to an empty network. The lengths of
// senders and receivers must match the configuration. Routers forward by Datagram.To.
func Build[P any](n *Network[P], plan TopologyConfig, senders, receivers []Node[P]) (*Topology, error) {
	if err := plan.Check(); err != nil {
		return nil, err
	}
	if len(n.nodes) != 0 {
		return nil, fmt.Errorf("sim: topology in a network of %d nodes, want 0", len(n.nodes))
	}
	if len(senders) != plan.Senders || len(receivers) != plan.Receivers() {
		return nil, fmt.Errorf("sim: topology of %d senders and %d receivers, want %d and %d",
			len(senders), len(receivers), plan.Senders, plan.Receivers())
	}
	w := &builder[P]{net: n, plan: plan}
	b := &Topology{}
	if plan.Kind == "star" {
		hub := w.router("hub")
		for i, node := range senders {
			id, out := w.end(fmt.Sprintf("s%d", i+1), node, hub, i)
			b.Senders, b.SenderOut = append(b.Senders, id), append(b.SenderOut, out)
		}
		id := w.node("r1", receivers[0])
		b.Bottleneck, b.BottleneckBack = w.bottleneck(hub.id, id)
		hub.router.Route(id, b.Bottleneck)
		b.Receivers, b.ReceiverOut = []NodeID{id}, []LinkID{b.BottleneckBack}
		return b, w.err
	}
	left, right := w.router("left"), w.router("right")
	b.Bottleneck, b.BottleneckBack = w.bottleneck(left.id, right.id)
	for i := range senders {
		s, sOut := w.end(fmt.Sprintf("s%d", i+1), senders[i], left, i)
		r, rOut := w.end(fmt.Sprintf("r%d", i+1), receivers[i], right, i)
		left.router.Route(r, b.Bottleneck)
		right.router.Route(s, b.BottleneckBack)
		b.Senders, b.SenderOut = append(b.Senders, s), append(b.SenderOut, sOut)
		b.Receivers, b.ReceiverOut = append(b.Receivers, r), append(b.ReceiverOut, rOut)
	}
	return b, w.err
}

// builder builds a topology. It keeps the first error.
type builder[P any] struct {
	net  *Network[P]
	plan TopologyConfig
	err  error
}

type routerNode[P any] struct {
	id     NodeID
	router *Router[P]
}

func (w *builder[P]) keep(err error) {
	if w.err == nil {
		w.err = err
	}
}

// node adds a node without AddNode's linear check of names: there may be many nodes.
func (w *builder[P]) node(name string, to Node[P]) NodeID {
	if to == nil {
		panic("BUG: sim: nil node")
	}
	w.net.nodes = append(w.net.nodes, node[P]{name, to})
	return NodeID(len(w.net.nodes) - 1)
}

func (w *builder[P]) router(name string) routerNode[P] {
	r := NewRouter(w.net)
	return routerNode[P]{w.node(name, r), r}
}

// end adds host number i of its kind behind a router.
func (w *builder[P]) end(name string, to Node[P], at routerNode[P], i int) (NodeID, LinkID) {
	var access LinkConfig
	if len(w.plan.Access) > 0 {
		access = w.plan.Access[i%len(w.plan.Access)]
	}
	id := w.node(name, to)
	out, in, err := w.net.Connect(id, at.id, access, access)
	w.keep(err)
	at.router.Route(id, in)
	return id, out
}

func (w *builder[P]) bottleneck(a, b NodeID) (there, by LinkID) {
	back := w.plan.Bottleneck
	if w.plan.Return != nil {
		back = *w.plan.Return
	}
	there, by, err := w.net.Connect(a, b, w.plan.Bottleneck, back)
	w.keep(err)
	return there, by
}

// Router is a node that forwards each datagram by its To, at once. Its links do the queueing.
type Router[P any] struct {
	net      *Network[P]
	routes   []LinkID // link + 1 by node; 0 is no route
	unrouted uint64
}

// NewRouter makes a router without routes.
func NewRouter[P any](n *Network[P]) *Router[P] { return &Router[P]{net: n} }

// Route sends datagrams for node to over link via.
func (r *Router[P]) Route(to NodeID, via LinkID) {
	for int(to) >= len(r.routes) {
		r.routes = append(r.routes, 0)
	}
	r.routes[to] = via + 1
}

// Unrouted returns the number of datagrams dropped for lack of a route.
func (r *Router[P]) Unrouted() uint64 { return r.unrouted }

// Receive implements Node.
func (r *Router[P]) Receive(_ wheel.Time, _ LinkID, d *Datagram[P]) {
	if int(d.To) >= len(r.routes) || r.routes[d.To] == 0 {
		r.unrouted++
		return
	}
	r.net.Send(r.routes[d.To]-1, d)
}
