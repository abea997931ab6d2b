package cli

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tcpwheel/internal/quantity"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// connFilter selects connections and episodes.
type connFilter struct {
	conns    []connPattern // any of them; none is all
	from, to moment
	flags    []string // as given
}

// connPattern matches a connection by its number or by an end.
type connPattern struct {
	id   int // -1 for none
	addr netip.Addr
	port uint16 // 0 for any
}

// moment is a time of day, or a time since the first packet of a file.
type moment struct {
	set, since bool
	at         time.Time
	after      time.Duration
}

// inputFlags are the flags that analyze and replay have alike.
type inputFlags struct {
	conns    []string
	from, to string
	top      int
	asJSON   bool
	html     string

	filter connFilter // by the first three
}

// register adds the flags of a command whose table has rows of that name.
func (f *inputFlags) register(fs *pflag.FlagSet, rows string) {
	fs.StringArrayVar(&f.conns, "conn", nil, "only this `connection`: its number, or an end, as 10.0.0.1, 10.0.0.1:80 or :80")
	fs.StringVar(&f.from, "from", "", "only from that `time` on: 2026-01-02T15:04:05Z, or since the first packet, as 1.5s")
	fs.StringVar(&f.to, "to", "", "only up to that `time`")
	fs.IntVar(&f.top, "top", 10, rows+" in the table, the longest")
	fs.BoolVar(&f.asJSON, "json", false, "print one JSON object per line (docs/json.md)")
	fs.StringVar(&f.html, "html", "", "write a page with diagrams to this `file` too")
}

// check makes the filter, and returns what is wrong.
func (f *inputFlags) check() (err error) {
	if f.top < 0 {
		return fmt.Errorf("top %d, want 0 or more", f.top)
	}
	f.filter, err = parseConnFilter(f.conns, f.from, f.to)
	return err
}

func parseConnFilter(conns []string, from, to string) (f connFilter, err error) {
	for _, text := range conns {
		f.flags = append(f.flags, "--conn "+text)
		p, err := parseConnPattern(text)
		if err != nil {
			return f, err
		}
		f.conns = append(f.conns, p)
	}
	if f.from, err = parseMoment("from", from); err != nil {
		return f, err
	}
	if f.to, err = parseMoment("to", to); err != nil {
		return f, err
	}
	if f.from.set {
		f.flags = append(f.flags, "--from "+from)
	}
	if f.to.set {
		f.flags = append(f.flags, "--to "+to)
	}
	if f.from.set && f.to.set && f.from.since == f.to.since && (f.from.after > f.to.after || f.from.at.After(f.to.at)) {
		return f, fmt.Errorf("from %s, want a time before to %s", from, to)
	}
	return f, nil
}

// unmatched says that no connection of a file passes the filter.
func (f *connFilter) unmatched() string { return "no connection matches " + strings.Join(f.flags, " ") }

func parseConnPattern(text string) (connPattern, error) {
	p := connPattern{id: -1}
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		p.id = int(n)
		return p, nil
	}
	if port, ok := strings.CutPrefix(text, ":"); ok {
		if n, err := strconv.ParseUint(port, 10, 16); err == nil && n > 0 {
			p.port = uint16(n)
			return p, nil
		}
	}
	if end, err := netip.ParseAddrPort(text); err == nil && end.Port() > 0 {
		p.addr, p.port = end.Addr().Unmap(), end.Port()
		return p, nil
	}
	if addr, err := netip.ParseAddr(text); err == nil {
		p.addr = addr.Unmap()
		return p, nil
	}
	return p, fmt.Errorf("conn %q, want a number, an address, address:port or :port", text)
}

func parseMoment(flag, text string) (moment, error) {
	if text == "" {
		return moment{}, nil
	}
	if d, err := quantity.ParseDuration(text); err == nil {
		return moment{set: true, since: true, after: d}, nil
	}
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return moment{set: true, at: at}, nil
	}
	return moment{}, fmt.Errorf("%s %q, want a time such as 2026-01-02T15:04:05Z, or one since the first packet, such as 1.5s", flag, text)
}

// in returns the moment in a file whose first packet is at first.
func (m *moment) in(first wheel.Time) wheel.Time {
	if m.since {
		return first.Add(m.after)
	}
	return wheel.Time(m.at.UnixNano())
}

// hasConn reports whether the connection passes the filter.
func (f *connFilter) hasConn(c *track.Conn, first wheel.Time) bool {
	if f.from.set && c.Last < f.from.in(first) || f.to.set && c.First > f.to.in(first) {
		return false
	}
	if len(f.conns) == 0 {
		return true
	}
	for _, p := range f.conns {
		if p.id >= 0 {
			if p.id == c.ID {
				return true
			}
			continue
		}
		for i := range c.Flows {
			end := c.Flows[i].Src
			if (!p.addr.IsValid() || p.addr == end.Addr()) && (p.port == 0 || p.port == end.Port()) {
				return true
			}
		}
	}
	return false
}

// hasTime reports whether an event at that time passes the filter.
func (f *connFilter) hasTime(at, first wheel.Time) bool {
	return !(f.from.set && at < f.from.in(first) || f.to.set && at > f.to.in(first))
}
