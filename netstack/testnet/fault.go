package testnet

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/header"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// fault is what a search does to a packet.
type fault struct {
	kind faultKind
	span time.Duration // of a delay, pause or crash
}

type faultKind string

const (
	losses     faultKind = "loss"
	delays     faultKind = "delay"
	duplicates faultKind = "duplicate"
	pauses     faultKind = "pause"
	crashes    faultKind = "crash"
	seeds      faultKind = "seed" // random losses, as the path has them
)

// parseFault reads Search.Fault.
func parseFault(text string) (f fault, err error) {
	kind, span, has := strings.Cut(text, "=")
	f.kind = faultKind(kind)
	switch f.kind {
	case "":
		f.kind = losses
	case losses, duplicates, seeds:
	case delays, pauses, crashes:
		if f.span, err = time.ParseDuration(span); err == nil && f.span > 0 {
			return f, nil
		}
		has = true
	default:
		has = true
	}
	if has {
		return f, fmt.Errorf("fault %q, want loss, delay=DURATION, duplicate, pause=DURATION, crash=DURATION or seed", text)
	}
	return f, nil
}

// set is the packets that a fault happens to, by number, in order.
type set []int

// String returns a set as in the name of a run: "3,7".
func (s set) String() string {
	var b []byte
	for i, n := range s {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return string(b)
}

// trial is one run of a search, or its record. Net.mu guards it.
type trial struct {
	fault fault
	at    set
	exact bool   // the paths lose nothing themselves
	base  []sent // of the run without a fault; nil in that run

	packets []sent
	lost    set // packets that a path lost
	differs int // the first packet that is not base's; 0 is none
	held    wheel.Time
	bad     bool // the run counts as failed, though its test does not: for tests

	waitMu sync.Mutex
	waits  map[waitKey]*wait
}

// wait is a run of a retransmission timer. stopped is 0 while it runs.
type wait struct {
	armed, deadline, stopped wheel.Time
	before                   *wait
}

type waitKey struct {
	host    string
	e       *netstack.Endpoint
	segment int
}

// observe records a retransmission timer of a host. A wheel calls it, locked.
func (r *trial) observe(host string, e *netstack.TimerEvent) {
	if e.Kind != tcptimers.Rexmit {
		return
	}
	r.waitMu.Lock()
	defer r.waitMu.Unlock()
	k := waitKey{host, e.Endpoint, e.Segment}
	w := r.waits[k]
	if w != nil {
		w.stopped = cmp.Or(w.stopped, e.Time)
		if e.Time.Sub(w.armed) > time.Millisecond {
			w.before = nil
		}
	}
	if e.Change <= netstack.TimerMoved {
		if r.waits == nil {
			r.waits = map[waitKey]*wait{}
		}
		r.waits[k] = &wait{armed: e.Time, deadline: e.Deadline, before: w}
	}
}

// waiting describes the timer that would have expired next when f returned, at a time.
func (r *trial) waiting(at wheel.Time) string {
	r.waitMu.Lock()
	defer r.waitMu.Unlock()
	var next *wait
	var of string
	for k, w := range r.waits {
		for ; w != nil; w = w.before {
			// On its way out the program stops its timers, and arms some for its FINs.
			then := at.Add(-time.Millisecond)
			if w.armed < then && w.deadline > then && (w.stopped == 0 || w.stopped > then) && (next == nil || w.deadline < next.deadline) {
				next, of = w, k.host
			}
		}
	}
	if next == nil {
		return ""
	}
	return fmt.Sprintf("still waits for the RTO of %s, of %v", of, next.deadline.Sub(next.armed).Round(time.Millisecond))
}

// sent is a packet of a trial.
type sent struct {
	at         wheel.Time
	from, to   netip.AddrPort
	udp        bool
	flags      tcp.Flags
	seq, ack   tcp.Seq
	size       int           // bytes of data
	timer      string        // that sent it, as in "SYN RTO"; "" is none
	waited     time.Duration // by that timer
	host       string
	down       bool   // the router sent it, to host
	nth        uint64 // in its direction of the path of host; 0 if the path has changed
	heardAfter int    // packets sent before it arrived; 0 if it did not
}

// same reports whether two packets of two runs are one. Contents may differ: keys of TLS do.
func (p *sent) same(o *sent) bool {
	return p.from == o.from && p.to == o.to && p.flags == o.flags && p.seq == o.seq && p.ack == o.ack && p.size == o.size
}

// end returns the sequence number after the packet.
func (p *sent) end() tcp.Seq {
	end := p.seq + tcp.Seq(p.size)
	if p.flags.HasAny(tcp.SYN | tcp.FIN) {
		end++
	}
	return end
}

// repairs reports whether p, sent after o, carries something of o again.
func (p *sent) repairs(o *sent) bool {
	return !p.udp && p.from == o.from && p.to == o.to && p.seq.Before(o.end()) && o.seq.Before(p.end())
}

// parse fills in what the bytes of a packet say.
func (p *sent) parse(b []byte) {
	ip, ok := network(b)
	if !ok {
		return
	}
	from, to := ip.SourceAddress(), ip.DestinationAddress()
	src, _ := netip.AddrFromSlice(from.AsSlice())
	dst, _ := netip.AddrFromSlice(to.AsSlice())
	payload := ip.Payload()
	p.size = len(payload)
	switch ip.TransportProtocol() {
	case header.UDPProtocolNumber:
		if len(payload) >= header.UDPMinimumSize {
			u := header.UDP(payload)
			p.udp, p.size = true, len(payload)-header.UDPMinimumSize
			p.from, p.to = netip.AddrPortFrom(src, u.SourcePort()), netip.AddrPortFrom(dst, u.DestinationPort())
		}
	case header.TCPProtocolNumber:
		if h, n, err := tcp.ParseHeader(payload); err == nil {
			p.from, p.to = netip.AddrPortFrom(src, h.SrcPort), netip.AddrPortFrom(dst, h.DstPort)
			p.flags, p.seq, p.ack, p.size = h.Flags, h.Seq, h.Ack, len(payload)-n
		}
	}
}

// network returns the header of an IP packet; ok is false for a malformed one.
func network(b []byte) (ip header.Network, ok bool) {
	switch {
	case len(b) == 0:
	case b[0]>>4 == 4:
		h := header.IPv4(b)
		return h, h.IsValid(len(b))
	case b[0]>>4 == 6:
		h := header.IPv6(b)
		return h, h.IsValid(len(b))
	}
	return nil, false
}

// begin records a packet that a host or the router sends, and numbers it.
func (r *trial) begin(now wheel.Time, p *packet, at *Host, d direction) {
	s := sent{at: now, host: at.name, down: d == down}
	if at.changes == 1 {
		s.nth = at.passed[d] + 1
	}
	s.parse(p.Bytes)
	for i := range p.Causes {
		c := &p.Causes[i]
		switch c.Kind {
		case tcptimers.DelAck, tcptimers.Pacing: // they repair nothing
		default:
			s.timer, s.waited = c.Name(), now.Sub(c.Armed)
		}
	}
	r.packets = append(r.packets, s)
	p.number = len(r.packets)
	if i := p.number - 1; r.differs == 0 && r.base != nil && (len(r.at) == 0 || p.number <= r.at[0]) &&
		(i >= len(r.base) || !s.same(&r.base[i])) {
		r.differs = p.number
	}
}

// meddle changes the fate of a packet on its first link, and returns a note about it.
func (r *trial) meddle(n *Net, now wheel.Time, p *packet, fate *sim.Fate) string {
	_, hit := slices.BinarySearch(r.at, p.number)
	note := fmt.Sprintf("packet %d of the search: %s", p.number, r.fault.kind)
	switch {
	case !hit:
	case r.fault.kind == losses || r.fault.kind == seeds:
		fate.Outcome = sim.Lost
		return note
	case r.fault.kind == delays:
		fate.At += wheel.Time(r.fault.span)
	case r.fault.kind == duplicates:
		fate.Duplicated = true
	case r.fault.kind == pauses:
		r.held = now.Add(r.fault.span)
	case r.fault.kind == crashes:
		n.clock.AfterFunc(1, func() { n.Host(Server).crash(r.fault.span) })
	}
	if wait := r.held.Sub(now); wait > 0 {
		fate.At += wheel.Time(wait)
		if !hit {
			note = "held by the pause of the search"
		}
		return note
	}
	if hit {
		return note
	}
	return ""
}
