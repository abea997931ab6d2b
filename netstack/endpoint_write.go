package netstack

import (
	"io"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/waiter"

	"tcpwheel/netstack/bufpool"
)

type eventMask = waiter.EventMask

const (
	readable   = waiter.ReadableEvents
	writable   = waiter.WritableEvents
	readHangUp = waiter.EventRdHUp
)

// pieceSize is how many octets of a long write are copied before the connection is told of them.
const pieceSize = buffer.MaxChunkSize

// Write implements tcpip.Endpoint. No lock is held while p is read. An atomic write takes as much as there is room for, in one piece, and
// all that it has read, even if other writers have taken the room meanwhile. Any other long one is taken in pieces, which are sent while
// those behind them are copied.
func (e *Endpoint) Write(p tcpip.Payloader, opts tcpip.WriteOptions) (int64, tcpip.Error) {
	e.mu.Lock()
	room, err := e.room()
	left := min(p.Len(), room)
	if err == nil && left == room {
		e.sndFull = true
	}
	e.mu.Unlock()
	if err != nil || left == 0 {
		return 0, err
	}
	written := 0
	for left > 0 {
		n := min(left, pieceSize)
		if opts.Atomic {
			n = left
		}
		left -= n
		took, err := e.writePiece(p, n, left > 0, opts)
		written += took
		if took < n {
			if written == 0 {
				return 0, err
			}
			if left > 0 {
				e.noMore(opts.More)
			}
			break
		}
	}
	return int64(written), nil
}

// writePiece takes n octets of p, or fewer if another writer was faster. With follows there are others to come at once.
func (e *Endpoint) writePiece(p tcpip.Payloader, n int, follows bool, opts tcpip.WriteOptions) (int, tcpip.Error) {
	views, err := readViews(p, n)
	if err != nil {
		return 0, err
	}
	e.mu.Lock()
	room, err := e.room()
	if _, full := err.(*tcpip.ErrWouldBlock); opts.Atomic && (err == nil || full) {
		room, err = n, nil // what was read cannot be given back
	}
	if err != nil {
		e.mu.Unlock()
		releaseViews(views)
		return 0, err
	}
	if room < n {
		views, n = truncateViews(views, room), room
		e.sndFull = true
	}
	bulk := follows || e.snd.size() >= pieceSize
	e.wrote(views, n, follows || opts.More)
	e.mu.Unlock()
	if bulk && e.p.parallel {
		e.hand()
	} else {
		e.kick()
	}
	return n, nil
}

// noMore ends a write that was to have more pieces.
func (e *Endpoint) noMore(more bool) {
	e.mu.Lock()
	e.todo.more, e.todo.flush = more, true
	e.mu.Unlock()
	e.kick()
}

// wrote queues what was written.
func (e *Endpoint) wrote(views []*buffer.View, n int, more bool) {
	e.snd.append(views)
	e.todo.wrote += uint32(n)
	e.todo.more = more
}

// room returns how many octets can be written, or why none can, which is counted as gVisor's TCP counts it: a full buffer, too.
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
	case !e.connected() || e.sndClosed() || e.closed || !e.conn.CanWrite():
		return 0, &tcpip.ErrClosedForSend{}
	}
	if n := int(e.ops.GetSendBufferSize()) - e.snd.size(); n > 0 {
		return n, nil
	}
	e.sndFull = true
	return 0, &tcpip.ErrWouldBlock{}
}

// growSend has the send buffer follow the congestion window, unless the application has set its size, and returns the size: twice
// the window, as gVisor has it, so that there is something to send when what is in flight was acknowledged.
func (e *Endpoint) growSend() int {
	size := e.ops.GetSendBufferSize()
	want := 2 * int64(e.conn.Cwnd())
	if want <= size || e.fixedSend {
		return int(size)
	}
	if want = min(want, int64(e.p.options().send.Max)); want > size {
		size = want
		e.ops.SetSendBufferSize(size, false)
	}
	return int(size)
}

// readViews reads n octets.
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

// truncateViews keeps the first n octets.
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
