package netstack

import (
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/waiter"
)

// optionsHandler is the tcpip.SocketOptionsHandler of an endpoint, which embeds it.
type optionsHandler struct{ e *Endpoint }

// OnReuseAddressSet sets SO_REUSEADDR.
func (h *optionsHandler) OnReuseAddressSet(v bool) {
	h.e.mu.Lock()
	defer h.e.mu.Unlock()
	h.e.editOptions(func(o *endpointOptions) { o.flags.TupleOnly = v })
}

// OnReusePortSet sets SO_REUSEPORT.
func (h *optionsHandler) OnReusePortSet(v bool) {
	h.e.mu.Lock()
	defer h.e.mu.Unlock()
	h.e.editOptions(func(o *endpointOptions) { o.flags.LoadBalanced = v })
}

// socketOptionChanged reports a change in tcpip.SocketOptions to the connection.
func (h *optionsHandler) socketOptionChanged() {
	h.e.mu.Lock()
	h.e.optionsChanged()
}

// OnKeepAliveSet is called when SO_KEEPALIVE is set.
func (h *optionsHandler) OnKeepAliveSet(bool) { h.socketOptionChanged() }

// OnDelayOptionSet is called when TCP_NODELAY is set. Each set to 1 flushes what a cork holds.
func (h *optionsHandler) OnDelayOptionSet(delay bool) {
	h.e.mu.Lock()
	h.e.calls.push = h.e.calls.push || !delay && h.e.phase == phaseConn
	h.e.optionsChanged()
}

// OnCorkOptionSet is called when TCP_CORK is set.
func (h *optionsHandler) OnCorkOptionSet(bool) { h.socketOptionChanged() }

// LastError returns SO_ERROR once: why the connection ended, or the network's last error.
func (h *optionsHandler) LastError() tcpip.Error {
	h.e.mu.Lock()
	defer h.e.mu.Unlock()
	if err := h.e.takeHardErr(); err != nil {
		return err
	}
	err := h.e.lastErr
	h.e.lastErr = nil
	return err
}

// UpdateLastError sets the network's last error.
func (h *optionsHandler) UpdateLastError(err tcpip.Error) {
	h.e.mu.Lock()
	defer h.e.mu.Unlock()
	h.e.lastErr = err
}

// HasNIC reports whether the stack has a NIC. 0 is any.
func (h *optionsHandler) HasNIC(id int32) bool { return id == 0 || h.e.p.stack.HasNIC(tcpip.NICID(id)) }

// OnSetSendBufferSize sets SO_SNDBUF. The buffer then no longer grows.
func (h *optionsHandler) OnSetSendBufferSize(n int64) int64 {
	h.e.mu.Lock()
	defer h.e.mu.Unlock()
	h.e.sendBufferFixed = true
	return n
}

// OnSetReceiveBufferSize sets SO_RCVBUF. The buffer then no longer grows. An offered window is not
// taken back.
func (h *optionsHandler) OnSetReceiveBufferSize(n, _ int64) (int64, func()) {
	h.e.mu.Lock()
	defer h.e.mu.Unlock()
	h.e.recvBufferFixed = true
	if !h.e.connected() {
		h.e.calls.resize = h.e.phase == phaseConn
		return max(n, 1), nil
	}
	// The scale bounds the size from below: it must be able to express the window.
	return max(n, 1<<h.e.conn.Info(h.e.now).RcvWScale), func() {
		h.e.mu.Lock()
		h.e.calls.resize = true
		h.e.mu.Unlock()
		h.e.kick()
	}
}

// WakeupWriters notifies writers that the send buffer has grown.
func (h *optionsHandler) WakeupWriters() {
	h.e.mu.Lock()
	used := h.e.snd.size()
	room := h.e.connected() && int(h.e.ops.GetSendBufferSize())-used >= used/2
	if room {
		h.e.writerWaits = false
	}
	h.e.mu.Unlock()
	if room {
		h.e.wq.Notify(waiter.WritableEvents)
	}
}

// GetAcceptConn reports whether the socket listens.
func (h *optionsHandler) GetAcceptConn() bool { return h.e.listening() != nil }
