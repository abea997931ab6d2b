package spike

import (
	"net/netip"
	"time"

	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// path is a node between two hosts that delays packets in both directions by half of a round trip,
// which may change. Packets keep their order: after a slow packet, the next arrives with it.
type path struct {
	net        *sim.Network[host.Body]
	rtt        time.Duration
	directions [2]direction // to the server, and to the client
}

// direction is one direction of a path.
type direction struct {
	path  *path
	to    sim.NodeID
	out   sim.LinkID
	timer wheel.Timer
	queue []held
	head  int
	last  wheel.Time // when the last packet of the queue leaves
}

type held struct {
	at wheel.Time
	d  host.Datagram
}

// Receive implements sim.Node.
func (p *path) Receive(now wheel.Time, _ sim.LinkID, d *host.Datagram) {
	for i := range p.directions {
		w := &p.directions[i]
		if d.To != w.to {
			continue
		}
		w.last = max(w.last, now.Add(p.rtt/2))
		w.queue = append(w.queue, held{w.last, *d})
		if len(w.queue)-w.head == 1 {
			p.net.StartTimer(w.timer, w.last)
		}
	}
}

// Expire implements sim.Handler: the head of the queue leaves.
func (w *direction) Expire(now wheel.Time) {
	for ; w.head < len(w.queue) && w.queue[w.head].at <= now; w.head++ {
		w.path.net.Send(w.out, &w.queue[w.head].d)
	}
	if w.head == len(w.queue) {
		w.queue, w.head = w.queue[:0], 0
		return
	}
	w.path.net.StartTimer(w.timer, w.queue[w.head].at)
}

// bed is two hosts with a path between them.
type bed struct {
	world          *host.World
	client, server *host.Host
	path           *path
	record         testbed.Record // of the client
}

// newBed connects two hosts. The server's configuration decides about delayed ACKs.
func newBed(p *Plan, client, server tcp.Config) (*bed, error) {
	w, err := host.NewWorld(sim.Config{Seed: 1})
	if err != nil {
		return nil, err
	}
	w.Verify = true
	b := &bed{world: w, path: &path{net: w.Net, rtt: p.RTT}}
	link := sim.LinkConfig{Rate: uint64(p.Rate), Overhead: 38}
	mid, err := w.Net.AddNode("path", b.path)
	if err != nil {
		return nil, err
	}
	for i, cfg := range []tcp.Config{client, server} {
		engine := tcp.EngineConfig{Conn: cfg, Seed: uint64(i + 1), Key: [16]byte{byte(i + 1)}}
		if i == 0 {
			engine.Trace = &b.record
		}
		h, err := w.NewHost(netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), engine)
		if err != nil {
			return nil, err
		}
		id, err := w.Net.AddNode([]string{"client", "server"}[i], h)
		if err != nil {
			return nil, err
		}
		up, down, err := w.Net.Connect(id, mid, link, sim.LinkConfig{})
		if err == nil {
			err = w.Attach(h, id, up)
		}
		if err != nil {
			return nil, err
		}
		d := &b.path.directions[1-i] // the first leads to the server
		d.path, d.to, d.out = b.path, id, down
		d.timer = w.Net.NewTimer(d)
		if i == 0 {
			b.client = h
		} else {
			b.server = h
		}
	}
	return b, nil
}
