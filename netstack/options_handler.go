package netstack

import (
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/waiter"
)

// What follows implements tcpip.SocketOptionsHandler.

// OnReuseAddressSet takes SO_REUSEADDR.
func (e *Endpoint) OnReuseAddressSet(v bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.setQuietly(func(o *endpointOptions) { o.flags.TupleOnly = v })
}

// OnReusePortSet takes SO_REUSEPORT.
func (e *Endpoint) OnReusePortSet(v bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.setQuietly(func(o *endpointOptions) { o.flags.LoadBalanced = v })
}

// changed tells the connection of an option that tcpip.SocketOptions has.
func (e *Endpoint) changed() {
	e.mu.Lock()
	e.tellOptions()
}

// OnKeepAliveSet takes SO_KEEPALIVE.
func (e *Endpoint) OnKeepAliveSet(bool) { e.changed() }

// OnDelayOptionSet takes TCP_NODELAY.
func (e *Endpoint) OnDelayOptionSet(bool) { e.changed() }

// OnCorkOptionSet takes TCP_CORK.
func (e *Endpoint) OnCorkOptionSet(bool) { e.changed() }

// LastError returns SO_ERROR: why the connection has ended, or the last error that the network reported, once.
func (e *Endpoint) LastError() tcpip.Error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.takeHardErr(); err != nil {
		return err
	}
	err := e.lastErr
	e.lastErr = nil
	return err
}

// UpdateLastError sets the last error that the network reported.
func (e *Endpoint) UpdateLastError(err tcpip.Error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lastErr = err
}

// HasNIC reports whether there is such a device; 0 stands for any.
func (e *Endpoint) HasNIC(id int32) bool { return id == 0 || e.p.stack.HasNIC(tcpip.NICID(id)) }

// OnSetSendBufferSize takes SO_SNDBUF, which ends the buffer's growing by itself.
func (e *Endpoint) OnSetSendBufferSize(n int64) int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fixedSend = true
	return n
}

// OnSetReceiveBufferSize takes SO_RCVBUF, which ends the buffer's growing by itself. What the window offers already is not taken back.
func (e *Endpoint) OnSetReceiveBufferSize(n, _ int64) (int64, func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fixedRecv = true
	if !e.connected() {
		e.todo.resize = e.phase == phaseConn
		return max(n, 1), nil
	}
	// As much as the smallest window that the scale can express, at least.
	return max(n, 1<<e.conn.RecvScale()), func() {
		e.mu.Lock()
		e.todo.resize = true
		e.mu.Unlock()
		e.kick()
	}
}

// WakeupWriters tells writers that the send buffer has grown.
func (e *Endpoint) WakeupWriters() {
	e.mu.Lock()
	used := e.snd.size()
	room := e.connected() && int(e.ops.GetSendBufferSize())-used >= used/2
	if room {
		e.sndFull = false
	}
	e.mu.Unlock()
	if room {
		e.wq.Notify(waiter.WritableEvents)
	}
}

// GetAcceptConn reports whether the socket listens.
func (e *Endpoint) GetAcceptConn() bool { return e.listening() != nil }
