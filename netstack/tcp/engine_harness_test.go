package tcp

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Addresses for the engine tests, from the documentation ranges.
var (
	engineServer = netip.MustParseAddrPort("192.0.2.1:80")
	engineClient = netip.MustParseAddrPort("198.51.100.7:40000")
)

func engineConfig() EngineConfig {
	policy, err := tcptimers.NewPolicy("internet")
	if err != nil {
		panic(err)
	}
	return EngineConfig{Conn: DefaultConfig(policy), Key: [16]byte{1, 2, 3}, Seed: 7}
}

func newTestEngine(t testing.TB, change func(*EngineConfig)) *Engine {
	t.Helper()
	cfg := engineConfig()
	if change != nil {
		change(&cfg)
	}
	e, err := NewEngine(0, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func engineListen(t testing.TB, e *Engine, cfg ListenConfig) *Listener {
	t.Helper()
	l, err := e.Listen(engineServer, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// engineSegment is a segment from the client to the server.
func engineSegment(flags Flags, seq, ack Seq, n uint32) *Packet {
	return &Packet{
		Src: engineClient, Dst: engineServer, Len: n,
		Header: Header{Seq: seq, Ack: ack, Flags: flags, Window: 65535},
	}
}

// engineSYN is a SYN from a client port with the usual options.
func engineSYN(port uint16, seq Seq) *Packet {
	p := engineSegment(SYN, seq, 0, 0)
	p.Src = netip.AddrPortFrom(engineClient.Addr(), port)
	p.Header.Options = Options{HasMSS: true, MSS: 1460, HasWScale: true, WScale: 7, SACKPermitted: true, HasTimestamps: true, TSVal: 1000}
	return p
}

// engineText formats a segment like "R. 0:0 ack 1001".
func engineText(p *Packet) string {
	s := fmt.Sprintf("%v %d:%d", p.Header.Flags, p.Header.Seq, p.Header.Seq.Add(p.Len))
	if p.Header.Flags.Has(ACK) {
		s += fmt.Sprintf(" ack %d", p.Header.Ack)
	}
	return s
}

func engineTexts(e *Engine) string {
	var all []string
	for i := range e.Packets() {
		all = append(all, engineText(&e.Packets()[i]))
	}
	return strings.Join(all, "; ")
}

func engineCheck(t testing.TB, e *Engine) {
	t.Helper()
	if err := e.Check(); err != nil {
		t.Fatal(err)
	}
}

// engineHandshake opens a connection to a server with crafted segments. It returns the server's
// connection and the client's next sequence number. port is the client's.
func engineHandshake(t testing.TB, e *Engine, now wheel.Time, port uint16, iss Seq) (s *Socket, sndNxt, rcvNxt Seq) {
	t.Helper()
	e.Reset()
	syn := engineSYN(port, iss)
	s, _ = e.Input(now, syn)
	if s == nil || len(e.Packets()) != 1 || !e.Packets()[0].Header.Flags.Has(SYN|ACK) {
		t.Fatalf("SYN from port %d: answered by %q, want a SYN-ACK", port, engineTexts(e))
	}
	synAck := e.Packets()[0].Header
	e.Reset()
	ack := engineSegment(ACK, iss+1, synAck.Seq+1, 0)
	ack.Src = syn.Src
	ack.Header.Options = Options{HasTimestamps: true, TSVal: 1001, TSEcr: synAck.Options.TSVal}
	got, _ := e.Input(now, ack)
	if got != s || s.Conn().State() != StateEstablished {
		t.Fatalf("ACK from port %d: %v, want ESTABLISHED", port, s.Conn().State())
	}
	return s, iss + 1, synAck.Seq + 1
}

// enginePair is two engines connected by a wire, on one clock. Applications read data at once.
type enginePair struct {
	t       *testing.T
	now     wheel.Time
	delay   time.Duration
	engines [2]*Engine // client, server
	lose    func(n int, p *Packet) bool
	sent    int
	wire    []engineFlight
	events  map[*Socket]Events
	log     []string
	checked bool // call Engine.Check after each step
	quiet   bool // log nothing
}

type engineFlight struct {
	at wheel.Time
	to int
	p  Packet
}

func newEnginePair(t *testing.T, client, server func(*EngineConfig)) *enginePair {
	t.Helper()
	return &enginePair{
		t: t, delay: 10 * time.Millisecond, events: map[*Socket]Events{}, checked: true,
		engines: [2]*Engine{newTestEngine(t, client), newTestEngine(t, server)},
	}
}

func (p *enginePair) client() *Engine { return p.engines[0] }
func (p *enginePair) server() *Engine { return p.engines[1] }

// drain takes the packets and notices of both engines.
func (p *enginePair) drain() {
	for busy := true; busy; {
		busy = false
		for i, e := range p.engines {
			packets, notices := slices.Clone(e.Packets()), slices.Clone(e.Notices())
			e.Reset()
			for k := range packets {
				busy = true
				lost := p.lose != nil && p.lose(p.sent, &packets[k])
				p.sent++
				mark := ""
				if lost {
					mark = " lost"
				}
				if !p.quiet {
					p.log = append(p.log, fmt.Sprintf("%v %d> %s%s", p.now, i, engineText(&packets[k]), mark))
				}
				if !lost {
					p.wire = append(p.wire, engineFlight{p.now.Add(p.delay), 1 - i, packets[k]})
				}
			}
			for _, n := range notices {
				busy = true
				p.events[n.Socket] |= n.Events
				if unread := n.Socket.conn.rcv.user; unread > 0 {
					e.Consumed(p.now, n.Socket, unread)
				}
			}
			if p.checked {
				engineCheck(p.t, e)
			}
		}
	}
}

// run advances time to until, or until nothing is left to do.
func (p *enginePair) run(until wheel.Time) {
	p.t.Helper()
	for steps := 0; ; steps++ {
		if steps > 1_000_000 {
			p.t.Fatalf("at %v: the engines never come to rest", p.now)
		}
		p.drain()
		next := until + 1
		for i := range p.wire {
			next = min(next, p.wire[i].at)
		}
		for _, e := range p.engines {
			if at, ok := e.NextTimeout(); ok {
				next = min(next, max(at, p.now))
			}
		}
		if next > until {
			p.now = max(p.now, until)
			return
		}
		p.now = next
		for _, e := range p.engines {
			e.Advance(p.now)
		}
		p.drain()
		for i := 0; i < len(p.wire); i++ {
			if f := p.wire[i]; f.at <= p.now {
				p.wire = slices.Delete(p.wire, i, i+1)
				i--
				p.engines[f.to].Input(p.now, &f.p)
				p.drain()
			}
		}
	}
}

// connect opens a connection and returns both of its sockets.
func (p *enginePair) connect(l *Listener) (client, server *Socket) {
	p.t.Helper()
	client, err := p.client().Dial(p.now, netip.AddrPortFrom(engineClient.Addr(), 0), engineServer, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	p.run(p.now.Add(4 * p.delay))
	server, ok := l.Accept()
	if !ok {
		p.t.Fatalf("nothing to accept; on the wire:\n%s", strings.Join(p.log, "\n"))
	}
	return client, server
}

func mustEnd(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }
