package testnet

import (
	"fmt"
	"strings"
	"time"

	"tcpwheel/netstack/sim"
)

// Path is the path between a host and the router: a link for each direction, and possibly a NAT.
// The zero Path delivers at once.
//
// The texts are those of package sim, and of the flags of tcpwheel link. Times in them, as of
// outages, count from New: see Net.Now.
type Path struct {
	Delay time.Duration // each way, without the time in the queue

	// Loss says which packets are lost, in each direction: "2%", "gilbert-elliott:p=1%,r=30%",
	// "outages:10s-12s", "packets:3,7-9", "ranges:0-1448@1". sim.Losses has all models.
	Loss string

	// Rate is a rate such as "10Mbit", or a trace of one that varies, such as
	// "trace:sample:cellular": see sim.ReadTrace. Queue is how many packets or bytes wait for it:
	// "100", "64KiB". "" is no limit.
	Rate, Queue string

	// More has other fields of sim.LinkConfig for both directions, as in "jitter=2ms reorder=1%".
	// Up and Down have fields for the packets from the host and to it. They take precedence.
	More, Up, Down string

	// NAT is how long a NAT between the host and its link remembers an idle connection; 0 is no
	// NAT. The NAT gives each connection an address and a port of its own, and drops packets of
	// connections that it does not know. So other hosts cannot dial this one.
	NAT time.Duration
}

// direction is a direction of a path.
type direction int

const (
	up   direction = iota // from the host
	down                  // to the host
)

// links returns the models of both directions. The error names the field.
func (p *Path) links() (links [2]sim.LinkConfig, err error) {
	if p.NAT < 0 {
		return links, fmt.Errorf("NAT %v, want 0s or more", p.NAT)
	}
	for d, own := range [2]string{up: p.Up, down: p.Down} {
		l := &links[d]
		l.Delay = p.Delay
		for _, f := range [...]struct{ name, text string }{{"loss", p.Loss}, {"rate", p.Rate}, {"queue", p.Queue}} {
			if f.text == "" {
				continue
			}
			if err := l.Set(f.name, f.text); err != nil {
				return links, err
			}
		}
		for _, setting := range append(strings.Fields(p.More), strings.Fields(own)...) {
			name, text, ok := strings.Cut(setting, "=")
			if !ok {
				return links, fmt.Errorf("%q, want FIELD=VALUE, such as loss=2%%", setting)
			}
			if err := l.Set(name, text); err != nil {
				return links, err
			}
		}
		if err := l.Check(); err != nil {
			return links, err
		}
	}
	return links, nil
}
