package up

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Forward is a port whose connections go on to another one, as with ssh -L and -R. The kernel's side is in the network namespace of the
// process, which need not be that of the device.
//
// As one of Config.Expose, the stack listens, at Bind or, if that is empty or "*", all of its addresses, and each connection goes on to
// the kernel's Host and HostPort. Where a service of the stack listens, it takes its place.
//
// As one of Config.Forward, the kernel listens, at Bind, 127.0.0.1 if that is empty, and all addresses if it is "*". The stack
// connects to Host, which is an address, and HostPort, for each connection.
type Forward struct {
	Bind     string
	Port     uint16 // 0, which only Config.Forward may have, is one that is free
	Host     string
	HostPort uint16
}

// ParseForward reads what String writes: [BIND:]PORT:HOST:HOSTPORT, with IPv6 addresses in brackets.
func ParseForward(text string) (f Forward, err error) {
	var fields []string
	for rest, more := text, true; more; {
		var field string
		if inner, ok := strings.CutPrefix(rest, "["); ok {
			if field, rest, ok = strings.Cut(inner, "]"); !ok || rest != "" && rest[0] != ':' {
				return f, fmt.Errorf("%q, want a colon or the end behind a ]", text)
			}
			more = rest != ""
			rest = strings.TrimPrefix(rest, ":")
			if a, err := netip.ParseAddr(field); err != nil || !a.Is6() {
				return f, fmt.Errorf("%q, want an IPv6 address within []", text)
			}
		} else {
			field, rest, more = strings.Cut(rest, ":")
		}
		fields = append(fields, field)
	}
	switch len(fields) {
	case 3:
	case 4:
		if f.Bind = fields[0]; f.Bind == "" {
			return f, fmt.Errorf("%q, want an address before the first colon, or no such colon", text)
		}
		fields = fields[1:]
	default:
		return f, fmt.Errorf("%q, want [ADDR:]PORT:HOST:HOSTPORT, with IPv6 addresses in []", text)
	}
	for i, to := range map[int]*uint16{0: &f.Port, 2: &f.HostPort} {
		n, err := strconv.ParseUint(fields[i], 10, 16)
		if err != nil {
			return f, fmt.Errorf("port %q in %q, want a number up to 65535", fields[i], text)
		}
		*to = uint16(n)
	}
	if f.Host = fields[1]; f.Host == "" {
		return f, fmt.Errorf("%q, want a host before the last colon", text)
	}
	return f, nil
}

// String returns what ParseForward reads.
func (f Forward) String() string {
	to := strconv.Itoa(int(f.Port)) + ":" + f.to()
	switch {
	case f.Bind == "":
		return to
	case strings.Contains(f.Bind, ":"):
		return "[" + f.Bind + "]:" + to
	}
	return f.Bind + ":" + to
}

// to is where the connections go.
func (f Forward) to() string { return net.JoinHostPort(f.Host, strconv.Itoa(int(f.HostPort))) }

// bind is where the kernel listens.
func (f Forward) bind() string {
	host := f.Bind
	switch host {
	case "":
		host = "127.0.0.1"
	case "*":
		host = ""
	}
	return net.JoinHostPort(host, strconv.Itoa(int(f.Port)))
}

// addrs are where the stack listens.
func (f Forward) addrs(c *Config) (list []netip.AddrPort) {
	bind, _ := netip.ParseAddr(f.Bind)
	for _, p := range c.Addrs {
		if f.Bind == "" || f.Bind == "*" || p.Addr() == bind {
			list = append(list, netip.AddrPortFrom(p.Addr(), f.Port))
		}
	}
	return list
}

// exposed is where the stack listens for Expose.
func (c *Config) exposed() (all []netip.AddrPort) {
	for _, f := range c.Expose {
		all = append(all, f.addrs(c)...)
	}
	return all
}

func (c *Config) checkForwards() error {
	if c.MaxForwarded < 0 || c.MaxForwarded > 1<<20 {
		return fmt.Errorf("connections of a forward %d, want 1 to %d", c.MaxForwarded, 1<<20)
	}
	var taken []netip.AddrPort
	for _, f := range c.Expose {
		at := f.addrs(c)
		switch {
		case len(at) == 0:
			return fmt.Errorf("expose %v: address %s, want one of the stack", f, f.Bind)
		case f.Port == 0 || f.HostPort == 0:
			return fmt.Errorf("expose %v: port 0, want 1 to 65535", f)
		}
		for _, a := range at {
			if slices.Contains(taken, a) {
				return fmt.Errorf("expose %v: %v is exposed already", f, a)
			}
		}
		taken = append(taken, at...)
	}
	for _, f := range c.Forward {
		a, err := netip.ParseAddr(f.Host)
		switch {
		case err != nil:
			return fmt.Errorf("forward %v: host %q, want an address: the stack knows no names", f, f.Host)
		case f.HostPort == 0:
			return fmt.Errorf("forward %v: port 0, want 1 to 65535", f)
		case !slices.ContainsFunc(c.Addrs, func(p netip.Prefix) bool { return p.Addr().Is6() == a.Is6() }):
			return fmt.Errorf("forward %v: address %v, but the stack has none of that family", f, a)
		}
		if _, err := netip.ParseAddr(f.Bind); err != nil && f.Bind != "" && f.Bind != "*" {
			return fmt.Errorf("forward %v: address %q to listen at, want an address, or * for all", f, f.Bind)
		}
	}
	return nil
}
