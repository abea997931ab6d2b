package netstack

import (
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/waiter"
)

// The methods below implement tcpip.SocketOptionsHandler.

// OnReuseAddressSet sets SO_REUSEADDR.
func (e *Endpoint) OnReuseAddressSet(v bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.editOptions(func(o *endpointOptions) { o.flags.TupleOnly = v })
}

// OnReusePortSet sets SO_REUSEPORT.
func (e *Endpoint) OnReusePortSet(v bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.editOptions(func(o *endpointOptions) { o.flags.LoadBalanced = v })
}

// socketOptionChanged reports a change in tcpip.SocketOptions to the connection.
func (e *Endpoint) socketOptionChanged() {
	e.mu.Lock()
	e.optionsChanged()
}

// OnKeepAliveSet is called when SO_KEEPALIVE is set.
func (e *Endpoint) OnKeepAliveSet(bool) { e.socketOptionChanged() }

// OnDelayOptionSet is called when TCP_NODELAY is set. Each set to 1 flushes what a cork holds.
func (e *Endpoint) OnDelayOptionSet(delay bool) {
	e.mu.Lock()
	e.calls.push = e.calls.push || !delay && e.phase == phaseConn
	e.optionsChanged()
}

// OnCorkOptionSet is called when TCP_CORK is set.
func (e *Endpoint) OnCorkOptionSet(bool) { e.socketOptionChanged() }

// LastError returns SO_ERROR once: why the connection ended, or the network's last error.
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

// UpdateLastError sets the network's last error.
func (e *Endpoint) UpdateLastError(err tcpip.Error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lastErr = err
}

// HasNIC reports whether the stack has a NIC. 0 is any.
func (e *Endpoint) HasNIC(id int32) bool { return id == 0 || e.p.stack.HasNIC(tcpip.NICID(id)) }

// OnSetSendBufferSize sets SO_SNDBUF. The buffer then no longer grows.
func (e *Endpoint) OnSetSendBufferSize(n int64) int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sendBufferFixed = true
	return n
}

// OnSetReceiveBufferSize sets SO_RCVBUF. The buffer then no longer grows. An offered window is not
// taken back.
func (e *Endpoint) OnSetReceiveBufferSize(n, _ int64) (int64, func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.recvBufferFixed = true
	if !e.connected() {
		e.calls.resize = e.phase == phaseConn
		return max(n, 1), nil
	}
	// The scale bounds the size from below: it must be able to express the window.
	return max(n, 1<<e.conn.Info(e.now).RcvWScale), func() {
		e.mu.Lock()
		e.calls.resize = true
		e.mu.Unlock()
		e.kick()
	}
}

// WakeupWriters notifies writers that the send buffer has grown.
func (e *Endpoint) WakeupWriters() {
	e.mu.Lock()
	used := e.snd.size()
	room := e.connected() && int(e.ops.GetSendBufferSize())-used >= used/2
	if room {
		e.writerWaits = false
	}
	e.mu.Unlock()
	if room {
		e.wq.Notify(waiter.WritableEvents)
	}
}

// GetAcceptConn reports whether the socket listens.
func (e *Endpoint) GetAcceptConn() bool { return e.listening() != nil }
