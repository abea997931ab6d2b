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

// queue is the queue of a device: a descriptor that one goroutine at a time reads and any may
// write.
type queue struct {
	fd   int
	file *os.File // owns fd
	conn syscall.RawConn

	writing sync.RWMutex // read-locked during a write to fd
	closed  bool

	waits atomic.Bool // the reader found nothing to read

	stats queueStats
}

// queueStats are the counters behind Stats.
type queueStats struct {
	rxPackets, rxBytes, rxSuper, rxMalformed, rxChecksum atomic.Uint64
	txPackets, txBytes, txSuper, txErrors                atomic.Uint64
}

// newQueue makes a queue of a non-blocking descriptor that is bound to its device. It owns fd, even
// if it fails.
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

// interrupt ends the read that serve waits in. serve returns if its stop is set, else it reads
// again.
func (q *queue) interrupt() {
	// the error of a closed file does not matter: serve has ended
	_ = q.file.SetReadDeadline(time.Unix(1, 0))
}

// wakeReader makes a waiting reader look for packets at once. While all processors are busy, the Go
// runtime polls for readable descriptors only every 10 ms. Without this, a dial next to busy flows
// waits that long for its SYN|ACK, which the kernel has queued by the time write returns.
func (q *queue) wakeReader() {
	if q.waits.CompareAndSwap(true, false) {
		q.interrupt()
	}
}

// serve reads packets and delivers them until stop is set; then it returns nil. Another error says
// why no more packets will come.
func (q *queue) serve(stop *atomic.Bool, to stack.NetworkDispatcher) error {
	if err := q.file.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	// interrupt runs after stop is set, so either its deadline holds or the loop sees stop.
	var r receiver
	defer r.release()
	for {
		var failed error
		err := q.conn.Read(func(fd uintptr) (done bool) {
			q.waits.Store(false)
			for !stop.Load() {
				n, err := unix.Readv(int(fd), r.buffers())
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
			// A writer woke the reader, unless interrupt did: see above.
			err = q.file.SetReadDeadline(time.Time{})
			if err == nil && !stop.Load() {
				continue
			}
		}
		if stop.Load() {
			return nil
		}
		if failed == nil {
			if failed = q.readError(&r); failed == nil {
				return err
			}
		}
		return failed
	}
}

// readError reads again to learn the kernel's error, or nil if there is none. The poller may
// report an error without its cause, for example while the device is being deleted.
func (q *queue) readError(r *receiver) (failed error) {
	for range 1000 {
		err := q.conn.Control(func(fd uintptr) { _, failed = unix.Readv(int(fd), r.buffers()) })
		switch {
		case err != nil:
			return nil // the file is closed
		case failed != nil && failed != unix.EAGAIN && failed != unix.EINTR:
			return failed
		}
		// Drop the packet that was read and wait a little.
		time.Sleep(time.Millisecond)
	}
	return nil
}

// receive delivers the packet of n bytes that was read.
func (q *queue) receive(r *receiver, n int, to stack.NetworkDispatcher) {
	pkt, disposition := r.packet(n)
	switch disposition {
	case badChecksum:
		q.stats.rxChecksum.Add(1)
		return
	case malformed:
		q.stats.rxMalformed.Add(1)
		return
	}
	q.stats.rxPackets.Add(1)
	q.stats.rxBytes.Add(uint64(n - vnetSize))
	if pkt.GSOOptions.MSS != 0 {
		q.stats.rxSuper.Add(1)
	}
	to.DeliverNetworkPacket(pkt.NetworkProtocolNumber, pkt)
	pkt.DecRef()
}

// write passes one packet to the kernel.
func (q *queue) write(pkt *stack.PacketBuffer) tcpip.Error {
	s := senders.Get().(*sender)
	defer senders.Put(s)
	pieces, size, super := s.buffers(pkt)
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
	q.stats.txBytes.Add(uint64(size))
	if super {
		q.stats.txSuper.Add(1)
	}
	if opens(pkt) {
		q.wakeReader()
	}
	return nil
}

// writeError translates the kernel's error for the stack.
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

// opens reports whether a packet is a SYN.
func opens(pkt *stack.PacketBuffer) bool {
	h := header.TCP(pkt.TransportHeader().Slice())
	return pkt.TransportProtocolNumber == header.TCPProtocolNumber && len(h) >= header.TCPMinimumSize && h.Flags()&header.TCPFlagSyn != 0
}
