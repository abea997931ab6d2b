package netstack

import (
	"errors"
	"fmt"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// SocketConfig is the part of Config that a single socket may override. Accepted sockets inherit it
// from their listener.
type SocketConfig struct {
	// Policy replaces the stack's options TCPMinRTOOption, TCPMaxRTOOption, TCPMaxRetriesOption and
	// TCPRecovery for this socket: what is armed, the tick of expiry, the bounds of the RTO, delayed
	// ACKs, loss recovery, when to give up. Its keepalive and FIN-WAIT-2 times have no effect: they
	// are socket options.
	Policy tcptimers.Policy

	ECN        bool // RFC 3168: offer ECN to the peer, and accept its offer
	Pacing     bool // spread segments over the round trip by a timer
	QuickAck   bool // acknowledge each segment at once
	VegasCheck bool // tcp.Config.VegasCheck
}

// Check returns an error that names the first field out of bounds, its value and the bounds.
func (c *SocketConfig) Check() error { return c.Policy.Check() }

// SocketConfig returns the value of SetSocketConfig. Without one it returns what follows from the
// stack's configuration and options.
func (e *Endpoint) SocketConfig() SocketConfig {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.opts.socketConfig != nil {
		return *e.opts.socketConfig
	}
	c := e.p.makeConfig(e.opts, e.recvBufferFixed, tcp.SocketOptions{}, 1)
	return SocketConfig{Policy: c.Policy, ECN: c.ECN, Pacing: c.Pacing, VegasCheck: c.VegasCheck}
}

// Errors of SetSocketConfig, in addition to those of SocketConfig.Check.
var (
	// ErrHandshake is returned while the socket connects.
	ErrHandshake = errors.New("netstack: cannot configure a socket while it connects")
	// ErrSocketClosed is returned when the socket is closed or its connection has ended.
	ErrSocketClosed = errors.New("netstack: socket closed")
	// ErrGranularities is returned when the stack's sockets use too many different ticks.
	ErrGranularities = fmt.Errorf("netstack: sockets use more than %d different ticks", maxGranularities)
)

// SetSocketConfig sets the socket's own configuration. On error nothing changes; the error names
// the field that is out of bounds.
//
// Before Connect and Listen every field may change. On a listener the configuration applies to
// later connections.
//
// On an established connection it takes effect at once, with three limits. RACK stays on or off.
// ECN can be turned off, not on. The policy's tick must be a multiple of the tick of the
// connection's wheel, which was chosen before. Retransmission timers restart from the time their
// segments were sent.
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
	if e.phase != phaseListen { // a listener has no timers; its connections pick their own shards
		e.shard = s
	}
	e.editOptions(func(o *endpointOptions) { o.socketConfig = &c })
	return nil
}

// reconfigure lets the next step reconfigure an established connection.
func (e *Endpoint) reconfigure(c *SocketConfig) error {
	if !e.shard.expresses(&c.Policy) {
		return fmt.Errorf("netstack: tick %v, want a multiple of the connection's tick %v", c.Policy.WheelTick(), e.shard.ticks.tick)
	}
	opts := *e.opts
	opts.socketConfig = c
	cfg := e.p.config(&opts, e.recvBufferFixed, e.conn.Options(), recvBufferOf(&e.ops))
	if err := e.conn.CanReconfigure(cfg); err != nil {
		return err
	}
	e.opts = &opts
	e.calls.config, e.calls.options = true, true
	return nil
}

// maxGranularities bounds the number of different ticks per stack, the configuration's included:
// each needs wheels of its own.
const maxGranularities = 16

// granularity is the tick of a shard's wheel, and its phase.
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

// expresses reports whether the policy's ticks are ticks of the shard's wheel.
func (s *shard) expresses(p *tcptimers.Policy) bool {
	g := granularityOf(p)
	return g.tick%s.ticks.tick == 0 && g.origin.Sub(s.ticks.origin)%s.ticks.tick == 0
}

// shardFor returns the shard of the next connection under a policy. Policies with equal ticks share
// wheels.
func (p *protocol) shardFor(pol *tcptimers.Policy) (*shard, error) {
	g := granularityOf(pol)
	n := int(p.nextShard.Add(1))
	if p.shards[0].ticks == g {
		return p.shards[n%len(p.shards)], nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, set := range p.policyShards {
		if set[0].ticks == g {
			return set[n%len(set)], nil
		}
	}
	if len(p.policyShards) == maxGranularities-1 {
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
	p.policyShards = append(p.policyShards, set)
	return set[n%len(set)], nil
}

// allShards returns the shards of all granularities.
func (p *protocol) allShards() []*shard {
	p.mu.RLock()
	defer p.mu.RUnlock()
	all := p.shards[:len(p.shards):len(p.shards)]
	for _, set := range p.policyShards {
		all = append(all, set...)
	}
	return all
}
