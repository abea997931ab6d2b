package up

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Forward is a port whose connections are passed on to another port, as with ssh -L and -R. The
// kernel's side is in the network namespace of the process, which may differ from the device's.
//
// In Config.Expose, the stack listens at Bind, or at all its addresses if Bind is "" or "*". Each
// connection is passed on to the kernel's Host and HostPort. It replaces a service at that port.
//
// In Config.Forward, the kernel listens at Bind, at 127.0.0.1 if Bind is "", and at all addresses
// if it is "*". For each connection, the stack connects to HostPort of Host, which is an IP
// address.
type Forward struct {
	Bind     string
	Port     uint16 // 0 is a free port, in Config.Forward only
	Host     string
	HostPort uint16
}

// ParseForward reads [BIND:]PORT:HOST:HOSTPORT, with IPv6 addresses in brackets, as String writes
// it.
func ParseForward(text string) (f Forward, err error) {
	var fields []string
	for rest, more := text, true; more; {
		var field string
		if inner, ok := strings.CutPrefix(rest, "["); ok {
			if field, rest, ok = strings.Cut(inner, "]"); !ok || rest != "" && rest[0] != ':' {
				return f, fmt.Errorf("%q, want a colon or the end after ]", text)
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
			return f, fmt.Errorf("%q, want an address before the first colon, or one colon less", text)
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

// String returns the text that ParseForward reads.
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

// to returns the target of the connections.
func (f Forward) to() string { return net.JoinHostPort(f.Host, strconv.Itoa(int(f.HostPort))) }

// bind returns where the kernel listens.
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

// addrs returns where the stack listens.
func (f Forward) addrs(c *Config) (list []netip.AddrPort) {
	bind, _ := netip.ParseAddr(f.Bind)
	for _, p := range c.Addrs {
		if f.Bind == "" || f.Bind == "*" || p.Addr() == bind {
			list = append(list, netip.AddrPortFrom(p.Addr(), f.Port))
		}
	}
	return list
}

// exposed returns where the stack listens for Expose.
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
			return fmt.Errorf("forward %v: host %q, want an IP address: the stack resolves no names", f, f.Host)
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
