package netstack

import (
	"sync"
	"sync/atomic"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// Endpoint is a TCP socket: one end of a connection, or a listener. Multiple goroutines may invoke its methods.
type Endpoint struct {
	p     *protocol
	shard *shard
	wq    *waiter.Queue
	ops   tcpip.SocketOptions
	stats endpointStats

	// The baton: how much work there is. Who raises it from 0 runs the connection.
	work    atomic.Int64
	expired atomic.Bool     // timers have expired
	bulk    atomic.Bool     // much is written and not acknowledged, and there is another processor
	timers  *endpointTimers // under the shard's lock; nil is none

	inMu sync.Mutex // guards in
	in   *inbox     // what waits for the next pass; nil is nothing

	readMu sync.Mutex // is held by the one that reads, while it copies

	mu   sync.Mutex // guards all that follows; never held while the stack or the application is called
	info ends
	opts *endpointOptions
	phase
	opening   opening
	closed    bool  // the application has called Close
	errs      uint8 // records in the error queue since it was empty
	told      bool  // that it is connected, by Connect
	noQuick   bool  // the connection knows that TCP_QUICKACK is off
	queued    bool  // in the parent's queue
	sndFull   bool  // somebody waits for room in snd
	shutRead  bool  // Shutdown was called
	shutWrite bool  // the same

	fixedRecv bool // SO_RCVBUF was set: the buffer does not grow by itself
	fixedSend bool // the same of SO_SNDBUF
	cut       bool // the first view of rcv.ready was full until a part of it was read; readMu guards it

	hardErr  tcpip.Error // why the connection ended, until somebody was told
	lastErr  tcpip.Error
	listener *listener
	parent   *listener // of a connection that nobody has accepted yet
	bound    binding
	gsoMax   uint32 // octets of the largest packet of several segments, for a link that cuts it; 0 if the link takes none such

	conn    tcp.Conn
	now     wheel.Time  // the latest that conn was told
	cookie  *tcp.Cookie // with opening == openCookie
	todo    todo
	route   *stack.Route
	last    lastSent
	snd     sendQueue
	rcv     recvQueue
	rcvUsed int // octets in rcv.ready, those included that are being read
}

// phase is what an endpoint is.
type phase uint8

const (
	phaseInitial phase = iota
	phaseBound
	phaseListen
	phaseConnecting // Connect looks for a way and a port
	phaseConn       // conn tells
	phaseClosed
	phaseError
)

// opening is how a connection begins, with the next pass.
type opening uint8

const (
	opened     opening = iota
	openActive         // Connect
	openSYN            // with the SYN that comes first
	openCookie         // with the ACK that comes first
)

// todo is what the application has done and the next pass tells the connection.
type todo struct {
	wrote, consumed uint32
	more            bool
	flush           bool // tell of more, though nothing was written
	options         bool // to be set anew
	config          bool // the same for opts.own
	control         bool // the same for the congestion control
	resize          bool // the same for the receive buffer, when the connection is established
	shutdown        bool
	close           bool
	linger0         bool // close with a RST
	abort           bool
	recycle         bool // TIME-WAIT ends, for a new incarnation
}

// lastSent is what the last segment with ACK said. In TIME-WAIT these are SND.NXT, RCV.NXT and TS.Recent.
type lastSent struct {
	nxt, ack tcp.Seq
	recent   uint32
	stamped  bool
}

var (
	_ stack.TransportEndpoint    = (*Endpoint)(nil)
	_ tcpip.Endpoint             = (*Endpoint)(nil)
	_ tcpip.SocketOptionsHandler = (*Endpoint)(nil)
)

func (p *protocol) newEndpoint(net tcpip.NetworkProtocolNumber, wq *waiter.Queue) *Endpoint {
	e := &Endpoint{
		p: p, wq: wq, shard: p.shards[int(p.next.Add(1))%len(p.shards)],
		info: ends{NetProto: net},
	}
	o := p.options()
	e.opts = p.defaultOptions(&o)
	e.ops.InitHandler(e, p.stack, gtcp.GetTCPSendBufferLimits, gtcp.GetTCPReceiveBufferLimits)
	e.ops.SetMulticastLoop(true)
	e.ops.SetQuickAck(true)
	e.ops.SetSendBufferSize(int64(o.send.Default), false)
	e.ops.SetReceiveBufferSize(int64(o.recv.Default), false)
	e.fixedRecv = false // setting the default is no choice of the application
	if o.delay {
		e.ops.SetDelayOption(true)
	}
	if p.conn.Socket.Keepalive {
		e.ops.SetKeepAlive(true)
	}
	return e
}

// state is State, under the lock.
func (e *Endpoint) state() gtcp.EndpointState {
	switch e.phase {
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
	if e.opening == openActive {
		return gtcp.StateConnecting
	}
	return stateOf(e.conn.State())
}

// stateOf returns gVisor's number of a state.
func stateOf(s tcp.State) gtcp.EndpointState {
	return [...]gtcp.EndpointState{
		tcp.StateClosed: gtcp.StateClose, tcp.StateListen: gtcp.StateListen, tcp.StateSynSent: gtcp.StateSynSent,
		tcp.StateSynReceived: gtcp.StateSynRecv, tcp.StateEstablished: gtcp.StateEstablished,
		tcp.StateFinWait1: gtcp.StateFinWait1, tcp.StateFinWait2: gtcp.StateFinWait2, tcp.StateCloseWait: gtcp.StateCloseWait,
		tcp.StateClosing: gtcp.StateClosing, tcp.StateLastAck: gtcp.StateLastAck, tcp.StateTimeWait: gtcp.StateTimeWait,
	}[s]
}

// connected reports whether there is a connection whose handshake is over.
func (e *Endpoint) connected() bool {
	return e.phase == phaseConn && e.conn.State() >= tcp.StateEstablished
}

// connecting reports whether there is one whose handshake is not.
func (e *Endpoint) connecting() bool {
	return e.phase == phaseConnecting || e.phase == phaseConn && !e.connected()
}

// takeHardErr returns why the connection ended, once.
func (e *Endpoint) takeHardErr() tcpip.Error {
	err := e.hardErr
	e.hardErr = nil
	return err
}

// State implements tcpip.Endpoint, in gVisor's numbers.
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
		return waiter.EventHUp // so that a socket that lingers and was never connected blocks nobody
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
		if mask&waiter.WritableEvents != 0 && (e.sndClosed() || e.snd.size() < int(e.ops.GetSendBufferSize())) {
			result |= waiter.WritableEvents
		}
		if mask&waiter.ReadableEvents != 0 && (e.rcvUsed > 0 || e.rcvClosed()) {
			result |= waiter.ReadableEvents
		}
	}
	if e.connected() && e.rcvClosed() && !e.sndClosed() {
		result |= waiter.EventRdHUp
	}
	return result
}

func (e *Endpoint) sndClosed() bool { return e.shutWrite }

// rcvClosed reports whether nothing more will come.
func (e *Endpoint) rcvClosed() bool {
	if e.shutRead {
		return true
	}
	switch e.conn.State() {
	case tcp.StateCloseWait, tcp.StateLastAck, tcp.StateClosing, tcp.StateTimeWait, tcp.StateClosed:
		return true
	}
	return false
}

// GetLocalAddress implements tcpip.Endpoint.
func (e *Endpoint) GetLocalAddress() (tcpip.FullAddress, tcpip.Error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return tcpip.FullAddress{Addr: e.info.ID.LocalAddress, Port: e.info.ID.LocalPort, NIC: e.bound.nic}, nil
}

// GetRemoteAddress implements tcpip.Endpoint.
func (e *Endpoint) GetRemoteAddress() (tcpip.FullAddress, tcpip.Error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.connected() {
		return tcpip.FullAddress{}, &tcpip.ErrNotConnected{}
	}
	return e.remote(), nil
}

func (e *Endpoint) remote() tcpip.FullAddress {
	return tcpip.FullAddress{Addr: e.info.ID.RemoteAddress, Port: e.info.ID.RemotePort, NIC: e.bound.nic}
}

// Info implements tcpip.Endpoint.
func (e *Endpoint) Info() tcpip.EndpointInfo {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.info.tell()
}

// ConnInfo returns what users of Linux's TCP_INFO expect.
func (e *Endpoint) ConnInfo() tcp.Info {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.conn.Info(e.now)
}

// Stats implements tcpip.Endpoint. It is of gVisor's type.
func (e *Endpoint) Stats() tcpip.EndpointStats { return e.stats.all() }

// SocketOptions implements tcpip.Endpoint.
func (e *Endpoint) SocketOptions() *tcpip.SocketOptions { return &e.ops }

// SetOwner implements tcpip.Endpoint.
func (e *Endpoint) SetOwner(owner tcpip.PacketOwner) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.setQuietly(func(o *endpointOptions) { o.owner = owner })
}

// ModerateRecvBuf implements tcpip.Endpoint. What was read is known from Read.
func (*Endpoint) ModerateRecvBuf(int) {}

// Wait implements stack.TransportEndpoint. It waits until nobody runs the connection, so that all has left that was to be sent, but not
// for longer than a second: it may be the one who runs it that waits.
func (e *Endpoint) Wait() {
	for end := time.Now().Add(time.Second); e.work.Load() != 0 && time.Now().Before(end); {
		time.Sleep(50 * time.Microsecond)
	}
}

// isIPv6 reports whether the route is one of IPv6.
func isIPv6(r *stack.Route) bool { return r.NetProto() == header.IPv6ProtocolNumber }
