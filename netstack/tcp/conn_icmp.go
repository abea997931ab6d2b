package tcp

import "tcpwheel/wheel"

// ICMPError is an ICMP error message that quotes a segment.
type ICMPError struct {
	Kind ICMPKind
	Seq  Seq    // of the quoted segment
	MTU  uint32 // of the next hop, bytes, for ICMPTooBig; 0 if unknown
}

// ICMPKind is the meaning of an ICMP message, for both IP versions.
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

// ICMP takes an ICMP error message (RFC 5927, RFC 9293 §3.9.2.2). If the quoted segment is not in
// flight, it is counted and ignored. A hard error ends a connection during its handshake, and so
// does an unreachable destination with Config.ICMPEndsHandshake. Later, and for other errors except
// Source Quench, it sets SoftErr and EventSoftError. ICMPTooBig lowers the MSS and retransmits the
// segments that are too long.
func (c *Conn) ICMP(now wheel.Time, m ICMPError, o *Output) {
	if c.state == StateClosed || c.state == StateTimeWait {
		return
	}
	// RFC 5927 §4.1: a message counts only if the sequence number is in flight: "SND.UNA =< SEG.SEQ
	// < SND.NXT".
	if !m.Seq.InWindow(c.snd.una, c.snd.nxt.Sub(c.snd.una)) {
		o.Counters.OutOfWindowIcmps++
		return
	}
	var err Error
	switch m.Kind {
	case ICMPSourceQuench:
		// RFC 9293 §3.9.2.2 (MUST-55): "TCP implementations MUST silently discard any received ICMP
		// Source Quench messages".
		return
	case ICMPTooBig:
		if c.snd.icmp(m) {
			c.output(now, o)
		}
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
	// RFC 5927 §5.2: in synchronized states, hard errors are treated as soft errors.
	hard := m.Kind == ICMPProtocolUnreachable || m.Kind == ICMPPortUnreachable
	if c.snd.cfg.ICMPEndsHandshake {
		// DEVIATION RFC 9293 §3.9.2.2 (MUST-56): a program that dials hears of it at once, as on Linux.
		hard = hard || m.Kind == ICMPNetUnreachable || m.Kind == ICMPHostUnreachable || m.Kind == ICMPProhibited
	}
	if hard && !c.state.synchronized() {
		o.Counters.AttemptFails++
		c.closed(now, err, o)
		return
	}
	c.snd.softErr = err
	o.Events |= EventSoftError
}

const (
	// minMTU6 is the least MTU of a link of IPv6.
	minMTU6 = 1280
	// minPMTU is the least path MTU that a message can cause: Linux's net.ipv4.route.min_pmtu. A
	// link of a smaller MTU is no path for packets of IPv4 that may not be fragmented.
	minPMTU = 552
)

// plateaus are the MTUs to try where a router does not say its own (RFC 1191 §7), to the floor.
var plateaus = []int{32000, 17914, 8166, 4352, 2002, 1492, 1006, minPMTU}
