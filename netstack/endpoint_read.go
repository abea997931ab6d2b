package netstack

import (
	"io"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"tcpwheel/netstack/tcp"
)

// Read implements tcpip.Endpoint. While it writes to dst it holds no lock except the readers'.
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
		b = e.rcv.ready // putBack returns the rest
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

// putBack returns the unread part of b, whose first n bytes were read.
func (e *Endpoint) putBack(b *buffer.Buffer, n int) {
	e.releaseRead(b, n)
	e.mu.Lock()
	kick := n > 0 && e.phase == phaseConn
	if e.rcvUsed == 0 { // the endpoint was closed, or stopped reading
		e.mu.Unlock()
		b.Release()
		return
	}
	e.rcvUsed -= int32(n)
	b.Merge(&e.rcv.ready)
	e.rcv.ready = *b
	e.charge()
	if kick {
		e.calls.consumed += uint32(n)
		// The engine does not hear of each byte.
		kick = e.calls.consumed >= 1024 || e.rcvUsed == 0 || e.conn.UpdateDue(e.calls.consumed)
	}
	e.mu.Unlock()
	if kick {
		e.kick()
	}
}

// growRecvBuffer lets SO_RCVBUF follow the engine's receive buffer: what the window offers may
// arrive at once.
func (st *step) growRecvBuffer() {
	if n := int64(st.e.conn.RecvBuffer()); !st.e.recvBufferFixed && n > st.e.ops.GetReceiveBufferSize() {
		st.e.ops.SetReceiveBufferSize(n, false)
	}
}

// checkRead returns why nothing can be read, or nil.
func (e *Endpoint) checkRead() tcpip.Error {
	if e.rcvUsed > 0 {
		return nil
	}
	switch s := e.state(); {
	case s == gtcp.StateSynSent:
		return &tcpip.ErrWouldBlock{} // a non-blocking socket may connect and then block in a read
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
		// As in gVisor, the socket fails; closing a connecting socket does not set an error.
		e.hardErr = &tcpip.ErrConnectionReset{}
		e.calls.abort = true
		e.mu.Unlock()
		e.kick()
		return nil
	case e.phase == phaseListen:
		return e.listener.shutdown(flags)
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

// shutdown records which directions are shut down.
func (e *Endpoint) shutdown(flags tcpip.ShutdownFlags) (mask eventMask, err tcpip.Error) {
	already := e.shutWrite
	e.shutRead = e.shutRead || flags&tcpip.ShutdownRead != 0
	e.shutWrite = e.shutWrite || flags&tcpip.ShutdownWrite != 0
	if e.shutRead {
		mask |= readable
		if !e.shutWrite {
			mask |= readHangUp
		} else if e.rcvUsed > 0 {
			// The data will never be read: the peer gets a RST.
			e.hardErr = &tcpip.ErrConnectionAborted{}
			e.calls.abort = true
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
		e.calls.shutdown = true
		mask |= writable
	}
	return mask, nil
}
