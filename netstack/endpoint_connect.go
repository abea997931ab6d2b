package netstack

import (
	"time"

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
	defer e.mu.Unlock() // the tables of ports call nobody
	return e.bindLocked(addr)
}

func (e *Endpoint) bindLocked(addr tcpip.FullAddress) tcpip.Error {
	if e.phase != phaseInitial {
		return &tcpip.ErrAlreadyBound{}
	}
	asked := addr.Addr
	e.info.bind = &asked
	addr, net, err := e.info.tell().AddrNetProtoLocked(addr, e.ops.GetV6Only(), true)
	if err != nil {
		return err
	}
	b := binding{
		nets: network(net), flags: e.opts.flags, device: tcpip.NICID(e.ops.GetBindToDevice()), any: addr.Addr.Len() == 0,
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
		return e.p.stack.CheckRegisterTransportEndpoint(b.nets.list(), ProtocolNumber, at, b.flags, b.device) == nil, nil
	})
	if err != nil {
		e.p.stats.FailedPortReservations.Increment()
		return err
	}
	b.reserved = true
	id.LocalPort = port
	e.bound, e.info.ID, e.phase = b, id, phaseBound
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
	if e.connected() && !e.told {
		e.told = true
		e.mu.Unlock()
		return nil // as connect(2) on a socket that does not block, when it is asked again
	}
	addr, net, nic, err := e.mayConnect(addr)
	if err != nil {
		e.mu.Unlock()
		return err
	}
	e.phase = phaseConnecting
	id, b, flags, device := e.info.ID, e.bound, e.opts.flags, tcpip.NICID(e.ops.GetBindToDevice())
	e.mu.Unlock()

	bound, at := b, id
	fail := func(err tcpip.Error) tcpip.Error {
		e.mu.Lock()
		e.phase = was
		closed := e.closed
		e.mu.Unlock()
		if closed {
			e.giveUp(bound, at)
		}
		return err
	}
	r, err := e.p.stack.FindRoute(nic, id.LocalAddress, addr.Addr, net, false)
	if err != nil {
		return fail(err)
	}
	both := b.nets == bothVersions
	id.LocalAddress, id.RemoteAddress, id.RemotePort = r.LocalAddress(), r.RemoteAddress(), addr.Port
	if id.LocalPort != 0 {
		err = e.p.stack.RegisterTransportEndpoint(network(net).list(), ProtocolNumber, id, e, b.flags, b.device)
	} else {
		b = binding{nets: network(net), toPeer: true, flags: flags, device: device}
		id.LocalPort, err = e.pickPort(id, b, r.NICID())
		b.reserved = err == nil
	}
	if err != nil {
		r.Release()
		if _, ok := err.(*tcpip.ErrPortInUse); ok {
			err = &tcpip.ErrBadLocalAddress{}
		}
		return fail(err)
	}
	b.nic = nic
	if both {
		// A socket bound to any address has the port for both versions of IP, of which it needs one.
		other := b
		if other.nets = onlyV4; network(net) == onlyV4 {
			other.nets = onlyV6
		}
		e.p.stack.ReleasePort(other.reservation(&id))
	}
	b.nets, b.registered = network(net), true

	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		e.giveUp(b, id)
		r.Release()
		return &tcpip.ErrAborted{}
	}
	e.bound, e.info.ID, e.info.RegisterNICID = b, id, nic
	e.setRoute(r)
	e.initConn(0, 0)
	e.phase, e.opening = phaseConn, openActive
	e.mu.Unlock()
	e.kick()
	return &tcpip.ErrConnectStarted{}
}

// mayConnect returns where the endpoint is to connect to, or why it may not.
func (e *Endpoint) mayConnect(addr tcpip.FullAddress) (to tcpip.FullAddress, net tcpip.NetworkProtocolNumber, nic tcpip.NICID, err tcpip.Error) {
	to, net, err = e.info.tell().AddrNetProtoLocked(addr, e.ops.GetV6Only(), false)
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
		if e.bound.nic != 0 {
			if nic != 0 && nic != e.bound.nic {
				return to, net, 0, &tcpip.ErrHostUnreachable{}
			}
			nic = e.bound.nic
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

// pickPort reserves an ephemeral port and registers the endpoint there.
func (e *Endpoint) pickPort(id stack.TransportEndpointID, b binding, nic tcpip.NICID) (uint16, tcpip.Error) {
	st := e.p.stack
	same := id.LocalAddress == id.RemoteAddress
	reuse := e.p.reuses(id)
	port, err := st.PickEphemeralPort(st.SecureRNG(), func(port uint16) (bool, tcpip.Error) {
		if same && port == id.RemotePort {
			return false, nil // it would connect to itself
		}
		at := id
		at.LocalPort = port
		res := b.reservation(&at)
		if _, err := st.ReservePort(st.SecureRNG(), res, nil); err != nil {
			if _, inUse := err.(*tcpip.ErrPortInUse); !inUse || !reuse || !e.p.endTimeWait(b.nets.list()[0], at, nic) {
				return false, nil
			}
			if _, err := st.ReservePort(st.SecureRNG(), res, nil); err != nil {
				return false, nil
			}
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
	return port, err
}

// reuses reports whether a port may be used again whose connection is in TIME-WAIT.
func (p *protocol) reuses(id stack.TransportEndpointID) bool {
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

// endTimeWait ends a connection that has been in TIME-WAIT for a second at least, and reports whether it did.
func (p *protocol) endTimeWait(net tcpip.NetworkProtocolNumber, id stack.TransportEndpointID, nic tcpip.NICID) bool {
	old, ok := p.stack.FindTransportEndpoint(net, ProtocolNumber, id, nic).(*Endpoint)
	if !ok {
		return false
	}
	now := p.now()
	old.mu.Lock()
	ok = old.phase == phaseConn && old.conn.State() == tcp.StateTimeWait && now.Sub(old.now) >= time.Second
	if ok {
		old.todo.recycle = true
	}
	old.mu.Unlock()
	if ok {
		old.kick()
	}
	return ok
}

// initConn makes the connection between the ends of e.info.ID over e.route. Its initial sequence number is iss; or, if that is 0, of the
// secret's choice, after least if that is not 0.
func (e *Endpoint) initConn(iss, least tcp.Seq) {
	id := e.info.ID
	local, remote := end(id.LocalAddress, id.LocalPort), end(id.RemoteAddress, id.RemotePort)
	now := e.at(e.p.now())
	if iss == 0 {
		iss = e.p.secret.ISN(now, local, remote)
	}
	if least != 0 && !iss.After(least) {
		const gap = 65535 + 2 // Linux's, tcp_timewait_state_process
		iss = least.Add(gap)
	}
	socket := e.opts.socket(&e.ops)
	cfg := e.p.config(e.opts, e.fixedRecv, socket, e.recvBuffer())
	e.conn.Init(cfg, e.path(), iss, e.p.secret.TimestampOffset(local, remote))
}

// Disconnect implements tcpip.Endpoint.
func (*Endpoint) Disconnect() tcpip.Error { return &tcpip.ErrNotSupported{} }

// Close implements tcpip.Endpoint.
func (e *Endpoint) Close() { e.close(false) }

// Abort implements stack.TransportEndpoint: the connection ends with a RST.
func (e *Endpoint) Abort() { e.close(true) }

func (e *Endpoint) close(abort bool) {
	e.mu.Lock()
	if e.closed && !abort {
		e.mu.Unlock()
		return
	}
	first := !e.closed
	e.closed = true
	b, id, l := e.bound, e.info.ID, e.listener
	switch e.phase {
	case phaseConn:
		linger := e.ops.GetLinger()
		e.todo.close = e.todo.close || first
		e.todo.linger0 = linger.Enabled && linger.Timeout == 0
		if e.conn.State() <= tcp.StateSynReceived {
			abort = true // the handshake is given up
		}
		e.todo.abort = e.todo.abort || abort
		if abort {
			e.hardErr = &tcpip.ErrAborted{}
		}
		e.shutRead, e.shutWrite = true, true
		e.mu.Unlock()
		e.kick()
		// What was not read is dropped after the connection has been told of the close, so that it answers with a RST.
		e.mu.Lock()
		e.rcv.drop()
		e.rcvUsed = 0
		e.mu.Unlock()
		e.wq.Notify(waiter.ReadableEvents | waiter.WritableEvents)
		return
	case phaseConnecting: // Connect finds out
		e.mu.Unlock()
		return
	case phaseInitial, phaseBound, phaseListen:
		e.phase = phaseClosed
		e.bound.reserved, e.bound.registered = false, false
	case phaseClosed, phaseError:
		b = binding{}
	}
	e.rcv.drop()
	e.rcvUsed = 0
	e.dropErrors()
	e.mu.Unlock()
	e.giveUp(b, id)
	if l != nil {
		l.close()
	}
	e.wq.Notify(hungUp)
}
