package virtual

import (
	"fmt"
	"net/netip"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sim/script"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// scriptHost runs scripts on the binding: a gVisor stack with netstack's TCP, whose only link leads
// to the script.
//
// Payloads have a pattern: arriving ones by sequence number, written ones by position. So the host
// notices wrong bytes in packets and reads.
type scriptHost struct {
	cfg   script.HostConfig
	clock *netstack.VirtualClock
	link  *channel.Endpoint
	stack *stack.Stack
	net   tcpip.NetworkProtocolNumber

	flows   map[scriptEnds]*scriptFlow
	sockets []*scriptSocket
	fault   error // the first wrong packet or read
}

// scriptEnds are the addresses of a connection.
type scriptEnds struct{ local, remote netip.AddrPort }

// scriptFlow is what the host knows of the connections between two addresses.
type scriptFlow struct {
	ep       *netstack.Endpoint // the latest
	sent     []tcp.Seq          // sequence numbers of SYNs, in order
	received []tcp.Seq
}

// NewScriptHost makes a host that runs scripts on the binding: see script.Config. The error names
// the setting that the binding does not have.
func NewScriptHost(cfg script.HostConfig) (script.Host, error) {
	e := &cfg.Engine
	if e.Scheme != "" && e.Scheme != wheel.Default {
		return nil, fmt.Errorf("host netstack: --scheme=%s, want %s, the binding's only scheme", e.Scheme, wheel.Default)
	}
	h := &scriptHost{cfg: cfg, net: header.IPv4ProtocolNumber, flows: map[scriptEnds]*scriptFlow{}}
	if cfg.Local.Is6() {
		h.net = header.IPv6ProtocolNumber
	}
	var err error
	if h.clock, err = netstack.NewVirtualClock(netstack.VirtualClockConfig{}); err != nil {
		return nil, err
	}
	h.clock.Advance(time.Duration(cfg.Now))
	h.link = channel.New(queue, uint32(e.MTU), "")
	o := stack.Options{
		Clock: h.clock, RandSource: netstack.NewSeededSource(int64(e.Seed)), SecureRNG: netstack.NewSeededSource(^int64(e.Seed)),
	}
	t := TCP{NoSACK: !e.Conn.SACK, Config: netstack.Config{
		Conn: e.Conn, Shards: 1, CheckInvariants: true,
		SYNCookies: e.SYNCookies, MaxSynRcvd: e.MaxSynRcvd, MaxTimeWait: e.MaxTimeWait, ChallengeLimit: e.ChallengeLimit,
	}}
	if h.stack, err = NewStack(o, &t, h.link, cfg.Local); err != nil {
		return nil, err
	}
	if err := h.setOptions(); err != nil {
		h.stack.Destroy()
		return nil, err
	}
	return h, nil
}

// setOptions sets the stack's options that the settings of a script name.
func (h *scriptHost) setOptions() error {
	c := &h.cfg.Engine.Conn
	nagle := tcpip.TCPDelayEnabled(!c.Socket.NoDelay)
	reuse := tcpip.TCPTimeWaitReuseGlobal
	moderate := tcpip.TCPModerateReceiveBufferOption(c.RecvBufferMax != 0)
	for _, option := range []tcpip.SettableTransportProtocolOption{
		&nagle, &moderate, &reuse,
		&tcpip.TCPReceiveBufferSizeRangeOption{Min: 1, Default: int(c.RecvBuffer), Max: int(max(c.RecvBuffer, c.RecvBufferMax))},
		&tcpip.TCPSendBufferSizeRangeOption{Min: 1, Default: script.SendBuffer, Max: script.SendBuffer},
	} {
		if err := h.stack.SetTransportProtocolOption(header.TCPProtocolNumber, option); err != nil {
			return fmt.Errorf("set %T: %s", option, err)
		}
	}
	return nil
}

func (h *scriptHost) Advance(now wheel.Time) {
	h.clock.Advance(max(0, now.Sub(h.clock.Time())))
}

func (h *scriptHost) NextTimeout() (wheel.Time, bool) { return h.clock.NextExpiry() }

// flow returns the flow between two addresses, and makes it if needed.
func (h *scriptHost) flow(local, remote netip.AddrPort) *scriptFlow {
	k := scriptEnds{local, remote}
	f := h.flows[k]
	if f == nil {
		f = &scriptFlow{}
		h.flows[k] = f
	}
	return f
}

// refresh looks the latest connection of a flow up in the stack.
func (h *scriptHost) refresh(local, remote netip.AddrPort) *scriptFlow {
	f := h.flow(local, remote)
	id := stack.TransportEndpointID{
		LocalAddress: address(local.Addr()), LocalPort: local.Port(), RemoteAddress: address(remote.Addr()), RemotePort: remote.Port(),
	}
	e, ok := h.stack.FindTransportEndpoint(h.net, header.TCPProtocolNumber, id, 1).(*netstack.Endpoint)
	if ok && e.EndpointState() != netstack.StateListen {
		f.ep = e
	}
	return f
}

func address(a netip.Addr) tcpip.Address { return tcpip.AddrFromSlice(a.AsSlice()) }

func (h *scriptHost) Info(local, remote netip.AddrPort) (tcp.Info, bool) {
	f := h.refresh(local, remote)
	if f.ep == nil {
		return tcp.Info{}, false
	}
	return f.ep.ConnInfo(), true
}

func (h *scriptHost) Connections() (n int) {
	counts, _ := netstack.CountStates(h.stack)
	for _, c := range counts {
		n += c
	}
	return n
}

func (h *scriptHost) Counters() tcp.Counters {
	c, _ := netstack.Counters(h.stack)
	return c
}

// Check implements script.Host. The binding itself checks its invariants after each step.
func (h *scriptHost) Check() error { return h.fault }

func (h *scriptHost) Close() error {
	defer func() {
		h.stack.Destroy()
		h.Packets()
	}()
	for _, s := range h.sockets {
		s.ep.Abort()
		s.ep.Close()
	}
	for _, e := range h.stack.RegisteredEndpoints() {
		e.Abort()
	}
	h.clock.Advance(0)
	if n := len(h.stack.RegisteredEndpoints()); n > 0 {
		return fmt.Errorf("all connections are aborted, and the stack has %d", n)
	}
	wheels, _ := netstack.Wheels(h.stack)
	for _, w := range wheels {
		for _, t := range w.Timers {
			if t.Running {
				return fmt.Errorf("all connections are aborted, and a timer %v remains at %v", t.Kind, t.Deadline)
			}
		}
	}
	return h.fault
}
