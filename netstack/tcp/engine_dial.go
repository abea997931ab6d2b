package tcp

import (
	"fmt"
	"net/netip"

	"tcpwheel/wheel"
)

// The ephemeral ports are Linux's default ip_local_port_range.
//
// DEVIATION RFC 6056 §3.2: it prefers all ports from 1024 up. Servers expect ports below 32768 to
// be theirs.
const (
	ephemeralMin   = 32768
	ephemeralPorts = 60999 - ephemeralMin + 1
)

// forPorts continues the purposes of isn.go.
const forPorts purpose = 128

// Dial opens a connection actively. A nil cfg uses the engine's. It fails if local and remote
// already have a connection, unless that is in TIME-WAIT and timestamps tell the two apart. Local
// port 0 picks an ephemeral port (RFC 6056 §3.3.3).
func (e *Engine) Dial(now wheel.Time, local, remote netip.AddrPort, cfg *Config) (*Socket, error) {
	now = e.setNow(now)
	local, remote = unmapped(local), unmapped(remote)
	if err := checkEnds(local, remote); err != nil {
		return nil, err
	}
	cfg, err := e.checkConfig(cfg)
	if err != nil {
		return nil, err
	}
	if local.Port() == 0 {
		if local, err = e.pickPort(local.Addr(), remote); err != nil {
			return nil, err
		}
	}
	iss := e.secret.ISN(now, local, remote)
	if old := e.find(local, remote); old != nil {
		was := old.conn.TimeWait()
		least, ok := was.MayDialAgain(now)
		if !ok {
			return nil, fmt.Errorf("tcp: %v to %v has a connection already, in %v", local, remote, old.conn.State())
		}
		iss = ISSAfter(iss, least)
		e.replaceTimeWait(old)
	}
	s := e.add(local, remote, cfg, iss)
	s.conn.Connect(now, &e.out)
	e.apply(s)
	return s, nil
}

// checkEnds returns an error if no connection between local and remote is possible.
func checkEnds(local, remote netip.AddrPort) error {
	for _, end := range []struct {
		name string
		addr netip.Addr
	}{{"local", local.Addr()}, {"remote", remote.Addr()}} {
		if why := badAddr(end.addr); why != "" {
			return fmt.Errorf("tcp: %s address %v, want none that is %s", end.name, end.addr, why)
		}
	}
	switch {
	case local.Addr().Is4() != remote.Addr().Is4():
		return fmt.Errorf("tcp: local address %v and remote address %v, want one family", local.Addr(), remote.Addr())
	case remote.Port() == 0:
		return fmt.Errorf("tcp: remote port 0, want 1..65535")
	}
	return nil
}

// badAddr returns why a cannot be the address of a connection, or "" if it can.
func badAddr(a netip.Addr) string {
	switch {
	case !a.IsValid():
		return "invalid"
	case a.IsUnspecified():
		return "unspecified"
	case a.IsMulticast():
		return "multicast"
	case a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return "broadcast"
	}
	return ""
}

// checkConfig checks cfg; nil means the engine's.
func (e *Engine) checkConfig(cfg *Config) (*Config, error) {
	switch cfg {
	case nil:
		return &e.cfg.Conn, nil
	case e.checked:
		return cfg, nil
	}
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	if tick := cfg.Policy.WheelTick(); tick%e.tick != 0 {
		return nil, fmt.Errorf("tcp: policy %q with a tick of %v, want a multiple of the engine's %v", cfg.Policy.Name, tick, e.tick)
	}
	e.checked = cfg
	return cfg, nil
}

// pickPort returns local with an ephemeral port from which remote can be reached: RFC 6056 §3.3.3,
// Algorithm 3. For each remote the ports follow a sequence of their own, whose start depends on the
// secret. So a port is reused as late as possible.
func (e *Engine) pickPort(local netip.Addr, remote netip.AddrPort) (netip.AddrPort, error) {
	offset := uint32(e.secret.hash(forPorts, netip.AddrPortFrom(local, 0), remote, 0))
	for range ephemeralPorts {
		at := netip.AddrPortFrom(local, uint16(ephemeralMin+(e.nextPort+offset)%ephemeralPorts))
		e.nextPort++
		if e.find(at, remote) == nil && e.listener(at) == nil {
			return at, nil
		}
	}
	return netip.AddrPort{}, fmt.Errorf("tcp: %v to %v: all %d ephemeral ports are taken", local, remote, ephemeralPorts)
}
