package host

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"tcpwheel/internal/setting"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// FlowsConfig is a scenario of bulk flows between hosts. The zero value of a field is its default.
type FlowsConfig struct {
	Seed uint64

	// Pairs is the number of host pairs that share the bottleneck, as a dumbbell, up to 4096. 0 and
	// 1 are one pair, linked directly by the bottleneck. Flows use the pairs in turn.
	Pairs int
	Flows int // 1 to 1,000,000

	Bytes    uint64        // of each flow; 0 is no limit
	Stagger  time.Duration // the flows start evenly spaced over this time
	Duration time.Duration // limit of virtual time, above 0

	Link   sim.LinkConfig  // the bottleneck, towards the receivers
	Return *sim.LinkConfig // and back; nil is Link without its loss
	Access sim.LinkConfig  // between a dumbbell's hosts and the bottleneck

	Policy string // see tcp.ParseConfig; "" is tcptimers.DefaultPolicy
	Rexmit string // "per-segment", "restart" or "rto-restart"; "" is the policy's own
	Scheme string // of the engines' wheels; "" is wheel.Default

	Control string // congestion control; "" is cubic
	Pacing  bool
	ECN     bool
	NoSACK  bool
	MTU     int // 0 is 1500
	Buffer  int // fixed receive buffer, bytes; 0 is automatic, up to 64 MiB
	IPv6    bool
	Verify  bool // sets World.Verify
}

const maxFlows = 1_000_000

// Check returns an error that names the first field out of bounds, its value and the bound.
func (p *FlowsConfig) Check() error {
	switch {
	case p.Pairs < 0 || p.Pairs > 4096:
		return fmt.Errorf("host: pairs %d, want 0 to 4096", p.Pairs)
	case p.Flows < 1 || p.Flows > maxFlows:
		return fmt.Errorf("host: flows %d, want 1 to %d", p.Flows, maxFlows)
	case p.Flows > max(p.Pairs, 1)*(lastEphemeral-firstEphemeral):
		return fmt.Errorf("host: flows %d, want %d at most for each of %d pairs", p.Flows, lastEphemeral-firstEphemeral, max(p.Pairs, 1))
	case p.Stagger < 0 || p.Stagger > p.Duration:
		return fmt.Errorf("host: stagger %v, want 0s to the duration, %v", p.Stagger, p.Duration)
	case p.Duration <= 0 || p.Duration > 24*365*time.Hour:
		return fmt.Errorf("host: duration %v, want more than 0s to 8760h", p.Duration)
	case p.Scheme != "" && !slices.Contains(wheel.Schemes(), p.Scheme):
		return fmt.Errorf("host: scheme %q, want one of %q", p.Scheme, wheel.Schemes())
	}
	cfg, err := p.engine()
	if err != nil {
		return err
	}
	if err := cfg.Conn.Check(); err != nil {
		return err
	}
	if path := (tcp.Path{MTU: cfg.MTU, IPv6: p.IPv6}); cfg.MTU != 0 {
		if err := path.Check(); err != nil {
			return err
		}
	}
	for _, l := range []struct {
		name string
		cfg  *sim.LinkConfig
	}{{"link", &p.Link}, {"return", p.Return}, {"access", &p.Access}} {
		if l.cfg != nil {
			if err := l.cfg.Check(); err != nil {
				return fmt.Errorf("%s: %w", l.name, err)
			}
		}
	}
	return nil
}

// engine returns the configuration of the hosts' engines.
func (p *FlowsConfig) engine() (tcp.EngineConfig, error) {
	var changes []setting.Change
	for _, c := range []setting.Change{{Name: "rexmit", Text: p.Rexmit}, {Name: "control", Text: p.Control}} {
		if c.Text != "" {
			changes = append(changes, c)
		}
	}
	conn, err := tcp.ParseConfig(cmp.Or(p.Policy, tcptimers.DefaultPolicy), changes...)
	if err != nil {
		return tcp.EngineConfig{}, err
	}
	cfg := tcp.EngineConfig{Conn: conn, Scheme: p.Scheme, MTU: p.MTU, Seed: p.Seed}
	cfg.Conn.Pacing, cfg.Conn.ECN, cfg.Conn.SACK = conn.Pacing || p.Pacing, conn.ECN || p.ECN, conn.SACK && !p.NoSACK
	if p.Buffer != 0 {
		cfg.Conn.RecvBuffer, cfg.Conn.RecvBufferMax = uint32(min(max(p.Buffer, 0), math.MaxInt32)), 0
	} else {
		cfg.Conn.RecvBufferMax = 64 << 20
	}
	return cfg, nil
}

// returnLink returns the link back from the receivers.
func (p *FlowsConfig) returnLink() sim.LinkConfig {
	if p.Return != nil {
		return *p.Return
	}
	back := p.Link
	back.Loss = nil
	return back
}
