package netstack

import "tcpwheel/wheel"

// applyOptions reports changed options to the engine.
func (st *step) applyOptions(now wheel.Time, t pendingCalls) {
	o := &st.out
	if t.config {
		st.e.conn.Reconfigure(now, st.e.p.config(st.e.opts, st.e.recvBufferFixed, st.e.conn.Options(), recvBufferOf(&st.e.ops)), o)
	}
	if t.control {
		// Only the control changes on an open connection.
		c := *st.e.conn.Config()
		c.Control = engineControl(st.e.opts.control)
		st.e.conn.Reconfigure(now, st.e.p.share(c), o)
	}
	if t.options {
		st.e.conn.SetOptions(now, st.e.socketOptions(), o)
	}
	if t.resize {
		if st.e.connecting() {
			st.e.calls.resize = true // the SYN's offer holds until the handshake ends
			return
		}
		st.e.conn.SetRecvBuffer(now, recvBufferOf(&st.e.ops), o)
	}
}

// pollQuickAck reports a change of TCP_QUICKACK to the engine. tcpip.SocketOptions has no callback
// for it.
func (st *step) pollQuickAck() {
	o := &st.out
	if st.e.ops.GetQuickAck() == st.e.quickAckOff {
		st.e.quickAckOff = !st.e.quickAckOff
		st.e.conn.SetOptions(st.e.now, st.e.socketOptions(), o)
	}
}
