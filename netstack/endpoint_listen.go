package netstack

import (
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/waiter"
)

// Listen implements tcpip.Endpoint.
func (e *Endpoint) Listen(backlog int) tcpip.Error {
	err := e.listen(backlog)
	if err != nil && !err.IgnoreStats() {
		e.p.stats.FailedConnectionAttempts.Increment()
		e.stats.more().FailedConnectionAttempts.Increment()
	}
	return err
}

func (e *Endpoint) listen(backlog int) tcpip.Error {
	e.mu.Lock()
	switch e.phase {
	case phaseListen:
		defer e.mu.Unlock()
		return e.listener.relisten(backlog)
	case phaseInitial:
		if err := e.bindLocked(tcpip.FullAddress{}); err != nil {
			e.mu.Unlock()
			return err
		}
	case phaseBound:
	default:
		e.mu.Unlock()
		e.stats.more().ReadErrors.InvalidEndpointState.Increment()
		return &tcpip.ErrInvalidEndpointState{}
	}
	e.phase = phaseListen
	e.listener = &listener{e: e}
	e.listener.setBacklog(backlog)
	b, id := e.reg, e.info.ID
	e.mu.Unlock()
	err := e.p.stack.RegisterTransportEndpoint(b.nets.list(), ProtocolNumber, id, e, b.flags, b.device)
	e.mu.Lock()
	switch {
	case err != nil:
		e.phase = phaseClosed
		e.reg.portReserved = false
	case e.closed:
		b.registered, b.portReserved = true, false // Close has released the port
		err = &tcpip.ErrInvalidEndpointState{}
	default:
		e.reg.registered = true
		e.p.listeners.Store(e, nil)
	}
	e.mu.Unlock()
	if err != nil {
		b.end(e, id)
	}
	return err
}

// listening returns the listener, or nil if the endpoint does not listen.
func (e *Endpoint) listening() *listener {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.phase != phaseListen {
		return nil
	}
	return e.listener
}

// Accept implements tcpip.Endpoint.
func (e *Endpoint) Accept(peer *tcpip.FullAddress) (tcpip.Endpoint, *waiter.Queue, tcpip.Error) {
	l := e.listening()
	if l == nil {
		return nil, nil, &tcpip.ErrInvalidEndpointState{}
	}
	l.mu.Lock()
	if l.shutDown || l.closed {
		l.mu.Unlock()
		return nil, nil, &tcpip.ErrInvalidEndpointState{}
	}
	c, ok := l.backlog.Accept()
	l.mu.Unlock()
	if !ok {
		return nil, nil, &tcpip.ErrWouldBlock{}
	}
	c.mu.Lock()
	c.parent = nil
	if peer != nil {
		*peer = tcpip.FullAddress{Addr: c.info.ID.RemoteAddress, Port: c.info.ID.RemotePort, NIC: c.reg.nic}
	}
	c.mu.Unlock()
	return c, c.wq, nil
}

// reincarnate ends TIME-WAIT for a SYN of a new incarnation and gives the SYN to the listener. If
// no listener has room for it, it does nothing and returns false. The caller holds the baton.
func (st *step) reincarnate(seg *segment) bool {
	e := st.e
	pkt := seg.pkt
	e.mu.Lock()
	id := e.info.ID
	e.mu.Unlock()
	at := stack.TransportEndpointID{LocalAddress: id.LocalAddress, LocalPort: id.LocalPort}
	le, ok := e.p.stack.FindTransportEndpoint(pkt.NetworkProtocolNumber, ProtocolNumber, at, pkt.NICID).(*Endpoint)
	if !ok {
		return false
	}
	l := le.listening()
	if l == nil || !l.hasRoom() {
		return false
	}
	e.mu.Lock()
	e.calls.recycle = true
	e.mu.Unlock()
	s := e.shard.borrowScratch()
	e.step(s, nil)
	e.shard.returnScratch(s, e)
	next := *seg
	next.pkt = nil // the payload of a SYN is not kept
	l.input(id, &next, pkt)
	return true
}
