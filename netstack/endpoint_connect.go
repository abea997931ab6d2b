package netstack

import (
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/waiter"

	"tcpwheel/netstack/tcp"
)

const hungUp = waiter.EventHUp | waiter.EventErr | waiter.ReadableEvents | waiter.WritableEvents

// Bind implements tcpip.Endpoint.
func (e *Endpoint) Bind(addr tcpip.FullAddress) tcpip.Error {
	e.mu.Lock()
	defer e.mu.Unlock() // the port tables make no callbacks
	return e.bindLocked(addr)
}

func (e *Endpoint) bindLocked(addr tcpip.FullAddress) tcpip.Error {
	if e.phase != phaseInitial {
		return &tcpip.ErrAlreadyBound{}
	}
	asked := addr.Addr
	e.info.bindAddr = &asked
	addr, net, err := e.info.transportInfo().AddrNetProtoLocked(addr, e.ops.GetV6Only(), true)
	if err != nil {
		return err
	}
	b := registration{
		nets: network(net), flags: e.opts.flags, device: tcpip.NICID(e.ops.GetBindToDevice()), anyAddr: addr.Addr.Len() == 0,
	}
	if net == header.IPv6ProtocolNumber && !e.ops.GetV6Only() && addr.Addr == (tcpip.Address{}) && e.p.stack.CheckNetworkProtocol(header.IPv4ProtocolNumber) {
		b.nets = bothVersions
	}
	id := e.info.ID
	if addr.Addr.Len() != 0 {
		if b.nic = e.p.stack.CheckLocalAddress(addr.NIC, net, addr.Addr); b.nic == 0 {
			return &tcpip.ErrBadLocalAddress{}
		}
		id.LocalAddress = addr.Addr
	}
	id.LocalPort = addr.Port
	port, err := e.p.stack.ReservePort(e.p.stack.SecureRNG(), b.reservation(&id), func(port uint16) (bool, tcpip.Error) {
		at := id
		at.LocalPort = port
		free := e.p.stack.CheckRegisterTransportEndpoint(b.nets.list(), ProtocolNumber, at, b.flags, b.device) == nil
		return free && !e.p.timeWaits.blocks(b.reservation(&at), addr.Port != 0), nil
	})
	if err != nil {
		e.p.stats.FailedPortReservations.Increment()
		return err
	}
	b.portReserved = true
	id.LocalPort = port
	e.reg, e.info.ID, e.phase = b, id, phaseBound
	return nil
}

// Connect implements tcpip.Endpoint.
func (e *Endpoint) Connect(addr tcpip.FullAddress) tcpip.Error {
	err := e.connect(addr)
	if err != nil && !err.IgnoreStats() {
		e.p.stats.FailedConnectionAttempts.Increment()
		e.stats.more().FailedConnectionAttempts.Increment()
		e.wq.Notify(hungUp)
	}
	return err
}

func (e *Endpoint) connect(addr tcpip.FullAddress) tcpip.Error {
	e.mu.Lock()
	was := e.phase
	if e.connected() && !e.connectReported {
		e.connectReported = true
		e.mu.Unlock()
		return nil // like connect(2) repeated on a non-blocking socket
	}
	addr, net, nic, err := e.mayConnect(addr)
	if err != nil {
		e.mu.Unlock()
		return err
	}
	e.phase = phaseConnecting
	id, bound := e.info.ID, e.reg
	b := bound
	if id.LocalPort == 0 {
		b = registration{peerOnly: true, flags: e.opts.flags, device: tcpip.NICID(e.ops.GetBindToDevice())}
	}
	e.mu.Unlock()

	r, err := e.p.stack.FindRoute(nic, id.LocalAddress, addr.Addr, net, false)
	if err != nil {
		return bound.connectFailed(e, was, id, err)
	}
	peer := id
	peer.LocalAddress, peer.RemoteAddress, peer.RemotePort = r.LocalAddress(), r.RemoteAddress(), addr.Port
	b.nic = nic
	least, err := b.registerActive(e, &peer, network(net), r.NICID())
	if err != nil {
		r.Release()
		return bound.connectFailed(e, was, id, err)
	}

	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		b.end(e, peer)
		r.Release()
		return &tcpip.ErrAborted{}
	}
	e.reg, e.info.ID, e.info.RegisterNICID = b, peer, nic
	e.setRoute(r, e.experiment(r))
	e.initConn(0, least)
	e.phase, e.opening = phaseConn, openingConnect
	e.mu.Unlock()
	e.kick()
	return &tcpip.ErrConnectStarted{}
}

// connectFailed returns the endpoint to phase was. If the endpoint was closed meanwhile, it
// releases the port that Bind had reserved, b.
func (b *registration) connectFailed(e *Endpoint, was phase, id stack.TransportEndpointID, err tcpip.Error) tcpip.Error {
	e.mu.Lock()
	e.phase = was
	closed := e.closed
	e.mu.Unlock()
	if closed {
		b.end(e, id)
	}
	return err
}

// registerActive registers the endpoint for a connection to the peer in id, and updates b. If id
// has no local port, it picks one. least is 0 or the lower bound of the ISS.
func (b *registration) registerActive(e *Endpoint, id *stack.TransportEndpointID, net networks, nic tcpip.NICID) (least tcp.Seq, err tcpip.Error) {
	both := b.nets == bothVersions
	b.nets = net
	if id.LocalPort != 0 {
		var free bool
		if least, free = e.p.timeWaits.dial(id, e.p.reusesTimeWait(*id)); !free {
			return 0, &tcpip.ErrBadLocalAddress{}
		}
		err = e.p.stack.RegisterTransportEndpoint(net.list(), ProtocolNumber, *id, e, b.flags, b.device)
		if _, inUse := err.(*tcpip.ErrPortInUse); inUse && e.p.reusesTimeWait(*id) {
			if old, ended := e.p.endTimeWait(net.list()[0], *id, nic); ended {
				least = old
				err = e.p.stack.RegisterTransportEndpoint(net.list(), ProtocolNumber, *id, e, b.flags, b.device)
			}
		}
	} else {
		id.LocalPort, least, err = b.pickPort(e, *id, nic)
		b.portReserved = err == nil
	}
	if _, inUse := err.(*tcpip.ErrPortInUse); inUse {
		return 0, &tcpip.ErrBadLocalAddress{}
	}
	if err != nil {
		return 0, err
	}
	b.registered = true
	if both {
		// A socket bound to any address holds the port for both IP versions, but needs one.
		other := *b
		if other.nets = onlyV4; net == onlyV4 {
			other.nets = onlyV6
		}
		e.p.stack.ReleasePort(other.reservation(id))
	}
	return least, nil
}

// mayConnect returns the destination, network protocol and NIC of a Connect, or why the endpoint
// may not connect.
func (e *Endpoint) mayConnect(addr tcpip.FullAddress) (to tcpip.FullAddress, net tcpip.NetworkProtocolNumber, nic tcpip.NICID, err tcpip.Error) {
	to, net, err = e.info.transportInfo().AddrNetProtoLocked(addr, e.ops.GetV6Only(), false)
	if err != nil {
		return to, net, 0, err
	}
	nic = to.NIC
	switch {
	case e.connected():
		return to, net, 0, &tcpip.ErrAlreadyConnected{}
	case e.connecting():
		return to, net, 0, &tcpip.ErrAlreadyConnecting{}
	case e.phase == phaseBound:
		if e.reg.nic != 0 {
			if nic != 0 && nic != e.reg.nic {
				return to, net, 0, &tcpip.ErrHostUnreachable{}
			}
			nic = e.reg.nic
		}
	case e.phase == phaseError:
		if err := e.takeHardErr(); err != nil {
			return to, net, 0, err
		}
		return to, net, 0, &tcpip.ErrConnectionAborted{}
	case e.phase != phaseInitial:
		return to, net, 0, &tcpip.ErrInvalidEndpointState{}
	}
	return to, net, nic, nil
}

// pickPort reserves an ephemeral port and registers the endpoint there. If the port's connection
// was in TIME-WAIT, least is the lower bound of the ISS.
func (b *registration) pickPort(e *Endpoint, id stack.TransportEndpointID, nic tcpip.NICID) (port uint16, least tcp.Seq, err tcpip.Error) {
	st := e.p.stack
	same := id.LocalAddress == id.RemoteAddress
	reuse := e.p.reusesTimeWait(id)
	port, err = st.PickEphemeralPort(st.SecureRNG(), func(port uint16) (bool, tcpip.Error) {
		if same && port == id.RemotePort {
			return false, nil // it would connect to itself
		}
		at := id
		at.LocalPort = port
		res := b.reservation(&at)
		least = 0
		if _, err := st.ReservePort(st.SecureRNG(), res, nil); err != nil {
			if _, inUse := err.(*tcpip.ErrPortInUse); !inUse || !reuse {
				return false, nil
			}
			var ok bool
			if least, ok = e.p.endTimeWait(b.nets.list()[0], at, nic); !ok {
				return false, nil
			}
			if _, err := st.ReservePort(st.SecureRNG(), res, nil); err != nil {
				return false, nil
			}
		}
		if after, free := e.p.timeWaits.dial(&at, reuse); !free || e.p.timeWaits.blocks(res, true) {
			st.ReleasePort(res)
			return false, nil
		} else if after != 0 {
			least = after
		}
		if err := st.RegisterTransportEndpoint(b.nets.list(), ProtocolNumber, at, e, b.flags, b.device); err != nil {
			st.ReleasePort(res)
			if _, inUse := err.(*tcpip.ErrPortInUse); inUse {
				return false, nil
			}
			return false, err
		}
		return true, nil
	})
	if err != nil {
		e.p.stats.FailedPortReservations.Increment()
	}
	return port, least, err
}

// reusesTimeWait reports whether a port whose connection is in TIME-WAIT may be reused.
func (p *protocol) reusesTimeWait(id stack.TransportEndpointID) bool {
	switch p.options().timeWaitReuse {
	case tcpip.TCPTimeWaitReuseGlobal:
		return true
	case tcpip.TCPTimeWaitReuseLoopbackOnly:
		l, r := id.LocalAddress, id.RemoteAddress
		if l.BitLen() == header.IPv4AddressSizeBits {
			return header.IsV4LoopbackAddress(l) && header.IsV4LoopbackAddress(r)
		}
		return l == header.IPv6Loopback && r == header.IPv6Loopback
	}
	return false
}

// endTimeWait ends a connection in TIME-WAIT whose addresses and ports may be dialed again. ok
// reports whether it did; least is the lower bound of the new connection's ISS.
func (p *protocol) endTimeWait(net tcpip.NetworkProtocolNumber, id stack.TransportEndpointID, nic tcpip.NICID) (least tcp.Seq, ok bool) {
	old, ok := p.stack.FindTransportEndpoint(net, ProtocolNumber, id, nic).(*Endpoint)
	if !ok {
		return 0, false
	}
	old.mu.Lock()
	if ok = old.phase == phaseConn; ok {
		was := old.conn.TimeWait()
		least, ok = was.MayDialAgain(p.now())
	}
	if ok {
		old.calls.recycle = true
	}
	old.mu.Unlock()
	if ok {
		old.kick()
	}
	return least, ok
}

// initConn initialises the engine's connection for e.info.ID over e.route. The initial sequence
// number is iss; if that is 0, the secret chooses one, after least if that is not 0.
func (e *Endpoint) initConn(iss, least tcp.Seq) {
	id := e.info.ID
	local, remote := addrPort(id.LocalAddress, id.LocalPort), addrPort(id.RemoteAddress, id.RemotePort)
	now := e.advanceTime(e.p.now())
	if iss == 0 {
		iss = e.p.secret.ISN(now, local, remote)
	}
	if least != 0 {
		iss = tcp.ISSAfter(iss, least)
	}
	socket := e.socketOptions()
	cfg := e.p.config(e.opts, e.recvBufferFixed, socket, recvBufferOf(&e.ops))
	e.conn.Init(cfg, e.path(e.experiment(e.route)), iss, e.p.secret.TimestampOffset(local, remote))
}

// Disconnect implements tcpip.Endpoint.
func (*Endpoint) Disconnect() tcpip.Error { return &tcpip.ErrNotSupported{} }

// Close implements tcpip.Endpoint.
func (e *Endpoint) Close() { e.close(false) }

// Abort implements stack.TransportEndpoint. It ends the connection with a RST.
func (e *Endpoint) Abort() { e.close(true) }

func (e *Endpoint) close(abort bool) {
	e.mu.Lock()
	if e.closed && !abort {
		e.mu.Unlock()
		return
	}
	first := !e.closed
	e.closed = true
	b, id, l := e.reg, e.info.ID, e.listener
	switch e.phase {
	case phaseConn:
		if e.wait != nil && !e.p.timeWaits.take(e) {
			e.mu.Unlock() // it ends at this moment
			return
		}
		linger := e.ops.GetLinger()
		e.calls.close = e.calls.close || first
		e.calls.linger0 = linger.Enabled && linger.Timeout == 0
		if e.conn.State() < tcp.StateSynReceived {
			abort = true // the handshake is abandoned
		}
		e.calls.abort = e.calls.abort || abort
		if abort {
			e.hardErr = &tcpip.ErrAborted{}
		}
		e.shutRead, e.shutWrite = true, true
		e.mu.Unlock()
		e.kick()
		// Unread data is dropped only now: the engine must see it to answer Close with a RST.
		e.mu.Lock()
		e.dropUnread()
		e.mu.Unlock()
		e.wq.Notify(waiter.ReadableEvents | waiter.WritableEvents)
		return
	case phaseConnecting: // Connect will notice
		e.mu.Unlock()
		return
	case phaseInitial, phaseBound, phaseListen:
		e.p.listeners.Delete(e)
		e.phase = phaseClosed
		e.reg.portReserved, e.reg.registered = false, false
	case phaseClosed, phaseError:
		b = registration{}
	}
	e.dropUnread()
	dropErrors(&e.ops)
	e.mu.Unlock()
	b.end(e, id)
	if l != nil {
		l.close()
	}
	e.wq.Notify(hungUp)
}
