package script

import (
	"fmt"
	"net/netip"
	"time"

	"tcpwheel/internal/setting"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
)

// setup is the result of a script's settings.
type setup struct {
	settings

	// passiveECN accepts ECN and does not offer it: tcp_ecn 2.
	passiveECN bool

	ephemeralPort, remotePort uint16 // the first ports that are chosen
}

// option sets a setting of --name=value.
func (p *setup) option(name, value string) error {
	err := setting.Set(&p.settings, name, value)
	if _, known := setting.Find(&p.settings, name); known && err != nil {
		return fmt.Errorf("--%w", err)
	}
	return err
}

// events returns the events of a script. The settings before the first event are not among them.
func events(s *Script) (all []*Event) {
	for _, item := range s.Items {
		if e, ok := item.(*Event); ok && e.Time.Kind != TimeUnset {
			all = append(all, e)
		}
	}
	return all
}

// newPlan reads the settings of a script. Its error is an ErrorList with all faults.
func newSetup(s *Script, cfg Config) (*setup, error) {
	p := &setup{
		settings: settings{
			SendBuffer: 4 << 20, BindPort: 8080, ConnectPort: 8080, RemoteISN: 0x9e3779b9, Start: 1000 * time.Second,
		},
		ephemeralPort: 40000, remotePort: 50000,
	}
	var errs ErrorList
	fault := func(at Pos, err error) {
		errs = append(errs, &Error{File: s.Name, Pos: at, Msg: err.Error()})
	}
	policy, err := takePolicy(s, cfg)
	if err != nil {
		fault(whereOption(s, "policy", "profile"), err)
		return nil, errs
	}
	p.Engine.Conn = tcp.DefaultConfig(policy)
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

// takePolicy returns the timer policy of cfg or of the script. Other settings then change it.
func takePolicy(s *Script, cfg Config) (tcptimers.Policy, error) {
	read, name := tcptimers.ParsePolicy, tcptimers.DefaultPolicy
	for _, item := range s.Items {
		if o, ok := item.(*Option); ok {
			switch o.Name {
			case "policy":
				read, name = tcptimers.ParsePolicy, o.Value
			case "profile":
				read, name = tcptimers.NewProfile, o.Value
			}
		}
	}
	if cfg.Policy != "" {
		return tcptimers.ParsePolicy(cfg.Policy)
	}
	return read(name)
}

// takeSettings applies the options and the sysctls before the first event. It returns the place of
// the last one.
func (p *setup) takeSettings(s *Script, fault func(Pos, error)) (last Pos) {
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

// whereOption returns the place of the first option with either name.
func whereOption(s *Script, names ...string) Pos {
	for _, item := range s.Items {
		if o, ok := item.(*Option); ok && (o.Name == names[0] || o.Name == names[1]) {
			return o.Start
		}
	}
	return Pos{Line: 1, Column: 1}
}

// check completes the setup and reports whether an engine can be made from it.
func (p *setup) check() error {
	if err := p.Engine.Conn.Check(); err != nil {
		return err
	}
	local, remote := "192.168.0.1", "192.0.2.1" // those of packetdrill
	is6 := p.IPVersion == ipv6
	if is6 {
		local, remote = "fd3d:a0b:17d6::1", "fd3d:fa7b:d17d::1"
	}
	if !p.LocalIP.IsValid() {
		p.LocalIP = netip.MustParseAddr(local)
	}
	if !p.RemoteIP.IsValid() {
		p.RemoteIP = netip.MustParseAddr(remote)
	}
	if p.LocalIP.Is6() != is6 || p.RemoteIP.Is6() != is6 {
		return fmt.Errorf("local_ip %v and remote_ip %v, want both of --ip_version", p.LocalIP, p.RemoteIP)
	}
	if p.Engine.MTU == 0 {
		p.Engine.MTU = 1500
	}
	path := tcp.Path{MTU: p.Engine.MTU, IPv6: true} // the host takes both versions of IP
	return path.Check()
}

// checkEvents reports events that no run supports.
func (p *setup) checkEvents(s *Script, fault func(Pos, error)) {
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
				fault(a.Pos, fmt.Errorf("outbound icmp: the engine sends none"))
			}
		case *Code:
			for _, stmt := range a.Stmts {
				checkNames(stmt, fault)
			}
		}
	}
}
