package netstack

import (
	"sync"
	"sync/atomic"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// Endpoint is a TCP socket: one end of a connection, or a listener. Multiple goroutines may invoke
// its methods.
type Endpoint struct {
	p     *protocol
	shard *shard
	wq    *waiter.Queue
	ops   tcpip.SocketOptions
	stats endpointStats
	optionsHandler
	baton
	inputQueue
	timers *endpointTimers // guarded by the shard's lock; nil if no timer runs
	readMu sync.Mutex      // held by a reader while it copies

	// Guards all fields that follow. It is never held while the stack or the application is called.
	mu   sync.Mutex
	info endpointInfo
	opts *endpointOptions
	status
	reading
	writing
	failures
	outLink
	share
	calls         pendingCalls
	listener      *listener
	parent        *listener // the listener, until Accept
	inAcceptQueue bool      // the parent's accept queue holds it
	queuedErrs    uint8     // records added since the error queue was empty
	reg           registration
	wait          *timeWait // has the connection instead, in TIME-WAIT; else nil
}

// baton is the work of a connection. The goroutine that raises it from 0 runs the connection.
type baton struct {
	work    atomic.Int64
	expired atomic.Bool // timers have expired
	bulk    atomic.Bool // much unacknowledged data, and more than one CPU
}

// inputQueue is the input for the next step.
type inputQueue struct {
	inboxMu sync.Mutex // guards inbox
	inbox   *inbox     // nil if there is none
}

// status is the connection, and the stage of the endpoint's life.
type status struct {
	conn   tcp.Conn
	now    wheel.Time  // the latest time that conn was given
	cookie *tcp.Cookie // with opening == openingCookie
	phase
	opening         opening
	counted         tcp.State // in the protocol's states
	closed          bool      // Close was called
	shutRead        bool      // reading was shut down
	shutWrite       bool      // writing was shut down
	connectReported bool      // Connect has reported success
	quickAckOff     bool      // the engine knows that TCP_QUICKACK is off
}

// reading is what has arrived and was not read.
type reading struct {
	rcv     recvQueue
	rcvUsed int32 // bytes in rcv.ready, and those being read
	// A read has taken a part of the first view of rcv.ready, which was full. Guarded by readMu.
	readSplitView   bool
	recvBufferFixed bool // SO_RCVBUF was set: the buffer does not grow
}

// dropUnread releases what has arrived and was not read.
func (e *Endpoint) dropUnread() {
	e.rcv.drop()
	e.rcvUsed = 0
	e.charge()
}

// writing is what was written and is not acknowledged.
type writing struct {
	snd             sendQueue
	records         []uint32 // ends of records (tcp.WriteEOR) in calls.wrote
	writerWaits     bool     // a writer waits for room in snd
	sendBufferFixed bool     // SO_SNDBUF was set: the buffer does not grow
}

// failures are the errors that the application has not been told.
type failures struct {
	hardErr tcpip.Error // why the connection ended, until it is reported once
	lastErr tcpip.Error
}

// outLink is where the packets leave.
type outLink struct {
	route  *stack.Route
	maxGSO uint32 // largest packet in bytes that the link segments (GSO); 0 without GSO
}

// phase is the stage of an endpoint's life.
type phase uint8

const (
	phaseInitial phase = iota
	phaseBound
	phaseListen
	phaseConnecting // Connect looks for a route and a port
	phaseConn       // see conn.State()
	phaseClosed
	phaseError
)

// opening is what the next step begins the connection with.
type opening uint8

const (
	openingDone    opening = iota
	openingConnect         // with Connect's SYN
	openingSYN             // with the first SYN received
	openingCookie          // with the first ACK received
)

// pendingCalls collects the application's calls for the next step.
type pendingCalls struct {
	wrote, consumed uint32
	flags           tcp.WriteFlags // of the last write
	flush           bool           // report flags though nothing was written
	push            bool           // TCP_NODELAY was set to 1
	options         bool           // socket options have changed
	config          bool           // opts.socketConfig has changed
	control         bool           // the congestion control has changed
	resize          bool           // the receive buffer has changed; applied once established
	shutdown        bool
	close           bool
	linger0         bool // close with a RST
	abort           bool
	recycle         bool // end TIME-WAIT for a new incarnation
}

var (
	_ stack.TransportEndpoint    = (*Endpoint)(nil)
	_ tcpip.Endpoint             = (*Endpoint)(nil)
	_ tcpip.SocketOptionsHandler = (*Endpoint)(nil)
)

func (p *protocol) newEndpoint(net tcpip.NetworkProtocolNumber, wq *waiter.Queue) *Endpoint {
	e := &Endpoint{
		p: p, wq: wq, shard: p.shards[int(p.nextShard.Add(1))%len(p.shards)],
		info: endpointInfo{NetProto: net},
	}
	o := p.options()
	e.opts = p.defaultOptions(&o)
	e.optionsHandler.e = e
	e.ops.InitHandler(e, p.stack, gtcp.GetTCPSendBufferLimits, gtcp.GetTCPReceiveBufferLimits)
	e.ops.SetMulticastLoop(true)
	e.ops.SetQuickAck(true)
	e.ops.SetSendBufferSize(int64(o.send.Default), false)
	e.ops.SetReceiveBufferSize(int64(o.recv.Default), false)
	e.recvBufferFixed = false // the default is no choice of the application
	if o.delay {
		e.ops.SetDelayOption(true)
	}
	if p.conn.Socket.Keepalive {
		e.ops.SetKeepAlive(true)
	}
	return e
}

// state is State for callers that hold the lock.
func (s *status) state() gtcp.EndpointState {
	switch s.phase {
	case phaseInitial:
		return gtcp.StateInitial
	case phaseBound:
		return gtcp.StateBound
	case phaseListen:
		return gtcp.StateListen
	case phaseConnecting:
		return gtcp.StateConnecting
	case phaseClosed:
		return gtcp.StateClose
	case phaseError:
		return gtcp.StateError
	}
	if s.opening == openingConnect {
		return gtcp.StateConnecting
	}
	return stateOf(s.conn.State())
}

// stateOf returns gVisor's number for a state.
func stateOf(s tcp.State) gtcp.EndpointState {
	return [...]gtcp.EndpointState{
		tcp.StateClosed: gtcp.StateClose, tcp.StateListen: gtcp.StateListen, tcp.StateSynSent: gtcp.StateSynSent,
		tcp.StateSynReceived: gtcp.StateSynRecv, tcp.StateEstablished: gtcp.StateEstablished,
		tcp.StateFinWait1: gtcp.StateFinWait1, tcp.StateFinWait2: gtcp.StateFinWait2, tcp.StateCloseWait: gtcp.StateCloseWait,
		tcp.StateClosing: gtcp.StateClosing, tcp.StateLastAck: gtcp.StateLastAck, tcp.StateTimeWait: gtcp.StateTimeWait,
	}[s]
}

// connected reports whether the handshake is complete.
func (s *status) connected() bool {
	return s.phase == phaseConn && s.conn.State() >= tcp.StateEstablished
}

// connecting reports whether a handshake is under way.
func (s *status) connecting() bool {
	return s.phase == phaseConnecting || s.phase == phaseConn && !s.connected()
}

// takeHardErr returns the error that ended the connection the first time, and then nil.
func (f *failures) takeHardErr() tcpip.Error {
	err := f.hardErr
	f.hardErr = nil
	return err
}

// State implements tcpip.Endpoint. The numbers are gVisor's.
func (e *Endpoint) State() uint32 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return uint32(e.state())
}

// Readiness implements waiter.Waitable.
func (e *Endpoint) Readiness(mask waiter.EventMask) (result waiter.EventMask) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.phase == phaseInitial || e.phase == phaseBound:
		return waiter.EventHUp // so that SO_LINGER does not block a socket never connected
	case e.phase == phaseListen:
		if mask&waiter.ReadableEvents != 0 && e.listener.ready() {
			result |= waiter.ReadableEvents
		}
	case e.phase == phaseClosed || e.phase == phaseError:
		result = mask
	case e.connected():
		if e.conn.State() == tcp.StateTimeWait {
			result = mask
		}
		if mask&waiter.WritableEvents != 0 {
			if size, used := e.sendBuffer(); e.shutWrite || used < size && e.conn.LittleUnsent(e.calls.wrote) {
				result |= waiter.WritableEvents
			} else {
				e.writerWaits = true // a caller that polls waits, as in Linux
			}
		}
		if mask&waiter.ReadableEvents != 0 && (e.rcvUsed > 0 || e.rcvClosed()) {
			result |= waiter.ReadableEvents
		}
	}
	if e.connected() && e.rcvClosed() && !e.shutWrite {
		result |= waiter.EventRdHUp
	}
	return result
}

// rcvClosed reports whether no more data will arrive.
func (s *status) rcvClosed() bool {
	if s.shutRead {
		return true
	}
	switch s.conn.State() {
	case tcp.StateCloseWait, tcp.StateLastAck, tcp.StateClosing, tcp.StateTimeWait, tcp.StateClosed:
		return true
	}
	return false
}

// GetLocalAddress implements tcpip.Endpoint.
func (e *Endpoint) GetLocalAddress() (tcpip.FullAddress, tcpip.Error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return tcpip.FullAddress{Addr: e.info.ID.LocalAddress, Port: e.info.ID.LocalPort, NIC: e.reg.nic}, nil
}

// GetRemoteAddress implements tcpip.Endpoint.
func (e *Endpoint) GetRemoteAddress() (tcpip.FullAddress, tcpip.Error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.connected() {
		return tcpip.FullAddress{}, &tcpip.ErrNotConnected{}
	}
	return tcpip.FullAddress{Addr: e.info.ID.RemoteAddress, Port: e.info.ID.RemotePort, NIC: e.reg.nic}, nil
}

// Info implements tcpip.Endpoint.
func (e *Endpoint) Info() tcpip.EndpointInfo {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.info.transportInfo()
}

// ConnInfo returns the values of Linux's TCP_INFO and more. Durations that go on count until now.
func (e *Endpoint) ConnInfo() tcp.Info {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.conn.Info(max(e.now, e.p.now()))
}

// Stats implements tcpip.Endpoint. Its type is gVisor's *tcp.Stats.
func (e *Endpoint) Stats() tcpip.EndpointStats { return e.stats.all() }

// SocketOptions implements tcpip.Endpoint.
func (e *Endpoint) SocketOptions() *tcpip.SocketOptions { return &e.ops }

// SetOwner implements tcpip.Endpoint.
func (e *Endpoint) SetOwner(owner tcpip.PacketOwner) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.editOptions(func(o *endpointOptions) { o.owner = owner })
}

// ModerateRecvBuf implements tcpip.Endpoint. It does nothing: Read reports what was read.
func (*Endpoint) ModerateRecvBuf(int) {}

// isIPv6 reports whether the route's network protocol is IPv6.
func isIPv6(r *stack.Route) bool { return r.NetProto() == header.IPv6ProtocolNumber }
