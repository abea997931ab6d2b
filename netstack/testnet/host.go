package testnet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"

	"tcpwheel/internal/pcapng"
	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/virtual"
)

// HostConfig is an option of New: a further host, or changes to the client or the server. Except
// for the name, the zero value of each field is its default.
type HostConfig struct {
	Name string // by which other hosts dial it, as in "db:5432"

	// Path is the host's path to the router. The client's default is New's path.
	Path Path

	// Policy is the timer policy or profile, as in "linux", "bsd" or "per-segment@10ms": see
	// tcp.ParseConfig. The default is netstack.DefaultConfig.
	Policy string

	// KeepAlive configures keepalive for the connections that the host dials and accepts. The
	// default is off; package net's is on, with an idle time of 15 s.
	KeepAlive net.KeepAliveConfig

	// TCP, if not nil, changes further parameters of the host's TCP, after Policy.
	TCP func(*virtual.TCP)
}

func (h HostConfig) apply(o *options) {
	for i := range o.hosts {
		if old := &o.hosts[i]; old.Name == h.Name {
			if h.Path == (Path{}) {
				h.Path = old.Path
			}
			*old = h
			return
		}
	}
	o.hosts = append(o.hosts, h)
}

// tcp returns the configuration of the host's TCP.
func (h *HostConfig) tcp() (*virtual.TCP, error) {
	t := &virtual.TCP{Config: netstack.DefaultConfig()}
	if h.Policy != "" {
		var err error
		if t.Config.Conn, err = tcp.ParseConfig(h.Policy); err != nil {
			return nil, err
		}
		t.Config.Conn.ICMPEndsHandshake = true
	}
	// One wheel and no pool: the run must not depend on the number of processors.
	t.Config.Shards, t.Config.NoWorkers, t.Config.Causes = 1, true, true
	if h.TCP != nil {
		h.TCP(t)
	}
	return t, nil
}

// Host is a host of a Net. Multiple goroutines may invoke its methods.
type Host struct {
	net       *Net
	index     int
	name      string
	addr      netip.Addr // IPv4
	addr6     netip.Addr
	keepAlive net.KeepAliveConfig
	stack     *stack.Stack
	link      *channel.Endpoint // between the stack and the path

	// Guarded by Net.mu.
	sent    uint64                 // packets
	links   [2]*virtual.PacketLink // by direction
	passed  [2]uint64              // packets, by direction
	taken   uint64                 // packets that a search has lost
	changes uint64                 // of the path
	down    bool                   // it has crashed
	nat     *nat                   // nil for none
	capture capture
}

// packet is a packet on its path.
type packet struct {
	virtual.Packet
	from   *Host
	record *record // in the sender's capture
	number int     // in a trial, from 1; 0 before it is on a link
}

// flow returns the addresses and ports of a TCP packet, and more of others.
func (p *packet) flow() []byte {
	if p.Bytes[0]>>4 == 6 {
		return p.Bytes[8:min(header.IPv6MinimumSize+4, len(p.Bytes))]
	}
	ip := header.IPv4(p.Bytes)
	return p.Bytes[12:min(int(ip.HeaderLength())+4, len(p.Bytes))]
}

// linkQueue is the capacity of a host's link in packets. Each is read at once, so a small one would
// do.
const linkQueue = 1 << 12

const mtu = 1500

// maxHosts keeps all hosts in 10.9.0.0/24.
const maxHosts = 250

// add makes a host.
func (n *Net) add(cfg *HostConfig) error {
	if cfg.Name == "" || len(n.hosts) == maxHosts {
		return fmt.Errorf("want a name, and at most %d hosts", maxHosts)
	}
	t, err := cfg.tcp()
	if err != nil {
		return err
	}
	if t.GVisor && n.bubble {
		return errors.New("gVisor's TCP waits in ways that a bubble does not see: use it outside")
	}
	if n.trial != nil {
		t.Config.TimerEvents = func(e netstack.TimerEvent) { n.trial.observe(cfg.Name, &e) }
	}
	i := len(n.hosts)
	h := &Host{
		net: n, index: i, name: cfg.Name, addr: netip.AddrFrom4([4]byte{10, 9, 0, byte(i + 1)}),
		addr6:     netip.AddrFrom16([16]byte{0: 0xfd, 1: 9, 15: byte(i + 1)}),
		keepAlive: cfg.KeepAlive, link: channel.New(linkQueue, mtu, ""),
	}
	if err := h.setPath(&cfg.Path); err != nil {
		return err
	}
	h.link.AddNotify(h)
	seed := int64(sim.LinkKey(n.seed, cfg.Name))
	o := stack.Options{
		Clock: n.clock, RandSource: netstack.NewSeededSource(seed), SecureRNG: netstack.NewSeededSource(^seed),
		TransportProtocols: []stack.TransportProtocolFactory{udp.NewProtocol},
	}
	if h.stack, err = virtual.NewStack(o, t, h.link, h.addr, h.addr6); err != nil {
		return err
	}
	n.hosts = append(n.hosts, h)
	return nil
}

// Addr returns the host's IPv4 address.
func (h *Host) Addr() netip.Addr { return h.addr }

// Stack returns the host's stack. Closing the Net destroys it.
func (h *Host) Stack() *stack.Stack { return h.stack }

// SetPath replaces the host's path for the packets from now on. Packets on the path keep their
// fate. It fails the test if the path is out of bounds.
func (h *Host) SetPath(p Path) {
	h.net.t.Helper()
	h.net.mu.Lock()
	err := h.setPath(&p)
	h.net.mu.Unlock()
	if err != nil {
		h.net.t.Fatalf("testnet: path of %s: %v", h.name, err)
	}
}

// setPath is SetPath with the lock held.
func (h *Host) setPath(p *Path) error {
	links, err := p.links()
	if err != nil {
		return err
	}
	for d, cfg := range links {
		if r := h.net.trial; r != nil && r.exact {
			cfg.Loss = nil
		}
		// Each path draws its own random numbers.
		key := sim.LinkKey(h.net.seed, fmt.Sprintf("%s %d %d", h.name, d, h.changes))
		if h.links[d] == nil {
			h.links[d], err = virtual.NewPacketLink(cfg, key)
		} else {
			err = h.links[d].Change(cfg, key)
		}
		if err != nil {
			return err
		}
	}
	h.changes, h.passed = h.changes+1, [2]uint64{}
	switch {
	case p.NAT == 0:
		h.nat = nil
	case h.nat == nil:
		h.nat = newNAT(h.index, p.NAT)
	default:
		h.nat.idle = p.NAT
	}
	return nil
}

// WriteNotify implements channel.Notification: the stack has sent packets.
func (h *Host) WriteNotify() {
	n := h.net
	n.mu.Lock()
	defer n.mu.Unlock()
	for pkt := h.link.Read(); pkt != nil; pkt = h.link.Read() {
		if n.closed || h.down {
			pkt.DecRef()
			continue
		}
		view := pkt.ToView()
		h.sent++
		p := &packet{from: h}
		p.Bytes, p.Causes = bytes.Clone(view.AsSlice()), netstack.Causes(pkt)
		view.Release()
		pkt.DecRef()
		p.record = h.capture.add(n.now(), pcapng.Outbound, p.Bytes, p.Causes)
		if !n.bubble {
			n.enter(p)
			continue
		}
		if n.outbox = append(n.outbox, p); len(n.outbox) == 1 {
			n.clock.AfterFunc(1, n.flush)
		}
	}
}

// crash ends all connections of the host without a word to their peers, and cuts it off for a
// while. Its listeners then go on.
func (h *Host) crash(span time.Duration) {
	set := func(down bool) {
		h.net.mu.Lock()
		h.down = down
		h.net.mu.Unlock()
	}
	set(true)
	for _, e := range h.stack.RegisteredEndpoints() {
		if c, ok := e.(*netstack.Endpoint); ok && c.State() != uint32(gtcp.StateListen) {
			c.Abort()
		}
	}
	h.net.clock.AfterFunc(span, func() { set(false) })
}

// deliver hands a packet to the stack.
func (h *Host) deliver(p *packet) {
	n := h.net
	n.mu.Lock()
	if h.down {
		p.record.note("dropped: " + h.name + " is down")
		n.mu.Unlock()
		return
	}
	if !n.closed {
		h.capture.add(n.now(), pcapng.Inbound, p.Bytes, nil)
		if n.trial != nil {
			n.trial.packets[p.number-1].heardAfter = len(n.trial.packets)
		}
	}
	n.mu.Unlock()
	in := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(p.Bytes)})
	defer in.DecRef()
	number := header.IPv4ProtocolNumber
	if p.Bytes[0]>>4 == 6 {
		number = header.IPv6ProtocolNumber
	}
	h.link.InjectInbound(number, in)
}

// Listen listens at an address with a port: ":80". The host chooses a port for 0. It fails the test
// if that is impossible.
func (h *Host) Listen(address string) net.Listener {
	h.net.t.Helper()
	l, err := (&sockets.ListenConfig{Stack: h.stack, KeepAlive: h.keepAlive}).Listen("tcp", address)
	if err != nil {
		h.net.t.Fatalf("testnet: %s: %v", h.name, err)
	}
	return l
}

// Dialer returns a dialer of the host, for options that Dial does not have.
func (h *Host) Dialer() *sockets.Dialer {
	return &sockets.Dialer{Stack: h.stack, KeepAlive: h.keepAlive, Resolver: names{h.net}, Control: func(tcpip.Endpoint) error {
		return context.Cause(h.net.life)
	}}
}

// Dial calls DialContext with the background context.
func (h *Host) Dial(network, address string) (net.Conn, error) {
	return h.DialContext(context.Background(), network, address)
}

// DialContext connects to a host by its name or address: "server:80". The network is one of TCP or
// UDP; a name stands for the IPv4 address except with "tcp6" and "udp6". It has the form that
// http.Transport and many clients want. The context has no effect once connected.
func (h *Host) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if network == "udp" || network == "udp4" || network == "udp6" {
		return h.dialUDP(ctx, network, address)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.net.life, cancel)() // the end of the test ends a dial
	return h.Dialer().DialContext(ctx, network, address)
}

// HTTPClient returns a client that dials from the host. Its Transport is an *http.Transport with
// the zero value's timeouts: none.
func (h *Host) HTTPClient() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: h.DialContext}}
}
