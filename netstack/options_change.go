package netstack

import (
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// applyOptionCalls reports changed options to the engine.
func (e *Endpoint) applyOptionCalls(now wheel.Time, t pendingCalls, o *tcp.Output) {
	if t.config {
		e.conn.Reconfigure(now, e.p.config(e.opts, e.recvBufferFixed, e.conn.Options(), e.recvBuffer()), o)
	}
	if t.control {
		// Only the control changes on an open connection.
		c := *e.conn.Config()
		c.Control = engineControl(e.opts.control)
		e.conn.Reconfigure(now, e.p.share(c), o)
	}
	if t.options {
		e.conn.SetOptions(now, e.socketOptions(), o)
	}
	if t.resize {
		if e.connecting() {
			e.calls.resize = true // the SYN's offer holds until the handshake ends
			return
		}
		e.conn.SetRecvBuffer(now, e.recvBuffer(), o)
	}
}

// pollQuickAck reports a change of TCP_QUICKACK to the engine. tcpip.SocketOptions has no callback
// for it.
func (e *Endpoint) pollQuickAck(o *tcp.Output) {
	if e.ops.GetQuickAck() == e.quickAckOff {
		e.quickAckOff = !e.quickAckOff
		e.conn.SetOptions(e.now, e.socketOptions(), o)
	}
}
