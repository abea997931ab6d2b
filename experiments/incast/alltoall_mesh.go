package incast

import (
	"fmt"
	"net/netip"
	"time"

	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// sharedSwitch forwards datagrams to ports that share its memory. A port may hold α times the free
// memory (A. Choudhury and E. Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet
// Switches", IEEE/ACM Transactions on Networking 6(2), 1998).
type sharedSwitch struct {
	net      *sim.Network[host.Body]
	ports    map[sim.NodeID]*sharedPort
	all      []*sharedPort
	rate     float64 // bit/ns
	overhead int
	memory   int
	alpha    float64
	used     int
	dropped  int
	fullest  int
}

// sharedPort is a port and the packets that wait at it.
type sharedPort struct {
	via     sim.LinkID // of the same rate, so that it sends when the port does
	held    int        // bytes
	waiting []leaving
	free    wheel.Time // when the last packet has left
}

type leaving struct {
	at   wheel.Time
	size int
}

// Receive implements sim.Node.
func (s *sharedSwitch) Receive(now wheel.Time, _ sim.LinkID, d *host.Datagram) {
	for _, p := range s.all {
		for len(p.waiting) > 0 && p.waiting[0].at <= now {
			p.held -= p.waiting[0].size
			s.used -= p.waiting[0].size
			p.waiting = p.waiting[1:]
		}
	}
	p, size := s.ports[d.To], int(d.Size)
	if s.used+size > s.memory || float64(p.held+size) > float64(s.alpha*float64(s.memory-s.used)) {
		s.dropped++
		return
	}
	p.free = max(p.free, now).Add(time.Duration(float64(8*(size+s.overhead)) / s.rate))
	p.waiting = append(p.waiting, leaving{p.free, size})
	p.held, s.used = p.held+size, s.used+size
	s.fullest = max(s.fullest, p.held)
	s.net.Send(p.via, d)
}

// meshPort is the port of all servers; the client's port names the client.
const (
	meshPort       = 80
	meshClientPort = 10000
)

// mesh is hosts that ask each other around a sharedSwitch.
type mesh struct {
	plan  *meshPlan
	cell  *meshCell
	key   uint64
	world *host.World
	hosts []*host.Host
	timed []bool // by client: its query has a timeout
	err   error
}

// runMesh runs the queries of a cell.
func runMesh(p *meshPlan, timers testbed.Timers, c meshCell) (meshCell, error) {
	w, err := host.NewWorld(sim.Config{Seed: uint64(c.Seed)})
	if err != nil {
		return c, err
	}
	m := &mesh{plan: p, cell: &c, key: testbed.Key(uint64(c.Seed), 0xe25), world: w, timed: make([]bool, p.Hosts)}
	s := &sharedSwitch{net: w.Net, ports: map[sim.NodeID]*sharedPort{}, rate: float64(p.Rate) / 1e9,
		overhead: p.Overhead, memory: p.Memory, alpha: c.Alpha}
	hub, err := w.Net.AddNode("switch", s)
	if err != nil {
		return c, err
	}
	conn := timers.Config()
	conn.Socket.NoDelay = true
	conn.Congestion.InitialWindow = uint32(p.Window)
	link := sim.LinkConfig{Rate: uint64(p.Rate), Overhead: uint32(p.Overhead), Delay: p.RoundTrip / 4}
	for i := range p.Hosts {
		if err := m.join(i, conn, hub, s, link); err != nil {
			return c, err
		}
	}
	for i := range m.hosts {
		if err := m.dial(i); err != nil {
			return c, err
		}
	}
	for m.err == nil && c.Queries < p.Queries*p.Hosts {
		if !w.Net.Step() || w.Net.Now() > wheel.Time(time.Hour) {
			return c, fmt.Errorf("%d of %d queries in %v", c.Queries, p.Queries*p.Hosts, time.Duration(w.Net.Now()))
		}
	}
	if faults := w.Faults(); m.err == nil && len(faults) > 0 {
		m.err = faults[0]
	}
	c.Dropped, c.Fullest = s.dropped, s.fullest
	return c, m.err
}

// join adds host i.
func (m *mesh) join(i int, conn tcp.Config, hub sim.NodeID, s *sharedSwitch, link sim.LinkConfig) error {
	h, err := m.world.NewHost(netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), tcp.EngineConfig{
		Conn: conn, Seed: testbed.Key(m.key, uint64(i)), Key: [16]byte{0: byte(i), 1: byte(m.cell.Seed), 2: 25},
		Trace: m,
	})
	if err != nil {
		return err
	}
	id, err := m.world.Net.AddNode(fmt.Sprintf("h%d", i+1), h)
	if err != nil {
		return err
	}
	up, down, err := m.world.Net.Connect(id, hub, link, link)
	if err != nil {
		return err
	}
	port := &sharedPort{via: down}
	s.ports[id], s.all = port, append(s.all, port)
	m.hosts = append(m.hosts, h)
	server := 0
	if err := h.Listen(meshPort, tcp.ListenConfig{Backlog: m.plan.Hosts}, func() host.App {
		server++
		key, answers := testbed.Key(m.key, uint64(i), uint64(server)), uint64(0)
		return &testbed.Answerer{Exchange: m.exchange(), Service: func() time.Duration {
			answers++
			return time.Duration(testbed.Uniform(key, answers) * float64(m.plan.Service))
		}}
	}); err != nil {
		return err
	}
	return m.world.Attach(h, id, up)
}

func (m *mesh) exchange() testbed.Exchange {
	return testbed.Exchange{Net: m.world.Net, Request: uint32(m.plan.Request), Response: uint32(m.plan.Bytes)}
}

// dial connects client i to all others.
func (m *mesh) dial(i int) error {
	a := &testbed.Asker{Exchange: m.exchange(), Begin: func() { m.timed[i] = false },
		Fail: func(err error) { m.err = err }}
	a.Think = func() time.Duration {
		return time.Duration(testbed.Uniform(m.key, 1, uint64(i), uint64(a.Asked)) * float64(m.plan.Think))
	}
	a.Done = func(took time.Duration) {
		if p := m.plan; a.Asked <= p.Warmup || a.Asked > p.Warmup+p.Queries {
			return
		}
		m.cell.Queries++
		m.cell.Took += took
		if m.timed[i] {
			m.cell.Timed++
		}
	}
	return a.Dial(len(m.hosts)-1, func(j int, app host.App) (*host.Session, error) {
		if j >= i {
			j++
		}
		return m.hosts[i].DialFrom(meshClientPort+uint16(i), m.hosts[j], meshPort, nil, app)
	})
}

// Trace implements tcp.Tracer: it notes the client whose query has a timeout.
func (m *mesh) Trace(ev *tcp.TraceEvent) {
	if ev.Kind == tcp.TraceSent && ev.Len > 0 && ev.Timed && ev.Timer == tcptimers.Rexmit {
		if client := int(ev.Header.DstPort) - meshClientPort; client >= 0 && client < len(m.timed) {
			m.timed[client] = true
		}
	}
}
