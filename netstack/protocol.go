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
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"

	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
)

// ProtocolNumber is TCP's number, 6.
const ProtocolNumber = header.TCPProtocolNumber

// Config configures the protocol. Its zero value is not valid; start from DefaultConfig.
type Config struct {
	// Conn configures connections, unless an option of the protocol or of a socket overrides it.
	// RecvBuffer, RecvBufferMax and Socket have no effect: they follow from the options, whose
	// defaults are gVisor's.
	Conn tcp.Config

	// SYNCookies says when listeners answer SYNs with cookies. The default is when too many
	// connections are half-open. MaxSynRcvd is how many may be, for each listener; 0 is its backlog
	// less one.
	SYNCookies tcp.SYNCookies
	MaxSynRcvd int

	// MaxTimeWait is how many connections may be in TIME-WAIT. More close at once. 0 is 1<<18.
	MaxTimeWait int

	// ChallengeLimit is how many challenge ACKs the stack sends in a second, about. 0 is 1000.
	ChallengeLimit int

	// Buffers is how many bytes the buffers of all connections may hold, 1 MiB or more. Above two thirds
	// of it send buffers do not grow; above it connections that make no progress are closed: see
	// BufferUse. 0 is 3/32 of the memory that the process may use, or no bound on a VirtualClock.
	Buffers int64

	Shards int // wheels, 0 to 1024; 0 is one per CPU
	Slots  int // of each wheel, a power of two up to 2^24; 0 is wheel.Config's default

	// Causes attaches to each packet the timers that caused it: see func Causes.
	Causes bool

	// TimerEvents, if not nil, is called for each change of a connection's timer, in order for each
	// wheel, with the wheel locked. It must return soon and must not call the stack, this package or
	// methods of the Endpoint.
	TimerEvents func(TimerEvent)

	// NoWorkers runs bulk connections like others, in the goroutines of their callers and of the
	// clock. Otherwise a pool of goroutines runs them, one per CPU.
	NoWorkers bool

	// CheckInvariants checks the invariants of a connection after each step, and panics if one does
	// not hold. It is for tests: a step then costs O(segments in flight).
	CheckInvariants bool
}

// DefaultConfig returns the configuration of NewProtocol: policy per-segment, CUBIC, and
// LateOriginals. As in gVisor's TCP, a SYN is retransmitted six times and an unreachable destination
// ends a handshake.
//
// DEVIATION RFC 9293 §3.8.3 (MUST-23): a SYN is given up after 127 s, as in Linux, not three
// minutes.
func DefaultConfig() Config {
	c := Config{Conn: tcp.DefaultConfig(tcptimers.MustPolicy(tcptimers.DefaultPolicy))}
	c.Conn.ICMPEndsHandshake, c.Conn.LateOriginals = true, true
	c.Conn.Policy.SynR2 = synR2(gtcp.DefaultSynRetries, c.Conn.Policy.Bounds)
	return c
}

// NewProtocol makes the protocol for a stack, with gVisor's default of congestion control replaced
// by CUBIC. It has the shape of gVisor's tcp.NewProtocol.
func NewProtocol(s *stack.Stack) stack.TransportProtocol {
	p, err := newProtocol(s, DefaultConfig())
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return p
}

// NewProtocolWith returns a factory for the protocol with a configuration. The error names the
// field that is out of bounds.
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
	if c.Slots < 0 || c.Slots > 1<<24 || c.Slots&(c.Slots-1) != 0 {
		return fmt.Errorf("netstack: slots %d, want a power of two up to 2^24, or 0", c.Slots)
	}
	switch {
	case c.SYNCookies > tcp.CookiesAlways:
		return fmt.Errorf("netstack: SYN cookies %d, want 0..%d", c.SYNCookies, tcp.CookiesAlways)
	case c.MaxSynRcvd < 0:
		return fmt.Errorf("netstack: half-open connections %d, want 0 or more", c.MaxSynRcvd)
	case c.MaxTimeWait < 0:
		return fmt.Errorf("netstack: connections in TIME-WAIT %d, want 0 or more", c.MaxTimeWait)
	case c.Buffers != 0 && c.Buffers < leastBuffers:
		return fmt.Errorf("netstack: buffers of %d bytes, want %d or more, or 0", c.Buffers, leastBuffers)
	case c.ChallengeLimit < 0:
		return fmt.Errorf("netstack: challenge ACKs %d, want 0 or more", c.ChallengeLimit)
	}
	return c.Conn.Check()
}

// protocol is TCP in one stack.
type protocol struct {
	stack           *stack.Stack
	stats           tcpip.TCPStats // the stack's
	conn            tcp.Config
	secret          tcp.Secret
	challengeLimit  *challengeLimiter
	checkInvariants bool
	synCookies      tcp.SYNCookies
	maxSynRcvd      int
	maxTimeWait     int64
	states          [tcp.StateTimeWait + 1]atomic.Int64 // connections by state
	listeners       sync.Map                            // of *Endpoint
	shards          []*shard
	causes          bool
	timerEvents     func(TimerEvent)
	slots           int
	nextShard       atomic.Uint32 // index of the next connection's shard
	workers         workerPool
	timeWaits       timeWaits
	memory          bufferMemory

	defaults atomic.Pointer[endpointOptions] // options of the last new socket

	virtual  bool // the stack's clock is a VirtualClock
	idle     idleSignal
	parallel bool // more than one CPU, and workers are allowed: runs need not be deterministic

	strayMu sync.Mutex   // taken last
	strays  tcp.Counters // of segments of no connection

	mu           sync.RWMutex
	opts         protocolOptions
	policyShards [][]*shard    // with other ticks, for sockets with their own policy
	configs      []*tcp.Config // the latest configurations of connections
}

var (
	_ stack.TransportProtocol = (*protocol)(nil)
	_ stack.SendBufSizeProto  = (*protocol)(nil)
)

func newProtocol(s *stack.Stack, cfg Config) (*protocol, error) {
	p := &protocol{
		stack: s, stats: s.Stats().TCP, conn: cfg.Conn,
		causes: cfg.Causes, timerEvents: cfg.TimerEvents, slots: cfg.Slots, checkInvariants: cfg.CheckInvariants,
		synCookies: cfg.SYNCookies, maxSynRcvd: cfg.MaxSynRcvd, maxTimeWait: int64(cfg.MaxTimeWait),
	}
	if p.maxTimeWait == 0 {
		p.maxTimeWait = 1 << 18
	}
	p.virtual = isVirtual(s.Clock())
	if p.memory.limit = cfg.Buffers; p.memory.limit == 0 && !p.virtual {
		p.memory.limit = defaultBuffers()
	}
	p.parallel = !p.virtual && !cfg.NoWorkers && runtime.GOMAXPROCS(0) > 1
	p.workers.max = runtime.GOMAXPROCS(0)
	p.opts.init(&cfg.Conn)
	var key [16]byte
	rng := s.SecureRNG()
	if _, err := rng.Reader.Read(key[:]); err != nil {
		return nil, fmt.Errorf("netstack: random numbers: %w", err)
	}
	p.secret = tcp.NewSecret(key)
	p.challengeLimit = newChallengeLimiter(cfg.ChallengeLimit, uint64(s.InsecureRNG().Int63()))
	p.timeWaits.init(p)
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

// isVirtual reports whether a clock is a VirtualClock, a view of one, or embeds one.
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

// HandleUnknownDestinationPacket implements stack.TransportProtocol: it answers a segment without
// an endpoint. As in gVisor, the stack counts malformed ones.
func (p *protocol) HandleUnknownDestinationPacket(id stack.TransportEndpointID, pkt *stack.PacketBuffer) stack.UnknownDestinationPacketDisposition {
	var seg segment
	if seg.parse(pkt) != noFault {
		return stack.UnknownDestinationPacketMalformed
	}
	seg.arrived = p.now()
	if p.timeWaits.input(&id, &seg, false) {
		p.countReceived(&seg)
		return stack.UnknownDestinationPacketHandled
	}
	p.count(func(c *tcp.Counters) { c.InSegs++ })
	p.resetStray(pkt.NICID, pkt.NetworkProtocolNumber, id, &seg)
	return stack.UnknownDestinationPacketHandled
}

// Close implements stack.TransportProtocol. No timer expires after it. The stack has aborted its
// endpoints before. Close waits until their RSTs have left, so that links can be closed.
func (p *protocol) Close() {
	for _, e := range p.stack.RegisteredEndpoints() {
		e.Wait()
	}
	p.timeWaits.close()
	for _, s := range p.allShards() {
		s.close()
	}
}

// Wait, Pause, Resume and Restore implement stack.TransportProtocol. They do nothing: the
// protocol's goroutines end with their work.
func (*protocol) Wait()    {}
func (*protocol) Pause()   {}
func (*protocol) Resume()  {}
func (*protocol) Restore() {}

// Counters returns the sum of the counters of all connections of a stack. There are more of them
// than in the stack's Stats. ok is false if the stack's TCP is not this package's. Steps that run
// at the same time may be missing.
func Counters(s *stack.Stack) (c tcp.Counters, ok bool) {
	p, ok := s.TransportProtocolInstance(ProtocolNumber).(*protocol)
	if !ok {
		return c, false
	}
	for _, sh := range p.allShards() {
		sh.mu.Lock()
		for _, pass := range sh.freeScratch {
			c.Add(&pass.out.Counters)
		}
		sh.mu.Unlock()
	}
	p.timeWaits.mu.Lock()
	c.Add(&p.timeWaits.out.Counters)
	p.timeWaits.mu.Unlock()
	p.count(func(s *tcp.Counters) { c.Add(s) })
	return c, true
}

// count lets f count a segment of no connection.
func (p *protocol) count(f func(*tcp.Counters)) {
	p.strayMu.Lock()
	defer p.strayMu.Unlock()
	f(&p.strays)
}
