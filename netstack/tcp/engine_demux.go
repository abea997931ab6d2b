package tcp

import (
	"net/netip"
	"time"

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
		if badAddr(p.Src.Addr()) != "" || badAddr(p.Dst.Addr()) != "" {
			// RFC 9293 §3.9.2.3 (MUST-57, MUST-63): segments to or from such addresses are silently
			// dropped.
			return nil, Disposition{}
		}
		// Remember addresses only if they are neither IPv4-mapped nor with a zone.
		if s = e.find(endsOf(p.Dst, p.Src)); s != nil && p.Dst == s.Local() && p.Src == s.Remote() {
			e.lastHit = lastFound{p.Dst, p.Src, s}
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
	if s.pending != nil && s.pending.defersHandshake(now, &s.conn, &in, &e.out) {
		e.apply(s)
		return s, Disposition{}
	}
	v = s.conn.Input(now, &in, &e.out)
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
	if s := e.find(endsOf(local, remote)); s != nil {
		s.conn.ICMP(now, m, &e.out)
		e.apply(s)
	}
}

// refuse answers a segment that belongs to no connection.
func (e *Engine) refuse(local, remote netip.AddrPort, in *Inbound) {
	h := in.Header
	switch {
	case h.Flags.Has(RST):
		// RFC 9293 §3.10.7.1: "An incoming segment containing a RST is discarded."
	case h.Flags.Has(ACK):
		// RFC 9293 §3.10.7.1: "If the ACK bit is on, <SEQ=SEG.ACK><CTL=RST>"
		e.reset(local, remote, Header{Seq: h.Ack, Flags: RST})
	default:
		// RFC 9293 §3.10.7.1: "If the ACK bit is off, sequence number zero is used,
		// <SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>"
		n := Arrival{Seq: h.Seq, Len: in.Len, SYN: h.Flags.Has(SYN), FIN: h.Flags.Has(FIN)}.SegLen()
		e.reset(local, remote, Header{Ack: h.Seq.Add(n), Flags: RST | ACK})
	}
}

// reset sends a RST that belongs to no connection.
//
// DEVIATION RFC 7323 §5.2: it has no timestamps, even if the segment that it answers has.
func (e *Engine) reset(local, remote netip.AddrPort, h Header) {
	e.out.Counters.OutRsts++
	e.send(local, remote, h)
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
	s.conn.closed(ErrNone, &e.out)
	e.apply(s)
}

// replaceTimeWait closes a connection in TIME-WAIT so that a new incarnation can take its place. It
// returns the new ISS: iss, or a number beyond everything that the old connection sent.
//
// RFC 9293 §3.6.1: a TCP may accept a new SYN to reopen the connection directly from TIME-WAIT, if
// it "assigns its initial sequence number for the new connection to be larger than the largest
// sequence number it used on the previous connection incarnation".
func (e *Engine) replaceTimeWait(s *Socket, iss Seq) Seq {
	const gap = 65535 + 2 // Linux's, tcp_timewait_state_process
	if nxt := s.conn.sndNxt; !iss.After(nxt) {
		iss = nxt.Add(gap)
	}
	e.out.Counters.TWRecycled++
	e.endTimeWait(s)
	return iss
}

// reopenTimeWait handles a SYN for a connection in TIME-WAIT. If the SYN starts a new incarnation,
// it returns that connection.
func (e *Engine) reopenTimeWait(now wheel.Time, old *Socket, in *Inbound) (s *Socket, ok bool) {
	local, remote := old.Local(), old.Remote()
	l := e.listener(local)
	if l == nil || l.full() || !timeWaitSYN(&old.conn, in.Header) {
		return nil, false
	}
	iss := e.replaceTimeWait(old, e.secret.ISN(now, local, remote))
	return l.open(now, local, remote, in, iss), true
}

// timeWaitSYN reports whether a SYN for a connection in TIME-WAIT must belong to a new incarnation.
// It decides as Linux does.
//
// RFC 6191 §2: if both have timestamps, a SYN with a later timestamp than the last one received;
// with equal timestamps, or without them, a SYN with a later sequence number than the last one
// received.
func timeWaitSYN(c *Conn, h *Header) bool {
	recent, ok := c.paws.Recent()
	if c.tsOn && ok && h.Options.HasTimestamps {
		if h.Options.TSVal != recent {
			return tsBefore(recent, h.Options.TSVal)
		}
	}
	return h.Seq.After(c.rq.Nxt())
}

// timeWaitDial reports whether the addresses and ports of a connection in TIME-WAIT may be dialed
// again. Timestamps must be in use, and a second must have passed since the peer's last one, so
// that its TIME-WAIT accepts ours as later (Linux's tcp_tw_reuse).
func timeWaitDial(now wheel.Time, c *Conn) bool {
	return c.state == StateTimeWait && c.tsOn && now.Sub(c.paws.updated) >= timeWaitReuse &&
		now.Sub(c.paws.updated) > c.cfg.TimestampTick
}

const timeWaitReuse = time.Second
