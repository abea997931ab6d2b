package netstack

import (
	"io"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/waiter"

	"tcpwheel/netstack/bufpool"
	"tcpwheel/netstack/tcp"
)

type eventMask = waiter.EventMask

const (
	readable   = waiter.ReadableEvents
	writable   = waiter.WritableEvents
	readHangUp = waiter.EventRdHUp
)

// pieceSize is the part of a long write, in bytes, that is copied before the engine hears of it.
const pieceSize = buffer.MaxChunkSize

// Write implements tcpip.Endpoint. It holds no lock while it reads p. An atomic write takes in one
// piece as much as there is room for, even if other writers use the room meanwhile. Other long
// writes are split into pieces: one is sent while the next is copied.
func (e *Endpoint) Write(p tcpip.Payloader, opts tcpip.WriteOptions) (int64, tcpip.Error) {
	written, full := 0, false
	for {
		e.mu.Lock()
		room, err := e.room()
		left := min(p.Len(), room)
		if err == nil && left == room {
			e.writerWaits = true
		}
		goesOn := e.opts.notSentLowat > 0 && !opts.Atomic // there may be more room then
		e.mu.Unlock()
		for err == nil && left > 0 {
			n := min(left, pieceSize)
			if opts.Atomic {
				n = left
			}
			left -= n
			took := 0
			took, err = e.writePiece(p, n, left > 0 || goesOn && p.Len() > n, opts)
			if written += took; took < n {
				goesOn, full = false, left > 0
				break
			}
		}
		switch {
		case written == 0:
			return 0, err
		case err != nil || full:
			// The last piece was announced as one that others follow.
			e.mu.Lock()
			e.calls.flags, e.calls.flush = writeFlags(opts, false)&^tcp.WriteEOR, true
			e.mu.Unlock()
			e.kick()
			return int64(written), nil
		case !goesOn || p.Len() == 0:
			return int64(written), nil
		}
	}
}

// writePiece takes n bytes of p, or fewer if another writer was faster. follows says that another
// piece comes next.
func (e *Endpoint) writePiece(p tcpip.Payloader, n int, follows bool, opts tcpip.WriteOptions) (int, tcpip.Error) {
	views, err := readViews(p, n)
	if err != nil {
		return 0, err
	}
	e.mu.Lock()
	room, err := e.room()
	if _, full := err.(*tcpip.ErrWouldBlock); opts.Atomic && (err == nil || full) {
		room, err = n, nil // the bytes that were read from p cannot be returned
	}
	if err != nil {
		e.mu.Unlock()
		releaseViews(views)
		return 0, err
	}
	flags := writeFlags(opts, follows)
	if room < n {
		views, n = truncateViews(views, room), room
		e.writerWaits, flags = true, flags&^tcp.WriteEOR
	}
	bulk := follows || e.snd.size() >= pieceSize
	e.snd.append(views)
	e.calls.wrote += uint32(n)
	if e.calls.flags = flags; flags&tcp.WriteEOR != 0 {
		e.records = append(e.records, e.calls.wrote)
	}
	e.mu.Unlock()
	if bulk && e.p.parallel {
		e.kickAsync()
	} else {
		e.kick()
	}
	return n, nil
}

// writeFlags returns the engine's flags for a write. follows says that the rest of it comes next.
func writeFlags(opts tcpip.WriteOptions, follows bool) (flags tcp.WriteFlags) {
	if follows {
		return tcp.WriteMore | tcp.WritePart
	}
	if opts.More {
		flags |= tcp.WriteMore
	}
	if opts.EndOfRecord {
		flags |= tcp.WriteEOR
	}
	return flags
}

// room returns how many bytes can be written, or why none can. It counts failures as gVisor's TCP
// does, a full buffer included.
func (e *Endpoint) room() (n int, err tcpip.Error) {
	defer func() {
		if err != nil {
			e.stats.more().WriteErrors.WriteClosed.Increment()
		}
	}()
	switch {
	case e.phase == phaseError:
		if err := e.takeHardErr(); err != nil {
			return 0, err
		}
		return 0, &tcpip.ErrClosedForSend{}
	case e.connecting():
		return 0, &tcpip.ErrWouldBlock{}
	case !e.connected() || e.shutWrite || e.closed || !e.conn.CanWrite():
		return 0, &tcpip.ErrClosedForSend{}
	}
	size, used := e.sendBuffer()
	if n := min(size-used, int(e.conn.WriteRoom(e.calls.wrote))); n > 0 {
		return n, nil
	}
	e.writerWaits = true
	return 0, &tcpip.ErrWouldBlock{}
}

// growSendBuffer lets the send buffer follow the congestion window, unless the application has set
// SO_SNDBUF or memory is scarce. As in gVisor it is twice the window, so that data is ready when the
// data in flight is acknowledged.
func (st *step) growSendBuffer() {
	e := st.e
	size := e.ops.GetSendBufferSize()
	cwnd, _ := e.conn.Cwnd()
	want := 2 * int64(cwnd)
	if want <= size || e.sendBufferFixed || e.p.memory.level() != memoryPlenty {
		return
	}
	if want = min(want, int64(e.p.options().send.Max)); want > size {
		e.ops.SetSendBufferSize(want, false)
	}
}

// wakesWriter reports whether a waiting writer has room: half of the buffer, so that not each ACK
// wakes it up.
func (st *step) wakesWriter() bool {
	e := st.e
	if !e.writerWaits {
		return false
	}
	st.growSendBuffer()
	size, used := e.sendBuffer()
	return used < size/2 && e.conn.LittleUnsent(e.calls.wrote)
}

// readViews reads n bytes.
func readViews(p io.Reader, n int) ([]*buffer.View, tcpip.Error) {
	views := make([]*buffer.View, 0, (n+buffer.MaxChunkSize-1)/buffer.MaxChunkSize)
	for n > 0 {
		v := bufpool.Get(min(n, buffer.MaxChunkSize))
		views = append(views, v)
		if _, err := io.ReadFull(p, v.AsSlice()); err != nil {
			releaseViews(views)
			return nil, &tcpip.ErrBadBuffer{}
		}
		n -= v.Size()
	}
	return views, nil
}

// truncateViews keeps the first n bytes and releases the rest.
func truncateViews(views []*buffer.View, n int) []*buffer.View {
	for i, v := range views {
		if v.Size() >= n {
			v.CapLength(n)
			if n > 0 {
				i++
			}
			releaseViews(views[i:])
			return views[:i]
		}
		n -= v.Size()
	}
	return views
}

func releaseViews(views []*buffer.View) {
	for _, v := range views {
		v.Release()
	}
}
