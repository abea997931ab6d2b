package netstack

import (
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// change tells the connection of options that were set.
func (e *Endpoint) change(now wheel.Time, t todo, o *tcp.Output) {
	if t.config {
		e.conn.Reconfigure(now, e.p.config(e.opts, e.fixedRecv, e.conn.Options(), e.recvBuffer()), o)
	}
	if t.control {
		// All but the control stays as it was when the connection was opened.
		c := *e.conn.Config()
		c.Control = engineControl(e.opts.control)
		e.conn.Reconfigure(now, e.p.share(c), o)
	}
	if t.options {
		e.conn.SetOptions(now, e.opts.socket(&e.ops), o)
	}
	if t.resize {
		if e.connecting() {
			e.todo.resize = true // what the SYN has offered holds until then
			return
		}
		e.conn.SetRecvBuffer(now, e.recvBuffer(), o)
	}
}

// noticeQuickAck tells the connection of TCP_QUICKACK, which has no other way to be noticed.
func (e *Endpoint) noticeQuickAck(o *tcp.Output) {
	if e.ops.GetQuickAck() == e.noQuick {
		e.noQuick = !e.noQuick
		e.conn.SetOptions(e.now, e.opts.socket(&e.ops), o)
	}
}
