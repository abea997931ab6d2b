package netstack

import (
	"io"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"tcpwheel/netstack/tcp"
)

// Read implements tcpip.Endpoint. No lock but that of other readers is held while dst is written to.
func (e *Endpoint) Read(dst io.Writer, opts tcpip.ReadOptions) (tcpip.ReadResult, tcpip.Error) {
	e.readMu.Lock()
	defer e.readMu.Unlock()
	e.mu.Lock()
	if err := e.checkRead(); err != nil {
		e.mu.Unlock()
		if _, ok := err.(*tcpip.ErrClosedForReceive); ok {
			e.stats.more().ReadErrors.ReadClosed.Increment()
		}
		return tcpip.ReadResult{}, err
	}
	var b buffer.Buffer
	if opts.Peek {
		b = e.rcv.ready.Clone()
	} else {
		b = e.rcv.ready // what is left goes back
		e.rcv.ready = buffer.Buffer{}
	}
	e.mu.Unlock()

	n, err := writeOut(&b, dst)
	if opts.Peek {
		b.Release()
	} else {
		e.putBack(&b, n)
	}
	if n == 0 && err != nil {
		return tcpip.ReadResult{}, &tcpip.ErrBadBuffer{}
	}
	return tcpip.ReadResult{Count: n, Total: n}, nil
}

// putBack returns what was not read, of which the first n octets were.
func (e *Endpoint) putBack(b *buffer.Buffer, n int) {
	e.wasRead(b, n)
	e.mu.Lock()
	kick := n > 0 && e.phase == phaseConn
	if e.rcvUsed == 0 { // the endpoint was closed, or ended its reading, meanwhile
		e.mu.Unlock()
		b.Release()
		return
	}
	e.rcvUsed -= n
	b.Merge(&e.rcv.ready)
	e.rcv.ready = *b
	if kick {
		e.todo.consumed += uint32(n)
		kick = e.windowMatters()
	}
	e.mu.Unlock()
	if kick {
		e.kick()
	}
}

// windowMatters reports whether what was read since the connection was last told may open its window: it is not told of each octet.
func (e *Endpoint) windowMatters() bool {
	return e.todo.consumed >= 1024 || e.rcvUsed == 0
}

// growRecv has SO_RCVBUF follow the buffer that the connection has given itself: as much as it offers may come at once.
func (e *Endpoint) growRecv() {
	if n := int64(e.conn.RecvBuffer()); !e.fixedRecv && n > e.ops.GetReceiveBufferSize() {
		e.ops.SetReceiveBufferSize(n, false)
	}
}

// checkRead returns why nothing can be read, nil if something can.
func (e *Endpoint) checkRead() tcpip.Error {
	if e.rcvUsed > 0 {
		return nil
	}
	switch s := e.state(); {
	case s == gtcp.StateSynSent:
		return &tcpip.ErrWouldBlock{} // a socket that does not block may connect, and then block in reading
	case s == gtcp.StateError:
		if err := e.takeHardErr(); err != nil {
			return err
		}
		return &tcpip.ErrClosedForReceive{}
	case s == gtcp.StateClose:
		return &tcpip.ErrClosedForReceive{}
	case !e.connected():
		e.stats.more().ReadErrors.NotConnected.Increment()
		return &tcpip.ErrNotConnected{}
	case e.rcvClosed():
		return &tcpip.ErrClosedForReceive{}
	}
	return &tcpip.ErrWouldBlock{}
}

// Shutdown implements tcpip.Endpoint.
func (e *Endpoint) Shutdown(flags tcpip.ShutdownFlags) tcpip.Error {
	e.mu.Lock()
	switch {
	case e.connecting():
		// As gVisor has it: the socket fails, which closing one that connects does not.
		e.hardErr = &tcpip.ErrConnectionReset{}
		e.todo.abort = true
		e.mu.Unlock()
		e.kick()
		return nil
	case e.phase == phaseListen:
		return e.shutdownListener(flags)
	case !e.connected():
		e.mu.Unlock()
		return &tcpip.ErrNotConnected{}
	}
	mask, err := e.shutdown(flags)
	e.mu.Unlock()
	e.kick()
	if mask != 0 {
		e.wq.Notify(mask)
	}
	return err
}

// shutdown notes which directions of a connection are closed.
func (e *Endpoint) shutdown(flags tcpip.ShutdownFlags) (mask eventMask, err tcpip.Error) {
	already := e.sndClosed()
	e.shutRead = e.shutRead || flags&tcpip.ShutdownRead != 0
	e.shutWrite = e.shutWrite || flags&tcpip.ShutdownWrite != 0
	if e.shutRead {
		mask |= readable
		if !e.sndClosed() {
			mask |= readHangUp
		} else if e.rcvUsed > 0 {
			// What nobody will read: the peer learns by a RST.
			e.hardErr = &tcpip.ErrConnectionAborted{}
			e.todo.abort = true
			return mask | writable, nil
		}
	}
	if flags&tcpip.ShutdownWrite != 0 {
		if already {
			if e.conn.State() == tcp.StateTimeWait {
				return mask, &tcpip.ErrNotConnected{}
			}
			return mask, nil
		}
		e.todo.shutdown = true
		mask |= writable
	}
	return mask, nil
}
