package netstack

import (
	"math"
	"slices"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/ports"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"tcpwheel/netstack/tcp"
)

// endpointOptions are the options of a socket that tcpip.SocketOptions has not. They do not change: who sets one makes others. So the many
// sockets that have the same share them.
type endpointOptions struct {
	control      string
	keepIdle     time.Duration
	keepInterval time.Duration
	keepCount    int
	userTimeout  time.Duration
	linger       time.Duration // TCP_LINGER2: in FIN-WAIT-2; below 0 is none
	deferAccept  time.Duration
	maxSeg       uint16
	synRetries   uint8
	synSet       bool // it was chosen: else the policy tells how long a SYN is sent again
	windowClamp  uint32
	clampSet     bool // it was chosen: what it is by default bounds nothing
	ttl          uint8
	hopLimit     int16
	tos          uint8
	pmtud        tcpip.PMTUDStrategy
	flags        ports.Flags
	owner        tcpip.PacketOwner
	own          *SocketConfig // nil is the stack's
}

// defaultOptions returns the options that sockets begin with.
func (p *protocol) defaultOptions(o *protocolOptions) *endpointOptions {
	d := p.defaults.Load()
	if d == nil || d.control != o.control || d.linger != o.linger || d.synRetries != o.synRetries || d.synSet != o.synSet {
		d = newEndpointOptions(o)
		p.defaults.Store(d)
	}
	return d
}

func newEndpointOptions(p *protocolOptions) *endpointOptions {
	return &endpointOptions{
		control: p.control, keepIdle: gtcp.DefaultKeepaliveIdle, keepInterval: gtcp.DefaultKeepaliveInterval, keepCount: gtcp.DefaultKeepaliveCount,
		linger: p.linger, synRetries: p.synRetries, synSet: p.synSet, windowClamp: gtcp.DefaultReceiveBufferSize,
		ttl: tcpip.UseDefaultIPv4TTL, hopLimit: tcpip.UseDefaultIPv6HopLimit,
	}
}

// socket returns what the engine has of the options.
func (o *endpointOptions) socket(ops *tcpip.SocketOptions) tcp.SocketOptions {
	clamp := uint32(0)
	if o.clampSet {
		clamp = o.windowClamp
	}
	return tcp.SocketOptions{
		NoDelay: !ops.GetDelayOption(), Cork: ops.GetCorkOption(),
		QuickAck: o.own != nil && o.own.QuickAck, NoQuickAck: !ops.GetQuickAck(), WindowClamp: clamp,
		UserTimeout: within(o.userTimeout, 0), MaxSeg: o.maxSeg, FinWait2: within(o.linger, 1),
		Keepalive: ops.GetKeepAlive(), KeepIdle: within(o.keepIdle, 1), KeepInterval: within(o.keepInterval, 1), KeepCount: min(max(o.keepCount, 1), 255),
	}
}

// within returns what the engine takes of a time that an option may have at will: from least on to 68 years.
func within(d, least time.Duration) time.Duration {
	return min(max(d, least), math.MaxInt32*time.Second)
}

func (o *endpointOptions) setsDF() bool {
	return o.pmtud == tcpip.PMTUDiscoveryWant || o.pmtud == tcpip.PMTUDiscoveryDo || o.pmtud == tcpip.PMTUDiscoveryProbe
}

func (o *endpointOptions) timeToLive(r *stack.Route) uint8 {
	switch {
	case isIPv6(r) && o.hopLimit != tcpip.UseDefaultIPv6HopLimit:
		return uint8(o.hopLimit)
	case !isIPv6(r) && o.ttl != tcpip.UseDefaultIPv4TTL:
		return o.ttl
	}
	return r.DefaultTTL()
}

// recvBuffer returns the receive buffer that a connection begins with.
func (e *Endpoint) recvBuffer() uint32 {
	return uint32(min(max(e.ops.GetReceiveBufferSize(), 1), 65535<<14))
}

// set changes options, and tells the connection if there is one.
func (e *Endpoint) set(f func(*endpointOptions)) {
	e.mu.Lock()
	e.setQuietly(f)
	e.tellOptions()
}

// setQuietly changes options, under the lock, of which the connection need not be told.
func (e *Endpoint) setQuietly(f func(*endpointOptions)) {
	o := *e.opts
	f(&o)
	e.opts = &o
}

// tellOptions tells the connection, if there is one, that options have changed. It gives up the lock.
func (e *Endpoint) tellOptions() {
	tell := e.phase == phaseConn
	e.todo.options = e.todo.options || tell
	e.mu.Unlock()
	if tell {
		e.kick()
	}
}

// SetSockOptInt implements tcpip.Endpoint. As in gVisor, an option that TCP has not is no error.
func (e *Endpoint) SetSockOptInt(opt tcpip.SockOptInt, v int) tcpip.Error {
	const ecn = 3 // the bits of the old TOS that are the connection's business
	switch opt {
	case tcpip.KeepaliveCountOption:
		e.set(func(o *endpointOptions) { o.keepCount = v })
	case tcpip.IPv4TOSOption, tcpip.IPv6TrafficClassOption:
		e.set(func(o *endpointOptions) { o.tos = uint8(v) &^ ecn })
	case tcpip.MaxSegOption:
		if v < header.TCPMinimumMSS || v > header.TCPMaximumMSS {
			return &tcpip.ErrInvalidOptionValue{}
		}
		e.set(func(o *endpointOptions) { o.maxSeg = uint16(v) })
	case tcpip.MTUDiscoverOption:
		s := tcpip.PMTUDStrategy(v)
		switch s {
		case tcpip.PMTUDiscoveryWant, tcpip.PMTUDiscoveryDont, tcpip.PMTUDiscoveryDo, tcpip.PMTUDiscoveryProbe:
		default:
			return &tcpip.ErrNotSupported{}
		}
		e.set(func(o *endpointOptions) { o.pmtud = s })
	case tcpip.IPv4TTLOption:
		e.set(func(o *endpointOptions) { o.ttl = uint8(v) })
	case tcpip.IPv6HopLimitOption:
		e.set(func(o *endpointOptions) { o.hopLimit = int16(v) })
	case tcpip.TCPSynCountOption:
		if v < 1 || v > 255 {
			return &tcpip.ErrInvalidOptionValue{}
		}
		e.set(func(o *endpointOptions) { o.synRetries, o.synSet = uint8(v), true })
	case tcpip.TCPWindowClampOption:
		if v == 0 {
			e.mu.Lock()
			defer e.mu.Unlock()
			if e.phase != phaseInitial && e.phase != phaseClosed {
				return &tcpip.ErrInvalidOptionValue{}
			}
			e.setQuietly(func(o *endpointOptions) { o.windowClamp, o.clampSet = 0, true })
			return nil
		}
		v = max(v, e.p.options().recv.Min/2)
		e.set(func(o *endpointOptions) { o.windowClamp, o.clampSet = uint32(v), true })
	}
	return nil
}

// GetSockOptInt implements tcpip.Endpoint.
func (e *Endpoint) GetSockOptInt(opt tcpip.SockOptInt) (int, tcpip.Error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	o := e.opts
	switch opt {
	case tcpip.KeepaliveCountOption:
		return o.keepCount, nil
	case tcpip.IPv4TOSOption, tcpip.IPv6TrafficClassOption:
		return int(o.tos), nil
	case tcpip.MaxSegOption:
		// Linux tells what was set before there is a connection, and then the MSS in use.
		switch {
		case e.connected():
			return int(e.conn.Info(e.now).SndMSS), nil
		case o.maxSeg > 0:
			return int(o.maxSeg), nil
		}
		return header.TCPDefaultMSS, nil
	case tcpip.MTUDiscoverOption:
		return int(o.pmtud), nil
	case tcpip.ReceiveQueueSizeOption:
		if e.phase == phaseListen {
			return 0, &tcpip.ErrInvalidEndpointState{}
		}
		return e.rcvUsed, nil
	case tcpip.IPv4TTLOption:
		return int(o.ttl), nil
	case tcpip.IPv6HopLimitOption:
		return int(o.hopLimit), nil
	case tcpip.TCPSynCountOption:
		return int(o.synRetries), nil
	case tcpip.TCPWindowClampOption:
		return int(o.windowClamp), nil
	case tcpip.MulticastTTLOption:
		return 1, nil
	}
	return -1, &tcpip.ErrUnknownProtocolOption{}
}

// SetSockOpt implements tcpip.Endpoint. As in gVisor, an option that TCP has not is no error.
func (e *Endpoint) SetSockOpt(opt tcpip.SettableSocketOption) tcpip.Error {
	switch v := opt.(type) {
	case *tcpip.KeepaliveIdleOption:
		e.set(func(o *endpointOptions) { o.keepIdle = time.Duration(*v) })
	case *tcpip.KeepaliveIntervalOption:
		e.set(func(o *endpointOptions) { o.keepInterval = time.Duration(*v) })
	case *tcpip.TCPUserTimeoutOption:
		e.set(func(o *endpointOptions) { o.userTimeout = time.Duration(*v) })
	case *tcpip.CongestionControlOption:
		if !slices.Contains(controls, string(*v)) {
			return &tcpip.ErrNoSuchFile{} // Linux's ENOENT
		}
		e.set(func(o *endpointOptions) {
			e.todo.control = e.phase == phaseConn && o.control != string(*v)
			o.control = string(*v)
		})
	case *tcpip.TCPLingerTimeoutOption:
		switch {
		case *v < 0:
			*v = -1
		case *v == 0:
			*v = tcpip.TCPLingerTimeoutOption(e.p.options().linger)
		}
		*v = min(*v, tcpip.TCPLingerTimeoutOption(gtcp.MaxTCPLingerTimeout))
		e.set(func(o *endpointOptions) { o.linger = time.Duration(*v) })
	case *tcpip.TCPDeferAcceptOption:
		*v = min(*v, tcpip.TCPDeferAcceptOption(gtcp.MaxRTO))
		e.set(func(o *endpointOptions) { o.deferAccept = time.Duration(*v) })
	}
	return nil
}

// GetSockOpt implements tcpip.Endpoint.
func (e *Endpoint) GetSockOpt(opt tcpip.GettableSocketOption) tcpip.Error {
	if v, ok := opt.(*tcpip.OriginalDestinationOption); ok {
		e.mu.Lock()
		info := e.info
		e.mu.Unlock()
		addr, port, err := e.p.stack.IPTables().OriginalDst(info.ID, info.NetProto, ProtocolNumber)
		if err != nil {
			return err
		}
		*v = tcpip.OriginalDestinationOption{Addr: addr, Port: port}
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	o := e.opts
	switch v := opt.(type) {
	case *tcpip.TCPInfoOption:
		*v = e.tcpInfo()
	case *tcpip.KeepaliveIdleOption:
		*v = tcpip.KeepaliveIdleOption(o.keepIdle)
	case *tcpip.KeepaliveIntervalOption:
		*v = tcpip.KeepaliveIntervalOption(o.keepInterval)
	case *tcpip.TCPUserTimeoutOption:
		*v = tcpip.TCPUserTimeoutOption(o.userTimeout)
	case *tcpip.CongestionControlOption:
		*v = tcpip.CongestionControlOption(o.control)
	case *tcpip.TCPLingerTimeoutOption:
		*v = tcpip.TCPLingerTimeoutOption(o.linger)
	case *tcpip.TCPDeferAcceptOption:
		*v = tcpip.TCPDeferAcceptOption(o.deferAccept)
	default:
		return &tcpip.ErrUnknownProtocolOption{}
	}
	return nil
}

// tcpInfo returns what gVisor's TCP_INFO has.
func (e *Endpoint) tcpInfo() (info tcpip.TCPInfoOption) {
	info.State = tcpip.EndpointState(e.state())
	switch e.phase {
	case phaseInitial, phaseBound, phaseConnecting, phaseError:
		info.State = tcpip.EndpointState(gtcp.StateClose) // those are gVisor's own
	}
	if !e.connected() {
		return info
	}
	i := e.conn.Info(e.now)
	info.RTT, info.RTTVar, info.RTO = i.SRTT, i.RTTVar, i.RTO
	info.SndCwnd, info.SndSsthresh, info.ReorderSeen = i.CwndSegs, i.SsthreshSegs, i.Reordering
	info.CcState = [...]tcpip.CongestionControlState{
		tcp.CAOpen: tcpip.Open, tcp.CADisorder: tcpip.Disorder, tcp.CACWR: tcpip.Open, tcp.CARecovery: tcpip.FastRecovery, tcp.CALoss: tcpip.RTORecovery,
	}[i.CAState]
	if i.CAState == tcp.CARecovery && i.SACK {
		info.CcState = tcpip.SACKRecovery
	}
	return info
}
