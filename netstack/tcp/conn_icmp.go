package tcp

import "tcpwheel/wheel"

// ICMPError is an ICMP message about a segment that a connection is said to have sent.
type ICMPError struct {
	Kind ICMPKind
	Seq  Seq    // of the segment that the message quotes
	MTU  uint32 // of the next hop, for ICMPTooBig; 0 if the router did not say
}

// ICMPKind is what an ICMP message says, whichever the version.
type ICMPKind uint8

const (
	ICMPNetUnreachable ICMPKind = iota
	ICMPHostUnreachable
	ICMPProtocolUnreachable
	ICMPPortUnreachable
	ICMPProhibited
	ICMPTooBig // fragmentation needed, or packet too big
	ICMPTimeExceeded
	ICMPParameterProblem
	ICMPSourceQuench
)

// ICMP takes an error message (RFC 5927, RFC 9293 §3.9.2.2). One that quotes nothing in flight is counted, and changes nothing. A hard
// error ends a connection whose handshake is not complete; every other one but Source Quench is told by EventSoftError and SoftErr, and the
// connection goes on. A packet that is too big makes segments smaller, and those in flight that are too long are sent again.
func (c *Conn) ICMP(now wheel.Time, m ICMPError, o *Output) {
	if c.state == StateClosed || c.state == StateTimeWait {
		return
	}
	// RFC 5927 §4.1: a message counts only if the sequence number is of what is in flight: "SND.UNA =< SEG.SEQ < SND.NXT".
	if !m.Seq.InWindow(c.sndUna, c.sndNxt.Sub(c.sndUna)) {
		o.Counters.OutOfWindowIcmps++
		return
	}
	var err Error
	switch m.Kind {
	case ICMPSourceQuench:
		// RFC 9293 §3.9.2.2 (MUST-55): "TCP implementations MUST silently discard any received ICMP Source Quench messages".
		return
	case ICMPTooBig:
		c.tooBig(now, m, o)
		return
	case ICMPNetUnreachable, ICMPTimeExceeded:
		err = ErrNetUnreachable
	case ICMPHostUnreachable, ICMPProhibited:
		err = ErrHostUnreachable
	case ICMPProtocolUnreachable, ICMPPortUnreachable:
		err = ErrPortUnreachable
	case ICMPParameterProblem:
		err = ErrProtocol
	default:
		return
	}
	// RFC 5927 §5.2: hard errors for connections in synchronized states are treated as soft ones.
	if (m.Kind == ICMPProtocolUnreachable || m.Kind == ICMPPortUnreachable) && !c.state.synchronized() {
		o.Counters.AttemptFails++
		c.closed(err, o)
		return
	}
	c.softErr = err
	o.Events |= EventSoftError
}

// minMTU6 is the least MTU of a link of IPv6.
const minMTU6 = 1280

// plateaus are the MTUs to try where a router does not say its own (RFC 1191 §7).
var plateaus = []int{32000, 17914, 8166, 4352, 2002, 1492, 1006, 508, 296, 68}

// tooBig takes a smaller MTU of the path, and sends again what did not pass.
func (c *Conn) tooBig(now wheel.Time, m ICMPError, o *Output) {
	if !c.state.synchronized() {
		return // a SYN passes everywhere; and its MSS option is about the way in (RFC 9293 §3.7.2)
	}
	if c.ipv6 && m.MTU < minMTU6 {
		// RFC 8201 §4: "If a node receives a Packet Too Big message reporting a next-hop MTU that is less than the IPv6 minimum
		// link MTU, it must discard it."
		return
	}
	mtu := int(min(m.MTU, 1<<16))
	if mtu == 0 {
		for _, p := range plateaus {
			if mtu = p; p < int(c.mtu) {
				break
			}
		}
	}
	// RFC 1191 §3: "A host MUST never reduce its estimate of the Path MTU below 68 octets."
	mtu = max(mtu, 68, int(c.ipHeaderLen)+HeaderLen+MinMSS)
	if mtu >= int(c.mtu) {
		return
	}
	before := c.mss
	c.mtu = uint32(mtu)
	c.updateMSS()
	if c.mss >= before || c.cc == nil {
		return
	}
	// What is longer than the path takes is lost, which is no sign of congestion (RFC 8201 §5.4).
	found := false
	for id := c.fl.sent.nextUnsacked(c.fl.sent.Front()); id != 0; id = c.fl.sent.nextUnsacked(c.fl.sent.seg(id).next) {
		if s := c.fl.sent.seg(id); s.payload() > c.mss && !s.state.needsRexmit() {
			c.markLost(id)
			found = true
		}
	}
	if found {
		c.rec.tooBig, c.rec.tooBigEnd = true, c.sndNxt
		c.fl.frto.Reset()
		c.output(now, o)
	}
}
