package script

import (
	"fmt"
	"net/netip"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
)

// plan is what the settings of a script come to.
type plan struct {
	policy  string // by name, and profile if there is one
	profile string

	conn   tcp.Config
	engine tcp.EngineConfig

	// ECN is agreed to, and not offered: tcp_ecn 2.
	passiveECN bool

	sendBuffer int64 // octets
	tolerance  time.Duration
	ipv6       bool

	local, remote             netip.Addr // the zero Addr is the default of the version
	bindPort, connectPort     uint16
	ephemeralPort, remotePort uint16 // the first of each that is picked
	remoteISN                 uint32
	start                     time.Duration // since the epoch of virtual time
}

// events is the script without its options and comments, and with the settings before the first event already taken.
func events(s *Script) (all []*Event) {
	for _, item := range s.Items {
		if e, ok := item.(*Event); ok && e.Time.Kind != TimeUnset {
			all = append(all, e)
		}
	}
	return all
}

// newPlan reads the settings of a script. An error is a ErrorList, which has all that is wrong.
func newPlan(s *Script, cfg Config) (*plan, error) {
	p := &plan{
		policy:     tcptimers.DefaultPolicy,
		sendBuffer: 4 << 20,
		bindPort:   8080, connectPort: 8080,
		ephemeralPort: 40000, remotePort: 50000,
		remoteISN: 0x9e3779b9,
		start:     1000 * time.Second,
	}
	var errs ErrorList
	fault := func(at Pos, err error) {
		errs = append(errs, &Error{File: s.Name, Pos: at, Msg: err.Error()})
	}
	policy, err := p.takePolicy(s, cfg)
	if err != nil {
		fault(whereOption(s, "policy", "profile"), err)
		return nil, errs
	}
	p.conn = tcp.DefaultConfig(policy)
	last := p.takeSettings(s, fault)
	if errs == nil {
		if err := p.check(); err != nil {
			fault(last, err)
		}
	}
	p.checkEvents(s, fault)
	if errs != nil {
		return nil, errs
	}
	return p, nil
}

// takePolicy returns the timer policy of the script, or of cfg: the other settings change it.
func (p *plan) takePolicy(s *Script, cfg Config) (tcptimers.Policy, error) {
	for _, item := range s.Items {
		if o, ok := item.(*Option); ok {
			switch o.Name {
			case "policy":
				p.policy, p.profile = o.Value, ""
			case "profile":
				p.policy, p.profile = o.Value, o.Value
			}
		}
	}
	if cfg.Policy != "" {
		p.policy, p.profile = cfg.Policy, ""
	}
	if p.profile != "" {
		return tcptimers.NewProfile(p.profile)
	}
	return tcptimers.ParsePolicy(p.policy)
}

// takeSettings takes the options, and the sysctls before the first event, and returns where the last of them stands.
func (p *plan) takeSettings(s *Script, fault func(Pos, error)) (last Pos) {
	last = Pos{Line: 1, Column: 1}
	for _, item := range s.Items {
		switch item := item.(type) {
		case *Option:
			last = item.Start
			if err := p.option(item.Name, item.Value); err != nil {
				fault(last, err)
			}
		case *Event:
			settings, ok := item.Action.(*Settings)
			if !ok || item.Time.Kind != TimeUnset {
				continue
			}
			for _, v := range settings.List {
				last = v.Pos
				if err := p.sysctl(v.Name, v.Value, true); err != nil {
					fault(last, err)
				}
			}
		}
	}
	return last
}

// whereOption returns where the first option of either name stands.
func whereOption(s *Script, names ...string) Pos {
	for _, item := range s.Items {
		if o, ok := item.(*Option); ok && (o.Name == names[0] || o.Name == names[1]) {
			return o.Start
		}
	}
	return Pos{Line: 1, Column: 1}
}

// check completes the plan, and reports whether the engine can be made from it.
func (p *plan) check() error {
	if err := p.conn.Check(); err != nil {
		return err
	}
	local, remote := "192.168.0.1", "192.0.2.1" // those of packetdrill
	if p.ipv6 {
		local, remote = "fd3d:a0b:17d6::1", "fd3d:fa7b:d17d::1"
	}
	if !p.local.IsValid() {
		p.local = netip.MustParseAddr(local)
	}
	if !p.remote.IsValid() {
		p.remote = netip.MustParseAddr(remote)
	}
	if p.local.Is6() != p.ipv6 || p.remote.Is6() != p.ipv6 {
		return fmt.Errorf("local_ip %v and remote_ip %v, want both of --ip_version", p.local, p.remote)
	}
	if p.engine.MTU == 0 {
		p.engine.MTU = 1500
	}
	path := tcp.Path{MTU: p.engine.MTU, IPv6: p.ipv6}
	if err := path.Check(); err != nil {
		return err
	}
	p.engine.Conn = p.conn
	return nil
}

// checkEvents looks for what no run can carry out.
func (p *plan) checkEvents(s *Script, fault func(Pos, error)) {
	for _, e := range events(s) {
		switch a := e.Action.(type) {
		case *Settings:
			trial := *p
			for _, v := range a.List {
				if err := trial.sysctl(v.Name, v.Value, false); err != nil {
					fault(v.Pos, err)
				}
			}
		case *ICMP:
			if a.Dir == Outbound {
				fault(a.Pos, fmt.Errorf("icmp that must be sent: the engine sends none"))
			}
		case *Code:
			for _, stmt := range a.Stmts {
				checkNames(stmt, fault)
			}
		}
	}
}
