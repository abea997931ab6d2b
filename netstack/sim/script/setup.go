package script

import (
	"net/netip"
	"time"

	"tcpwheel/internal/setting"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
)

// settings are what --name=value sets.
type settings struct {
	Policy string `set:"policy" help:"timer policy, as tcptimers.ParsePolicy reads it"`

	IPVersion ipVersion     `set:"ip_version" help:"version of IP"`
	RemoteISN uint32        `set:"remote_isn" help:"live sequence number of the remote end for 0 in the script"`
	Start     time.Duration `set:"start" help:"when the script begins, since the epoch that ticks count from"`

	Engine tcp.EngineConfig
}

// setup is the result of a script's settings.
type setup struct {
	settings
	local, remote netip.Addr
}

// SendBuffer is the size of the sockets' send buffers, bytes.
const SendBuffer = 4 << 20

// Ports of sockets and packets for which a script names none.
const (
	servicePort   = 8080  // of bind and connect
	ephemeralPort = 40000 // of the first connecting socket, and up
	remotePort    = 50000 // of the remote end
)

// ipVersion is the version of IP; the number is that of Names.
type ipVersion uint8

// Names returns the names of the versions, in order.
func (ipVersion) Names() []string { return []string{"ipv4", "ipv6"} }

// Options returns the settings of --name=value. In names "_" and "-" are the same.
func Options() []setting.Setting { return setting.All(settings{}) }

// newSetup reads the options of a script. Its error is an ErrorList with all faults. The policy
// comes first; other settings change it.
func newSetup(s *Script) (*setup, error) {
	p := &setup{settings: settings{RemoteISN: 0x9e3779b9, Start: 1000 * time.Second}}
	var errs ErrorList
	fault := func(at Pos, err error) {
		errs = append(errs, &Error{File: s.Name, Pos: at, Msg: err.Error()})
	}
	last := Pos{Line: 1, Column: 1}
	policy := tcptimers.MustPolicy(tcptimers.DefaultPolicy)
	for _, o := range s.Options {
		if last = o.Pos; o.Name != "policy" {
			continue
		}
		var err error
		if policy, err = tcptimers.ParsePolicy(o.Value); err != nil {
			fault(o.Pos, err)
			return nil, errs
		}
	}
	p.Engine.Conn = tcp.DefaultConfig(policy)
	p.Engine.MTU = 1500
	for _, o := range s.Options {
		if err := setting.Set(&p.settings, o.Name, o.Value); err != nil {
			fault(o.Pos, err)
		}
	}
	if errs == nil {
		if err := p.check(); err != nil {
			fault(last, err)
		}
	}
	if errs != nil {
		return nil, errs
	}
	return p, nil
}

// check reports whether an engine can be made from the settings, and chooses the addresses.
func (p *setup) check() error {
	local, remote := "192.168.0.1", "192.0.2.1" // those of packetdrill
	if p.IPVersion != 0 {
		local, remote = "fd3d:a0b:17d6::1", "fd3d:fa7b:d17d::1"
	}
	p.local, p.remote = netip.MustParseAddr(local), netip.MustParseAddr(remote)
	if err := p.Engine.Conn.Check(); err != nil {
		return err
	}
	path := tcp.Path{MTU: p.Engine.MTU, IPv6: true} // the host takes both versions of IP
	return path.Check()
}
