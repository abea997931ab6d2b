package tcp

import (
	"net/netip"

	"tcpwheel/wheel"
)

// Input processes a segment that arrived for this host; its checksum must have been verified. s is
// the connection that took it, or nil.
func (e *Engine) Input(now wheel.Time, p *Packet) (s *Socket, v Disposition) {
	now = e.setNow(now)
	e.out.Counters.InSegs++
	in := Inbound{Header: &p.Header, Len: p.Len, CE: p.CE}
	if e.lastHit.socket != nil && p.Src == e.lastHit.remote && p.Dst == e.lastHit.local {
		s = e.lastHit.socket // segments come in bursts
	} else {
		s = e.find(p.Dst, p.Src)
		if s == nil && (badAddr(p.Src.Addr().Unmap()) != "" || badAddr(p.Dst.Addr().Unmap()) != "") {
			// RFC 9293 §3.9.2.3 (MUST-57, MUST-63): segments to or from such addresses are silently
			// dropped.
			return nil, Disposition{}
		}
		if s != nil && isPlain(p.Dst.Addr()) && isPlain(p.Src.Addr()) {
			e.lastHit.local, e.lastHit.remote, e.lastHit.socket = p.Dst, p.Src, s
		}
	}
	if e.trace != nil {
		e.traceReceived(s, p)
	}
	if s == nil {
		local, remote := unmapped(p.Dst), unmapped(p.Src)
		if l := e.listener(local); l != nil {
			return l.input(now, local, remote, &in)
		}
		e.refuse(local, remote, &in)
		return nil, Disposition{}
	}
	if s.conn.inTimeWait && p.Header.Flags&(SYN|ACK|RST) == SYN {
		if s, ok := e.reopenTimeWait(now, s, &in); ok {
			return s, Disposition{}
		}
	}
	if s.pending != nil {
		v = s.pending.inputHalfOpen(now, s, &in)
	} else {
		v = s.conn.Input(now, &in, &e.out)
	}
	e.apply(s)
	return s, v
}

// lastFound is the connection that took the last segment. It is likely to take the next one.
type lastFound struct {
	local, remote netip.AddrPort
	socket        *Socket
}

// ICMP processes an ICMP error about a segment from local to remote. It is ignored if there is no
// such connection.
func (e *Engine) ICMP(now wheel.Time, local, remote netip.AddrPort, m ICMPError) {
	now = e.setNow(now)
	if s := e.find(local, remote); s != nil {
		s.conn.ICMP(now, m, &e.out)
		e.apply(s)
	}
}

// refuse answers a segment that belongs to no connection.
func (e *Engine) refuse(local, remote netip.AddrPort, in *Inbound) {
	if rst, ok := StrayReset(in); ok {
		e.out.Counters.OutRsts++
		e.send(local, remote, rst)
	}
}

// send queues a segment that belongs to no connection.
func (e *Engine) send(local, remote netip.AddrPort, h Header) {
	h.SrcPort, h.DstPort = local.Port(), remote.Port()
	e.out.Counters.OutSegs++
	e.packets = append(e.packets, Packet{Src: local, Dst: remote, Header: h})
	if e.trace != nil {
		e.traceSent(nil, &e.packets[len(e.packets)-1], false, 0)
	}
}

// enterTimeWait counts a connection in TIME-WAIT, or closes it at once if there are too many.
func (e *Engine) enterTimeWait(s *Socket) {
	s.conn.inTimeWait = true
	e.timeWait++
	if e.timeWait > e.cfg.MaxTimeWait {
		e.out.Counters.TCPTimeWaitOverflow++
		e.endTimeWait(s)
	}
}

// endTimeWait closes a connection in TIME-WAIT early.
func (e *Engine) endTimeWait(s *Socket) {
	s.conn.closed(s.conn.rcv.lastRecv, ErrNone, &e.out) // nothing is measured here, so any time will do
	e.apply(s)
}

// replaceTimeWait closes a connection in TIME-WAIT so that a new incarnation can take its place.
func (e *Engine) replaceTimeWait(s *Socket) {
	e.out.Counters.TWRecycled++
	e.endTimeWait(s)
}

// reopenTimeWait handles a SYN for a connection in TIME-WAIT. If the SYN starts a new incarnation,
// it returns that connection.
func (e *Engine) reopenTimeWait(now wheel.Time, old *Socket, in *Inbound) (s *Socket, ok bool) {
	local, remote := old.Local(), old.Remote()
	l := e.listener(local)
	was := old.conn.TimeWait()
	least, reopens := was.Reopens(in.Header)
	if l == nil || l.backlog.Full() || !reopens {
		return nil, false
	}
	e.replaceTimeWait(old)
	return l.open(now, local, remote, in, ISSAfter(e.secret.ISN(now, local, remote), least)), true
}
