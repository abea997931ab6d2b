package netstack

import (
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/tcp"
)

// recordEnd sets the phase and the errors of a connection that has ended, as gVisor's TCP reports
// them.
func (st *step) recordEnd() {
	st.e.phase = phaseClosed
	err, ok := st.e.conn.Err().(tcp.Error)
	switch {
	case !ok, st.before == tcp.StateTimeWait && st.e.hardErr == nil:
		return // a normal close, or TIME-WAIT ended for the next incarnation
	case err == tcp.ErrReset && st.before == tcp.StateCloseWait:
		// Linux's EPIPE: the peer, which has closed, accepts no more data.
		st.e.hardErr = &tcpip.ErrAborted{}
		return
	}
	st.e.phase = phaseError
	if st.e.hardErr == nil {
		st.e.hardErr = errorOf(err)
	}
	switch {
	case st.timedOut:
		// An ICMP error takes precedence, unless the application has read it, or the peer has
		// acknowledged data since.
		if st.e.hardErr = st.e.lastErr; st.e.hardErr == nil || st.e.conn.SoftErr() == nil {
			st.e.hardErr = &tcpip.ErrTimeout{}
		}
		st.e.lastErr = &tcpip.ErrTimeout{}
	case st.before < tcp.StateEstablished:
		st.e.lastErr = st.e.hardErr
	}
}

// errorOf returns gVisor's error for one of the engine's.
func errorOf(err tcp.Error) tcpip.Error {
	switch err {
	case tcp.ErrReset, tcp.ErrProtocol:
		return &tcpip.ErrConnectionReset{}
	case tcp.ErrRefused, tcp.ErrPortUnreachable:
		return &tcpip.ErrConnectionRefused{}
	case tcp.ErrTimeout:
		return &tcpip.ErrTimeout{}
	case tcp.ErrHostUnreachable:
		return &tcpip.ErrHostUnreachable{}
	case tcp.ErrNetUnreachable:
		return &tcpip.ErrNetworkUnreachable{}
	case tcp.ErrAborted:
		return &tcpip.ErrConnectionAborted{}
	case tcp.ErrMessageSize:
		return &tcpip.ErrMessageTooLong{}
	}
	return nil
}

// releaseResources releases the timers, the port, the registration and the route of a connection
// that has ended. The caller holds the baton.
func (st *step) releaseResources() {
	st.e.shard.mu.Lock()
	st.e.shard.detachTimers(st.e)
	st.e.shard.mu.Unlock()
	st.e.mu.Lock()
	b, id, r := st.e.reg, st.e.info.ID, st.e.route
	st.e.reg.portReserved, st.e.reg.registered, st.e.route = false, false, nil
	st.e.mu.Unlock()
	b.end(st.e, id)
	if r != nil {
		r.Release()
	}
}

// end unregisters the endpoint and releases its port.
func (b *registration) end(e *Endpoint, id stack.TransportEndpointID) {
	if b.registered {
		e.p.stack.UnregisterTransportEndpoint(b.nets.list(), ProtocolNumber, id, e, b.flags, b.device)
	}
	if b.portReserved {
		e.p.stack.ReleasePort(b.reservation(&id))
	}
}
