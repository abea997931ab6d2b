package netstack

import (
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// icmpMessage is an ICMP message about a segment of the connection.
type icmpMessage struct {
	tcp.ICMPError
	err    tcpip.Error      // gVisor's error; nil for packet too big
	record *tcpip.SockError // for the error queue; nil unless IP_RECVERR is set
}

// HandleError implements stack.TransportEndpoint. It processes an ICMP message about a segment.
func (e *Endpoint) HandleError(te stack.TransportError, pkt *stack.PacketBuffer) {
	quote, ok := pkt.Data().PullUp(8) // RFC 792: at least the first 64 bits of the segment
	if !ok {
		return
	}
	m := icmpMessage{ICMPError: tcp.ICMPError{Seq: tcp.Seq(header.TCP(quote).SequenceNumber())}}
	switch te.Kind() {
	case stack.PacketTooBigTransportError:
		m.Kind = tcp.ICMPTooBig
		if mtu := te.Info(); mtu > 0 {
			// The stack has subtracted the IP header.
			m.MTU = mtu + header.IPv4MinimumSize
			if pkt.NetworkProtocolNumber == header.IPv6ProtocolNumber {
				m.MTU = mtu + header.IPv6MinimumSize
			}
		}
	case stack.DestinationNetworkUnreachableTransportError:
		m.Kind, m.err = tcp.ICMPNetUnreachable, &tcpip.ErrNetworkUnreachable{}
	case stack.DestinationHostUnreachableTransportError:
		m.Kind, m.err = tcp.ICMPHostUnreachable, &tcpip.ErrHostUnreachable{}
	case stack.DestinationHostDownTransportError:
		m.Kind, m.err = tcp.ICMPHostUnreachable, &tcpip.ErrHostDown{}
	case stack.SourceHostIsolatedTransportError:
		m.Kind, m.err = tcp.ICMPHostUnreachable, &tcpip.ErrNoNet{}
	case stack.SourceRouteFailedTransportError:
		m.Kind, m.err = tcp.ICMPHostUnreachable, &tcpip.ErrNotSupported{}
	case stack.DestinationPortUnreachableTransportError:
		m.Kind, m.err = tcp.ICMPPortUnreachable, &tcpip.ErrConnectionRefused{}
	case stack.DestinationProtoUnreachableTransportError:
		m.Kind, m.err = tcp.ICMPProtocolUnreachable, &tcpip.ErrUnknownProtocolOption{}
	default:
		return
	}
	if m.err != nil && wantsErrors(&e.ops, pkt.NetworkProtocolNumber) {
		m.record = &tcpip.SockError{
			Err: m.err, Cause: te, Payload: pkt.Data().AsRange().ToView(), NetProto: pkt.NetworkProtocolNumber,
			Dst: tcpip.FullAddress{NIC: pkt.NICID}, Offender: tcpip.FullAddress{NIC: pkt.NICID},
		}
	}
	e.inboxMu.Lock()
	if in := e.lockedInbox(); len(in.icmp) < maxInboxSegments {
		in.icmp = append(in.icmp, m)
	} else {
		m.release()
	}
	e.inboxMu.Unlock()
	e.kick()
}

// release releases a record that was not queued.
func (m *icmpMessage) release() {
	if m.record != nil {
		m.record.Payload.Release()
		m.record = nil
	}
}

// dropErrors empties the error queue of a closed endpoint.
func dropErrors(ops *tcpip.SocketOptions) {
	for r := ops.DequeueErr(); r != nil; r = ops.DequeueErr() {
		r.Payload.Release()
	}
}

// wantsErrors reports whether IP_RECVERR or IPV6_RECVERR is set.
func wantsErrors(ops *tcpip.SocketOptions, net tcpip.NetworkProtocolNumber) bool {
	if net == header.IPv6ProtocolNumber {
		return ops.GetIPv6RecvError()
	}
	return ops.GetIPv4RecvError()
}

// handleICMP reports an ICMP message to the engine.
//
// Unlike in gVisor, a message counts only if it quotes a segment in flight (RFC 5927 §4.1): an
// attacker off the path cannot forge one at will. Other messages are neither reported nor queued.
func (st *step) handleICMP(now wheel.Time, m *icmpMessage) {
	o := &st.out
	defer m.release()
	was, strays := st.e.conn.State(), o.Counters.OutOfWindowIcmps
	st.e.conn.ICMP(now, m.ICMPError, o)
	if m.err == nil || was == tcp.StateClosed || was == tcp.StateTimeWait || o.Counters.OutOfWindowIcmps != strays {
		return
	}
	st.e.lastErr = m.err
	st.queueError(m)
	if st.e.conn.State() == tcp.StateClosed {
		st.e.hardErr = m.err
		st.e.p.stats.FailedConnectionAttempts.Increment()
		if l := st.e.parent; l != nil {
			l.e.stats.more().FailedConnectionAttempts.Increment()
		}
	}
}

// maxQueuedErrs bounds the records added to the error queue until it has been read empty.
const maxQueuedErrs = 64

// queueError adds a message to the error queue, unless it is full: the network must not control how
// much memory it takes.
func (st *step) queueError(m *icmpMessage) {
	r := m.record
	if r == nil {
		return
	}
	if st.e.ops.PeekErr() == nil {
		st.e.queuedErrs = 0
	}
	if st.e.queuedErrs == maxQueuedErrs {
		return
	}
	st.e.queuedErrs++
	m.record = nil
	id := st.e.info.ID
	r.Dst.Addr, r.Dst.Port = id.RemoteAddress, id.RemotePort
	r.Offender.Addr, r.Offender.Port = id.LocalAddress, id.LocalPort
	st.e.ops.QueueErr(r)
}
