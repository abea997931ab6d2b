package sockets

import (
	"io"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/waiter"
)

// Conn is a net.Conn with the methods of net.TCPConn, except those for file descriptors. Multiple
// goroutines may invoke its methods.
type Conn struct {
	socket
	wq     *waiter.Queue
	entry  waiter.Entry // registered in wq until Close
	rd, wr gate
	local  netip.AddrPort
	remote netip.AddrPort

	failure atomic.Pointer[syscall.Errno] // why the connection has failed; nil if it has not

	payload payload              // what is being written; owned by the writer that holds wr
	sink    atomic.Pointer[sink] // for the next reader
}

var (
	_ net.Conn      = (*Conn)(nil)
	_ io.ReaderFrom = (*Conn)(nil)
	_ io.WriterTo   = (*Conn)(nil)
)

// NewConn makes a Conn from a connected endpoint and the queue it was made with. The Conn owns
// both.
func NewConn(s *stack.Stack, wq *waiter.Queue, ep tcpip.Endpoint) *Conn {
	c := &Conn{socket: socket{ep: ep, clock: s.Clock()}}
	c.registerEvents(wq)
	c.learnAddresses()
	return c
}

// registerEvents subscribes to the endpoint's events. A caller that registers, tries and then waits
// misses none.
func (c *Conn) registerEvents(wq *waiter.Queue) {
	c.wq = wq
	c.entry.Init(c, waiter.ReadableEvents|waiter.WritableEvents|waiter.EventRdHUp|waiter.EventHUp|waiter.EventErr)
	wq.EventRegister(&c.entry)
}

func (c *Conn) learnAddresses() {
	if a, err := c.ep.GetLocalAddress(); err == nil {
		c.local = addrPort(a)
	}
	if a, err := c.ep.GetRemoteAddress(); err == nil {
		c.remote = addrPort(a)
	}
}

// NotifyEvent implements waiter.EventListener. The stack calls it.
func (c *Conn) NotifyEvent(mask waiter.EventMask) {
	const both = waiter.EventHUp | waiter.EventErr
	if mask&(waiter.ReadableEvents|waiter.EventRdHUp|both) != 0 {
		c.wake(&c.rd)
	}
	if mask&(waiter.WritableEvents|both) != 0 {
		c.wake(&c.wr)
	}
}

// Read implements net.Conn. It waits for the first byte.
func (c *Conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		if c.closed() {
			return 0, c.opError("read", net.ErrClosed)
		}
		return 0, nil
	}
	n, err := c.read(p, true)
	if err != nil && err != io.EOF {
		err = c.opError("read", err)
	}
	return n, err
}

// read is Read without the address in its error. Without wait it returns 0, nil if no data is
// there.
func (c *Conn) read(p []byte, wait bool) (int, error) {
	for {
		seq := c.rd.events.Load()
		if err := c.rd.err(); err != nil {
			return 0, err
		}
		n, err := c.readAvailable(p)
		if err == nil {
			if n > 0 {
				return n, nil
			}
			continue
		}
		if _, ok := err.(*tcpip.ErrWouldBlock); ok {
			if !wait {
				return 0, nil
			}
			c.wait(&c.rd, seq)
			continue
		}
		return 0, c.readError(err)
	}
}

// readAvailable reads what is there.
func (c *Conn) readAvailable(p []byte) (int, tcpip.Error) {
	w := c.sink.Swap(nil)
	if w == nil {
		w = &sink{}
	}
	w.left = p
	res, err := c.ep.Read(w, tcpip.ReadOptions{})
	w.left = nil
	c.sink.Store(w)
	if res.Count > 0 {
		c.ep.ModerateRecvBuf(res.Count)
	}
	return res.Count, err
}

func (c *Conn) readError(err tcpip.Error) error {
	if c.closed() {
		return net.ErrClosed
	}
	if _, ok := err.(*tcpip.ErrClosedForReceive); ok {
		if no := c.failure.Load(); no != nil {
			return os.NewSyscallError("read", *no)
		}
		return io.EOF
	}
	return c.recordFailure("read", err)
}

// recordFailure records why the connection has failed, and returns the error of a call.
func (c *Conn) recordFailure(call string, err tcpip.Error) error {
	no := errno(err)
	switch no {
	case syscall.ECONNRESET, syscall.ETIMEDOUT, syscall.ECONNABORTED, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ECONNREFUSED:
		c.failure.CompareAndSwap(nil, &no)
	case syscall.EPIPE:
		if first := c.failure.Load(); first != nil {
			no = *first
		}
	}
	return os.NewSyscallError(call, no)
}

// Write implements net.Conn. It returns when the stack has taken all of p, or with an error.
func (c *Conn) Write(p []byte) (n int, err error) { return c.write(p, tcpip.WriteOptions{}) }

// WriteRecord is Write of the end of a record: what is written later does not share its last
// segment, as after MSG_EOR in Linux. The TCP of gVisor merges it nevertheless.
func (c *Conn) WriteRecord(p []byte) (n int, err error) {
	return c.write(p, tcpip.WriteOptions{EndOfRecord: true})
}

func (c *Conn) write(p []byte, opts tcpip.WriteOptions) (n int, err error) {
	if err := c.lockWrites(); err != nil {
		return 0, c.opError("write", err)
	}
	defer c.unlockWrites()
	for {
		seq := c.wr.events.Load()
		if err := c.wr.err(); err != nil {
			return n, c.opError("write", err)
		}
		if n == len(p) {
			return n, nil
		}
		c.payload.left = p[n:]
		m, err := c.ep.Write(&c.payload, opts)
		c.payload.left = nil
		n += int(m)
		switch err.(type) {
		case nil:
			if n == len(p) {
				return n, nil
			}
		case *tcpip.ErrWouldBlock:
			c.wait(&c.wr, seq)
		default:
			if c.closed() {
				return n, c.opError("write", net.ErrClosed)
			}
			return n, c.opError("write", c.recordFailure("write", err))
		}
	}
}

// lockWrites waits until no other goroutine writes.
func (c *Conn) lockWrites() error {
	for {
		seq := c.wr.events.Load()
		if err := c.wr.err(); err != nil {
			return err
		}
		if c.wr.writing.CompareAndSwap(false, true) {
			return nil
		}
		c.wait(&c.wr, seq)
	}
}

func (c *Conn) unlockWrites() {
	c.wr.writing.Store(false)
	c.wake(&c.wr)
}

// Close implements net.Conn. Written data is still sent. After SetLinger(0), or if received data
// was not read, the peer gets a RST instead. Goroutines that wait return net.ErrClosed.
func (c *Conn) Close() error {
	if c.rd.state.Or(gateClosed)&gateClosed != 0 {
		return c.opError("close", net.ErrClosed)
	}
	c.wr.state.Or(gateClosed)
	c.ep.Close()
	c.shut(&c.rd)
	c.shut(&c.wr)
	c.wq.EventUnregister(&c.entry)
	return nil
}

func (c *Conn) closed() bool { return c.rd.state.Load()&gateClosed != 0 }

// CloseRead ends reading: Read returns the data that has arrived, and then io.EOF. Later data of
// the peer is still received.
func (c *Conn) CloseRead() error { return c.shutdown(tcpip.ShutdownRead) }

// CloseWrite ends the stream to the peer: it reads io.EOF after the written data.
func (c *Conn) CloseWrite() error { return c.shutdown(tcpip.ShutdownWrite) }

func (c *Conn) shutdown(how tcpip.ShutdownFlags) error {
	if c.closed() {
		return c.opError("close", net.ErrClosed)
	}
	if err := c.ep.Shutdown(how); err != nil {
		return c.opError("close", syscallError("shutdown", err))
	}
	return nil
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return tcpAddr(c.local) }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return tcpAddr(c.remote) }

// LocalAddrPort returns LocalAddr as a netip.AddrPort.
func (c *Conn) LocalAddrPort() netip.AddrPort { return c.local }

// RemoteAddrPort returns RemoteAddr as a netip.AddrPort.
func (c *Conn) RemoteAddrPort() netip.AddrPort { return c.remote }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn. t is on the stack's clock.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.setGateDeadline(&c.rd, t) }

// SetWriteDeadline implements net.Conn. t is on the stack's clock.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.setGateDeadline(&c.wr, t) }

func (c *Conn) setGateDeadline(g *gate, t time.Time) error {
	if c.closed() {
		return c.opError("set", net.ErrClosed)
	}
	c.setDeadline(g, t)
	return nil
}

func (c *Conn) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

// payload is a tcpip.Payloader over a slice.
type payload struct{ left []byte }

// Len implements tcpip.Payloader.
func (p *payload) Len() int { return len(p.left) }

// Read implements io.Reader.
func (p *payload) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.left)
	p.left = p.left[n:]
	return n, nil
}

// sink is an io.Writer into a slice. It takes what fits.
type sink struct{ left []byte }

// Write implements io.Writer.
func (w *sink) Write(b []byte) (int, error) {
	n := copy(w.left, b)
	w.left = w.left[n:]
	if n < len(b) {
		return n, io.ErrShortWrite
	}
	return n, nil
}
