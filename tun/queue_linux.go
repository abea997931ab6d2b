package tun

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// queue is one queue of a device: a descriptor, read by one goroutine at a time and written by any.
type queue struct {
	fd   int
	file *os.File // owns fd
	conn syscall.RawConn

	writing sync.RWMutex // read-locked while fd is written to
	closed  bool

	waits atomic.Bool // the reader has found nothing to read

	stats queueStats
}

// queueStats are Stats as they are counted.
type queueStats struct {
	rxPackets, rxOctets, rxSuper, rxMalformed, rxChecksum atomic.Uint64
	txPackets, txOctets, txSuper, txErrors                atomic.Uint64
}

// newQueue makes a queue of a descriptor that does not block and has its device. It owns fd, also if it fails.
func newQueue(fd int) (*queue, error) {
	file := os.NewFile(uintptr(fd), deviceFile)
	conn, err := file.SyscallConn()
	if err == nil {
		err = file.SetReadDeadline(time.Time{}) // fails if the poller does not know the descriptor
	}
	if err != nil {
		file.Close()
		return nil, &Error{"poll " + deviceFile, err, hintKernel}
	}
	return &queue{fd: fd, file: file, conn: conn}, nil
}

func (q *queue) close() error {
	q.writing.Lock()
	defer q.writing.Unlock()
	q.closed = true
	return q.file.Close()
}

// interrupt makes serve return soon, if its stop is set, and read otherwise.
func (q *queue) interrupt() {
	_ = q.file.SetReadDeadline(time.Unix(1, 0)) // fails on a closed file, which nobody serves
}

// look has the reader see at once whether there is something to read. While all processors are busy, the Go runtime asks the kernel each
// 10 ms only what has become readable. Whoever dials beside flows that keep them busy would wait for that, though the kernel has answered
// the SYN when the write returns.
func (q *queue) look() {
	if q.waits.CompareAndSwap(true, false) {
		q.interrupt()
	}
}

// serve reads packets and delivers them until stop is set, and returns nil then. Else its error tells why there are no
// more packets to come.
func (q *queue) serve(stop *atomic.Bool, to stack.NetworkDispatcher) error {
	if err := q.file.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	// interrupt comes after stop is set. So either its deadline stands, or stop is seen below.
	var r receiver
	defer r.release()
	for {
		var failed error
		err := q.conn.Read(func(fd uintptr) (done bool) {
			q.waits.Store(false)
			for !stop.Load() {
				n, err := unix.Readv(int(fd), r.pieces())
				switch {
				case err == unix.EAGAIN:
					q.waits.Store(true)
					return false
				case err == unix.EINTR:
				case err != nil:
					failed = err
					return true
				default:
					q.receive(&r, n, to)
				}
			}
			return true
		})
		q.waits.Store(false)
		if failed == nil && errors.Is(err, os.ErrDeadlineExceeded) {
			// A writer has woken it up, unless it was interrupt: see above.
			err = q.file.SetReadDeadline(time.Time{})
			if err == nil && !stop.Load() {
				continue
			}
		}
		if stop.Load() {
			return nil
		}
		if failed == nil {
			if failed = q.reason(&r); failed == nil {
				return err
			}
		}
		return failed
	}
}

// reason returns what the kernel has against reading, nil if it has nothing. The poller may know before a read does that something is wrong,
// as while the device is being deleted, and says no more than that.
func (q *queue) reason(r *receiver) (failed error) {
	for range 1000 {
		err := q.conn.Control(func(fd uintptr) { _, failed = unix.Readv(int(fd), r.pieces()) })
		switch {
		case err != nil:
			return nil // the file is closed
		case failed != nil && failed != unix.EAGAIN && failed != unix.EINTR:
			return failed
		}
		time.Sleep(time.Millisecond) // what was read, nobody waits for
	}
	return nil
}

// receive delivers the packet that has been read as n octets.
func (q *queue) receive(r *receiver, n int, to stack.NetworkDispatcher) {
	pkt, verdict := r.packet(n)
	switch verdict {
	case badChecksum:
		q.stats.rxChecksum.Add(1)
		return
	case malformed:
		q.stats.rxMalformed.Add(1)
		return
	}
	q.stats.rxPackets.Add(1)
	q.stats.rxOctets.Add(uint64(n - vnetSize))
	if pkt.GSOOptions.MSS != 0 {
		q.stats.rxSuper.Add(1)
	}
	to.DeliverNetworkPacket(pkt.NetworkProtocolNumber, pkt)
	pkt.DecRef()
}

// write hands one packet to the kernel.
func (q *queue) write(pkt *stack.PacketBuffer) tcpip.Error {
	s := senders.Get().(*sender)
	defer senders.Put(s)
	pieces, size, super := s.pieces(pkt)
	q.writing.RLock()
	defer q.writing.RUnlock()
	if q.closed {
		s.release()
		return &tcpip.ErrClosedForSend{}
	}
	var err error
	for {
		if _, err = unix.Writev(q.fd, pieces); err != unix.EINTR {
			break
		}
	}
	s.release()
	if err != nil {
		q.stats.txErrors.Add(1)
		return writeError(err)
	}
	q.stats.txPackets.Add(1)
	q.stats.txOctets.Add(uint64(size))
	if super {
		q.stats.txSuper.Add(1)
	}
	if opens(pkt) {
		q.look()
	}
	return nil
}

// writeError is what the kernel says in the stack's words.
func writeError(err error) tcpip.Error {
	switch {
	case errors.Is(err, unix.EIO): // the device is down
		return &tcpip.ErrNetworkUnreachable{}
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOBUFS), errors.Is(err, unix.ENOMEM):
		return &tcpip.ErrNoBufferSpace{}
	case errors.Is(err, unix.EBADFD): // the device was deleted
		return &tcpip.ErrClosedForSend{}
	}
	var errno unix.Errno
	if errors.As(err, &errno) {
		return tcpip.TranslateErrno(errno)
	}
	return &tcpip.ErrInvalidEndpointState{}
}

// opens reports whether a packet opens a connection.
func opens(pkt *stack.PacketBuffer) bool {
	h := header.TCP(pkt.TransportHeader().Slice())
	return pkt.TransportProtocolNumber == header.TCPProtocolNumber && len(h) >= header.TCPMinimumSize && h.Flags()&header.TCPFlagSyn != 0
}
