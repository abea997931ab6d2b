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

// endpointOptions holds the options of a socket that tcpip.SocketOptions lacks. A value is
// immutable, so sockets with equal options share one; setting an option makes a copy.
type endpointOptions struct {
	control        string
	keepIdle       time.Duration
	keepInterval   time.Duration
	keepCount      int
	userTimeout    time.Duration
	linger         time.Duration // TCP_LINGER2: time in FIN-WAIT-2; below 0 is none
	deferAccept    time.Duration
	maxSeg         uint16
	synRetries     uint8
	synRetriesSet  bool // otherwise the policy decides how long to retransmit a SYN
	notSentLowat   uint32
	windowClamp    uint32
	windowClampSet bool // otherwise windowClamp has no effect
	ttl            uint8
	hopLimit       int16
	tos            uint8
	pmtud          tcpip.PMTUDStrategy
	flags          ports.Flags
	owner          tcpip.PacketOwner
	socketConfig   *SocketConfig // nil is the stack's
}

// defaultOptions returns the options of a new socket.
func (p *protocol) defaultOptions(o *protocolOptions) *endpointOptions {
	d := p.defaults.Load()
	if d == nil || d.control != o.control || d.linger != o.linger || d.synRetries != o.synRetries || d.synRetriesSet != o.synRetriesSet {
		d = newEndpointOptions(o)
		p.defaults.Store(d)
	}
	return d
}

func newEndpointOptions(p *protocolOptions) *endpointOptions {
	return &endpointOptions{
		control: p.control, keepIdle: gtcp.DefaultKeepaliveIdle, keepInterval: gtcp.DefaultKeepaliveInterval, keepCount: gtcp.DefaultKeepaliveCount,
		linger: p.linger, synRetries: p.synRetries, synRetriesSet: p.synRetriesSet, windowClamp: gtcp.DefaultReceiveBufferSize,
		ttl: tcpip.UseDefaultIPv4TTL, hopLimit: tcpip.UseDefaultIPv6HopLimit,
	}
}

// socketOptions returns the engine's options.
func (e *Endpoint) socketOptions() tcp.SocketOptions {
	o, ops, clamp := e.opts, &e.ops, uint32(0)
	if o.windowClampSet {
		clamp = o.windowClamp
	}
	return tcp.SocketOptions{
		NoDelay: !ops.GetDelayOption(), Cork: ops.GetCorkOption(), NotSentLowat: o.notSentLowat,
		QuickAck: o.socketConfig != nil && o.socketConfig.QuickAck, NoQuickAck: !ops.GetQuickAck(), WindowClamp: clamp,
		UserTimeout: clampDuration(o.userTimeout, 0), MaxSeg: o.maxSeg, FinWait2: clampDuration(o.linger, 1), TimeWait: e.p.timeWaitOption(),
		Keepalive: ops.GetKeepAlive(), KeepIdle: clampDuration(o.keepIdle, 1), KeepInterval: clampDuration(o.keepInterval, 1), KeepCount: min(max(o.keepCount, 1), 255),
	}
}

// clampDuration clamps an option to the engine's bounds: from least to 68 years.
func clampDuration(d, least time.Duration) time.Duration {
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

// recvBufferOf returns the initial receive buffer of a connection, in bytes.
func recvBufferOf(ops *tcpip.SocketOptions) uint32 {
	return uint32(min(max(ops.GetReceiveBufferSize(), 1), 65535<<14))
}

// setOptions changes options and reports the change to the connection.
func (e *Endpoint) setOptions(f func(*endpointOptions)) {
	e.mu.Lock()
	e.editOptions(f)
	e.optionsChanged()
}

// editOptions changes options without reporting it. The caller holds the lock.
func (e *Endpoint) editOptions(f func(*endpointOptions)) {
	o := *e.opts
	f(&o)
	e.opts = &o
}

// optionsChanged reports changed options to the connection, if there is one. It releases the lock.
func (e *Endpoint) optionsChanged() {
	tell := e.phase == phaseConn
	e.calls.options = e.calls.options || tell
	e.mu.Unlock()
	if tell {
		e.kick()
	}
}

// SetNotSentLowat sets how many unsent bytes end the room for writes (Linux's TCP_NOTSENT_LOWAT,
// which gVisor's options lack); 0 is no bound. Write takes data only while less is unsent, and the
// socket is writable again when less than half of it is: see tcp.Conn.WriteRoom. Accepted sockets
// inherit the bound.
func (e *Endpoint) SetNotSentLowat(n uint32) {
	e.setOptions(func(o *endpointOptions) { o.notSentLowat = n })
}

// NotSentLowat returns the bound that SetNotSentLowat has set.
func (e *Endpoint) NotSentLowat() uint32 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.opts.notSentLowat
}

// SetSockOptInt implements tcpip.Endpoint. As in gVisor, an option that TCP lacks is no error.
func (e *Endpoint) SetSockOptInt(opt tcpip.SockOptInt, v int) tcpip.Error {
	const ecn = 3 // the ECN bits belong to the connection
	switch opt {
	case tcpip.KeepaliveCountOption:
		e.setOptions(func(o *endpointOptions) { o.keepCount = v })
	case tcpip.IPv4TOSOption, tcpip.IPv6TrafficClassOption:
		e.setOptions(func(o *endpointOptions) { o.tos = uint8(v) &^ ecn })
	case tcpip.MaxSegOption:
		if v < header.TCPMinimumMSS || v > header.TCPMaximumMSS {
			return &tcpip.ErrInvalidOptionValue{}
		}
		e.setOptions(func(o *endpointOptions) { o.maxSeg = uint16(v) })
	case tcpip.MTUDiscoverOption:
		s := tcpip.PMTUDStrategy(v)
		switch s {
		case tcpip.PMTUDiscoveryWant, tcpip.PMTUDiscoveryDont, tcpip.PMTUDiscoveryDo, tcpip.PMTUDiscoveryProbe:
		default:
			return &tcpip.ErrNotSupported{}
		}
		e.setOptions(func(o *endpointOptions) { o.pmtud = s })
	case tcpip.IPv4TTLOption:
		e.setOptions(func(o *endpointOptions) { o.ttl = uint8(v) })
	case tcpip.IPv6HopLimitOption:
		e.setOptions(func(o *endpointOptions) { o.hopLimit = int16(v) })
	case tcpip.TCPSynCountOption:
		if v < 1 || v > 255 {
			return &tcpip.ErrInvalidOptionValue{}
		}
		e.setOptions(func(o *endpointOptions) { o.synRetries, o.synRetriesSet = uint8(v), true })
	case tcpip.TCPWindowClampOption:
		if v == 0 {
			e.mu.Lock()
			defer e.mu.Unlock()
			if e.phase != phaseInitial && e.phase != phaseClosed {
				return &tcpip.ErrInvalidOptionValue{}
			}
			e.editOptions(func(o *endpointOptions) { o.windowClamp, o.windowClampSet = 0, true })
			return nil
		}
		v = max(v, e.p.options().recv.Min/2)
		e.setOptions(func(o *endpointOptions) { o.windowClamp, o.windowClampSet = uint32(v), true })
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
		// As in Linux: the option's value before there is a connection, then the MSS in use.
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
		return int(e.rcvUsed), nil
	case tcpip.IPv4TTLOption:
		return int(o.ttl), nil
	case tcpip.IPv6HopLimitOption:
		return int(o.hopLimit), nil
	case tcpip.TCPSynCountOption:
		if own := o.socketConfig; own != nil && !o.synRetriesSet {
			return int(synRetries(&own.Policy)), nil
		}
		return int(o.synRetries), nil
	case tcpip.TCPWindowClampOption:
		return int(o.windowClamp), nil
	case tcpip.MulticastTTLOption:
		return 1, nil
	}
	return -1, &tcpip.ErrUnknownProtocolOption{}
}

// SetSockOpt implements tcpip.Endpoint. As in gVisor, an option that TCP lacks is no error.
func (e *Endpoint) SetSockOpt(opt tcpip.SettableSocketOption) tcpip.Error {
	switch v := opt.(type) {
	case *tcpip.KeepaliveIdleOption:
		e.setOptions(func(o *endpointOptions) { o.keepIdle = time.Duration(*v) })
	case *tcpip.KeepaliveIntervalOption:
		e.setOptions(func(o *endpointOptions) { o.keepInterval = time.Duration(*v) })
	case *tcpip.TCPUserTimeoutOption:
		e.setOptions(func(o *endpointOptions) { o.userTimeout = time.Duration(*v) })
	case *tcpip.CongestionControlOption:
		if !slices.Contains(controls, string(*v)) {
			return &tcpip.ErrNoSuchFile{} // Linux's ENOENT
		}
		e.setOptions(func(o *endpointOptions) {
			e.calls.control = e.phase == phaseConn && o.control != string(*v)
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
		e.setOptions(func(o *endpointOptions) { o.linger = time.Duration(*v) })
	case *tcpip.TCPDeferAcceptOption:
		*v = min(*v, tcpip.TCPDeferAcceptOption(gtcp.MaxRTO))
		e.setOptions(func(o *endpointOptions) { o.deferAccept = time.Duration(*v) })
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
		*v = tcpInfoOf(e)
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

// tcpInfoOf returns gVisor's TCP_INFO.
func tcpInfoOf(e *Endpoint) (info tcpip.TCPInfoOption) {
	info.State = tcpip.EndpointState(e.state())
	switch e.phase {
	case phaseInitial, phaseBound, phaseConnecting, phaseError:
		info.State = tcpip.EndpointState(gtcp.StateClose) // the others are gVisor's internal states
	}
	if !e.connected() {
		return info
	}
	i := e.conn.Info(e.now)
	info.RTT, info.RTTVar, info.RTO = i.SRTT, i.RTTVar, i.RTO
	info.SndCwnd, info.SndSsthresh, info.ReorderSeen = i.CwndSegs, i.SsthreshSegs, i.ReorderingSeen > 0
	info.CcState = [...]tcpip.CongestionControlState{
		tcp.CAOpen: tcpip.Open, tcp.CADisorder: tcpip.Disorder, tcp.CACWR: tcpip.Open, tcp.CARecovery: tcpip.FastRecovery, tcp.CALoss: tcpip.RTORecovery,
	}[i.CAState]
	if i.CAState == tcp.CARecovery && i.SACK {
		info.CcState = tcpip.SACKRecovery
	}
	return info
}
