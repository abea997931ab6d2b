package netstack

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/header/parse"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/raw"
	"gvisor.dev/gvisor/pkg/waiter"

	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
)

// ProtocolNumber is TCP's.
const ProtocolNumber = header.TCPProtocolNumber

// Config is what the protocol is made by.
type Config struct {
	// Conn is what connections are made by, until an option of the protocol or of a socket says otherwise. RecvBuffer,
	// RecvBufferMax and Socket do not count: they follow from the options, which have gVisor's defaults.
	Conn tcp.Config

	Shards int // wheels; 0 is one per processor

	Causes bool // packets tell the link which timers made them leave: see Causes

	// Verify has each pass over a connection end with a check of its invariants, and panic if one does not hold. It is for tests: a
	// pass costs O(segments in flight) then.
	CheckInvariants bool
}

// DefaultConfig returns the configuration of NewProtocol: policy per-segment, CUBIC.
func DefaultConfig() Config {
	return Config{Conn: tcp.DefaultConfig(tcptimers.MustPolicy(tcptimers.DefaultPolicy))}
}

// NewProtocol makes the protocol for a stack, as gVisor's tcp.NewProtocol does.
func NewProtocol(s *stack.Stack) stack.TransportProtocol {
	p, err := newProtocol(s, DefaultConfig())
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return p
}

// NewProtocolWith returns what makes the protocol with a configuration. An error names the field that is out of its bounds.
func NewProtocolWith(cfg Config) (stack.TransportProtocolFactory, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return func(s *stack.Stack) stack.TransportProtocol {
		p, err := newProtocol(s, cfg)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		return p
	}, nil
}

func (c *Config) check() error {
	if c.Shards < 0 || c.Shards > 1024 {
		return fmt.Errorf("netstack: shards %d, want 0..1024", c.Shards)
	}
	return c.Conn.Check()
}

// protocol is TCP in one stack.
type protocol struct {
	stack  *stack.Stack
	stats  tcpip.TCPStats // the stack's
	conn   tcp.Config
	secret tcp.Secret
	limit  *challenges
	verify bool
	shards []*shard
	causes bool
	next   atomic.Uint32 // the shard of the next connection
	crew   crew

	defaults atomic.Pointer[endpointOptions] // of the sockets that were made last

	parallel bool // there is more than one processor, and the order of what happens need not be the same each time

	mu      sync.RWMutex
	opts    protocolOptions
	others  [][]*shard    // with wheels of other ticks, for sockets with a policy of their own
	configs []*tcp.Config // those that connections were made by last
}

var (
	_ stack.TransportProtocol = (*protocol)(nil)
	_ stack.SendBufSizeProto  = (*protocol)(nil)
)

func newProtocol(s *stack.Stack, cfg Config) (*protocol, error) {
	p := &protocol{stack: s, stats: s.Stats().TCP, conn: cfg.Conn, causes: cfg.Causes, verify: cfg.CheckInvariants}
	if !isVirtual(s.Clock()) {
		p.parallel = runtime.GOMAXPROCS(0) > 1
	}
	p.crew.most = runtime.GOMAXPROCS(0)
	p.opts.init(&cfg.Conn)
	var key [16]byte
	rng := s.SecureRNG()
	if _, err := rng.Reader.Read(key[:]); err != nil {
		return nil, fmt.Errorf("netstack: random numbers: %w", err)
	}
	p.secret = tcp.NewSecret(key)
	p.limit = newChallenges(uint64(s.InsecureRNG().Int63()))
	n := cfg.Shards
	if n == 0 {
		n = runtime.GOMAXPROCS(0)
	}
	for range n {
		sh, err := newShard(p, &p.conn.Policy)
		if err != nil {
			return nil, err
		}
		p.shards = append(p.shards, sh)
	}
	return p, nil
}

// isVirtual reports whether a clock is a VirtualClock, a view of one, or has one embedded.
func isVirtual(c tcpip.Clock) bool {
	_, ok := c.(interface{ SetSettle(settle func()) })
	return ok
}

// Number implements stack.TransportProtocol.
func (*protocol) Number() tcpip.TransportProtocolNumber { return ProtocolNumber }

// NewEndpoint implements stack.TransportProtocol.
func (p *protocol) NewEndpoint(net tcpip.NetworkProtocolNumber, wq *waiter.Queue) (tcpip.Endpoint, tcpip.Error) {
	return p.newEndpoint(net, wq), nil
}

// NewRawEndpoint implements stack.TransportProtocol.
func (p *protocol) NewRawEndpoint(net tcpip.NetworkProtocolNumber, wq *waiter.Queue) (tcpip.Endpoint, tcpip.Error) {
	return raw.NewEndpoint(p.stack, net, ProtocolNumber, wq)
}

// MinimumPacketSize implements stack.TransportProtocol.
func (*protocol) MinimumPacketSize() int { return header.TCPMinimumSize }

// ParsePorts implements stack.TransportProtocol.
func (*protocol) ParsePorts(b []byte) (src, dst uint16, err tcpip.Error) {
	h := header.TCP(b)
	return h.SourcePort(), h.DestinationPort(), nil
}

// Parse implements stack.TransportProtocol.
func (*protocol) Parse(pkt *stack.PacketBuffer) bool { return parse.TCP(pkt) }

// HandleUnknownDestinationPacket answers a segment to a port that nobody has. As in gVisor, what is wrong with it is the stack's to count.
func (p *protocol) HandleUnknownDestinationPacket(id stack.TransportEndpointID, pkt *stack.PacketBuffer) stack.UnknownDestinationPacketDisposition {
	var seg segment
	if seg.parse(pkt) != faultless {
		return stack.UnknownDestinationPacketMalformed
	}
	p.refuse(id, &seg, pkt)
	return stack.UnknownDestinationPacketHandled
}

// Close implements stack.TransportProtocol: no timer expires after it. The stack has aborted its endpoints before: their RSTs have left
// when Close returns, also those of connections that others are running, so that the links can be closed.
func (p *protocol) Close() {
	for _, e := range p.stack.RegisteredEndpoints() {
		e.Wait()
	}
	for _, s := range p.allShards() {
		s.close()
	}
}

// Wait, Pause, Resume and Restore implement stack.TransportProtocol. No goroutine outlasts what it is there to do, so that there
// is none to wait for or to pause.
func (*protocol) Wait()    {}
func (*protocol) Pause()   {}
func (*protocol) Resume()  {}
func (*protocol) Restore() {}

// Counters returns what all connections of a stack have counted, which is more than its Stats tell. It reports false if the stack's
// TCP is another. What a connection counts while Counters runs may be missing.
func Counters(s *stack.Stack) (c tcp.Counters, ok bool) {
	p, ok := s.TransportProtocolInstance(ProtocolNumber).(*protocol)
	if !ok {
		return c, false
	}
	for _, sh := range p.allShards() {
		sh.mu.Lock()
		for _, pass := range sh.spare {
			c.Add(&pass.out.Counters)
		}
		sh.mu.Unlock()
	}
	return c, true
}
