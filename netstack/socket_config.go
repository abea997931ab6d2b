package netstack

import (
	"errors"
	"fmt"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// SocketConfig is what a socket may have of its own, beside gVisor's options: what Config has for all sockets of a stack. Sockets that are
// accepted have that of their listener.
type SocketConfig struct {
	// Policy is all that is to be known about the socket's timers: what is armed, the tick at which they expire, the floor and the ceiling
	// of the RTO (Bounds), delayed ACKs, loss recovery, when to give up. It replaces what the stack's options say of these: TCPMinRTOOption,
	// TCPMaxRTOOption, TCPMaxRetriesOption and TCPRecovery. Its keepalive and FIN-WAIT-2 times do not count: those are the socket's options.
	Policy tcptimers.Policy

	ECN        bool // RFC 3168: offered to the peer, and agreed to
	Pacing     bool // segments are spread over the round trip by a timer
	QuickAck   bool // every segment is acknowledged at once
	VegasCheck bool // tcp.Config.VegasCheck
}

// Check returns an error that names the first field that is out of its bounds, its value and the bounds; nil if c holds.
func (c *SocketConfig) Check() error { return c.Policy.Check() }

// SocketConfig returns what SetSocketConfig has set; else what follows from the stack's configuration and options.
func (e *Endpoint) SocketConfig() SocketConfig {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.opts.own != nil {
		return *e.opts.own
	}
	c := e.p.makeConfig(e.opts, e.fixedRecv, tcp.SocketOptions{}, 1)
	return SocketConfig{Policy: c.Policy, ECN: c.ECN, Pacing: c.Pacing, VegasCheck: c.VegasCheck}
}

// Errors of SetSocketConfig, beside those of SocketConfig.Check.
var (
	// ErrHandshake is returned while the socket connects.
	ErrHandshake = errors.New("netstack: a socket that connects takes no configuration until it is connected")
	// ErrSocketClosed is returned when the socket is closed, or its connection has come to its end.
	ErrSocketClosed = errors.New("netstack: the socket is closed")
	// ErrGranularities is returned when the sockets of the stack have too many ticks already.
	ErrGranularities = fmt.Errorf("netstack: sockets of more than %d ticks", maxGranularities)
)

// SetSocketConfig gives the socket a configuration of its own. An error leaves all as it was; it names what is out of its bounds.
//
// Before Connect and Listen everything may be set. On a listener it is for the connections that come from then on. On a connection that
// is established it takes effect at once, with bounds: RACK stays on or off; ECN can be given up and not be begun; and the policy's tick must
// be a multiple of the one that the connection's wheel has, which was chosen before. Retransmission timers are set anew then, from when
// their segments were sent.
func (e *Endpoint) SetSocketConfig(c SocketConfig) error {
	if err := c.Check(); err != nil {
		return err
	}
	e.mu.Lock()
	switch {
	case e.closed || e.phase == phaseClosed || e.phase == phaseError:
		e.mu.Unlock()
		return ErrSocketClosed
	case e.connecting():
		e.mu.Unlock()
		return ErrHandshake
	case e.phase == phaseConn:
		defer e.kick()
		defer e.mu.Unlock()
		return e.reconfigure(&c)
	}
	defer e.mu.Unlock()
	s, err := e.p.shardFor(&c.Policy)
	if err != nil {
		return err
	}
	if e.phase != phaseListen { // which has no timers, and whose connections find their own
		e.shard = s
	}
	e.setQuietly(func(o *endpointOptions) { o.own = &c })
	return nil
}

// reconfigure has an established connection take a configuration with the next pass.
func (e *Endpoint) reconfigure(c *SocketConfig) error {
	if !e.shard.expresses(&c.Policy) {
		return fmt.Errorf("netstack: tick %v, want a multiple of %v, which the connection's wheel has", c.Policy.WheelTick(), e.shard.ticks.tick)
	}
	opts := *e.opts
	opts.own = c
	cfg := e.p.config(&opts, e.fixedRecv, e.conn.Options(), e.recvBuffer())
	if err := e.conn.CanReconfigure(cfg); err != nil {
		return err
	}
	e.opts = &opts
	e.todo.config, e.todo.options = true, true
	return nil
}

// maxGranularities is how many kinds of ticks the wheels of a stack have at most, that of its configuration among them: each is of memory.
const maxGranularities = 16

// granularity is at which instants the wheels of some shards have their ticks.
type granularity struct {
	tick   time.Duration
	origin wheel.Time
}

func granularityOf(p *tcptimers.Policy) granularity {
	tick := p.WheelTick()
	origin := p.Origin % wheel.Time(tick)
	if origin < 0 {
		origin += wheel.Time(tick)
	}
	return granularity{tick, origin}
}

// expresses reports whether the instants of the policy are ticks of the shard's wheel.
func (s *shard) expresses(p *tcptimers.Policy) bool {
	g := granularityOf(p)
	return g.tick%s.ticks.tick == 0 && g.origin.Sub(s.ticks.origin)%s.ticks.tick == 0
}

// shardFor returns the shard of the next connection under a policy. Policies whose ticks are alike share wheels.
func (p *protocol) shardFor(pol *tcptimers.Policy) (*shard, error) {
	g := granularityOf(pol)
	n := int(p.next.Add(1))
	if p.shards[0].ticks == g {
		return p.shards[n%len(p.shards)], nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, set := range p.others {
		if set[0].ticks == g {
			return set[n%len(set)], nil
		}
	}
	if len(p.others) == maxGranularities-1 {
		return nil, ErrGranularities
	}
	set := make([]*shard, 0, len(p.shards))
	for range p.shards {
		s, err := newShard(p, pol)
		if err != nil {
			return nil, err
		}
		set = append(set, s)
	}
	p.others = append(p.others, set)
	return set[n%len(set)], nil
}

// allShards returns the shards of all granularities.
func (p *protocol) allShards() []*shard {
	p.mu.RLock()
	defer p.mu.RUnlock()
	all := p.shards[:len(p.shards):len(p.shards)]
	for _, set := range p.others {
		all = append(all, set...)
	}
	return all
}
