package testbed

import (
	"io"
	"time"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/virtual"
	"tcpwheel/wheel"
)

// StackStar is a Star whose servers are the connections of one gVisor stack, each behind its own
// link. The client is in another stack.
type StackStar struct {
	*Stacks
	access [2][]*sim.Link // of the servers: to the switch, and from it
	middle [2]*sim.Link   // the port to the client, and the link back
}

// starPort is the client's port of the first connection of a StackStar.
const starPort = 10000

// NewStackStar makes a StackStar. Its servers run subject in the place of p.Server, and nothing is
// traced.
func NewStackStar(p StarPlan, subject *Subject) (s *StackStar, err error) {
	key := Key(p.Seed, uint64(p.Servers))
	link := func(cfg sim.LinkConfig, parts ...uint64) *sim.Link {
		l, failed := sim.NewLink(cfg, Key(key, parts...))
		if failed != nil {
			err = failed
		}
		return l
	}
	s = &StackStar{Stacks: &Stacks{}, middle: [2]*sim.Link{link(p.Port, 0), link(p.Back, 1)}}
	for i := range p.Servers {
		for direction := range s.access {
			s.access[direction] = append(s.access[direction], link(p.Access, 2+uint64(direction), uint64(i)))
		}
	}
	if err != nil {
		return nil, err
	}
	return s, s.make(virtual.Config{Seed: p.Seed, Wire: s, TCP: [2]virtual.TCP{
		DialEnd: {Config: netstack.Config{Conn: p.Client}}, ListenEnd: subject.Stack(),
	}}, false)
}

// Dropped returns the packets that the port to the client has dropped.
func (s *StackStar) Dropped() uint64 { return s.middle[0].Counts().QueueDropped }

func (s *StackStar) connect(f *FanIn, a *Asker) error {
	a.left = len(s.access[0])
	a.later = func(at wheel.Time) {
		s.Net.Clock.AfterFunc(max(1, at.Sub(s.Net.Now())), func() { a.Expire(s.Net.Now()) })
	}
	s.Serve(func(c *sockets.Conn) error {
		request, response := make([]byte, f.Request), make([]byte, f.Response)
		for {
			if _, err := io.ReadFull(c, request); err != nil {
				return err
			}
			s.Net.Tasks.Sleep(max(1, f.service(a, int(c.RemoteAddrPort().Port()-starPort))))
			if _, err := c.Write(response); err != nil {
				return err
			}
		}
	})
	a.ask = make([]func(), a.left)
	for i := range a.ask {
		s.Dial(starPort+uint16(i), func(c *sockets.Conn) error {
			a.ask[i] = func() { s.Write(c, int(f.Request)) }
			a.arrived(s.Net.Now())
			conn := askerConn{asker: a}
			return Discard(c, func(n int) { conn.got(s.Net.Now(), uint64(n)) })
		})
	}
	return nil
}

func (s *StackStar) timeouts() []uint64 { return []uint64{s.Net.Counts(ListenEnd).Timeouts} }

func (s *StackStar) run(until wheel.Time, done func() bool) error { return s.Run(until, done) }

// Send implements virtual.Wire. Each server has a link to the switch, and the client has one.
func (s *StackStar) Send(now wheel.Time, from int, p *virtual.Packet) (time.Duration, bool) {
	if from == DialEnd {
		return pass(now, s.middle[1], p)
	}
	return pass(now, s.access[0][p.Header.DstPort-starPort], p)
}

// Forward implements virtual.Relay: all servers share the port to the client.
func (s *StackStar) Forward(now wheel.Time, from int, p *virtual.Packet) (time.Duration, bool) {
	if from == DialEnd {
		return pass(now, s.access[1][p.Header.SrcPort-starPort], p)
	}
	return pass(now, s.middle[0], p)
}

// Arrive implements virtual.Wire.
func (s *StackStar) Arrive(wheel.Time, int, *virtual.Packet) bool { return true }
