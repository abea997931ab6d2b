//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// port is that of b. The trace sees the connections of this port in all namespaces.
const port = 20_077

// patience is how long a scenario may take. It exceeds the retransmissions of a lost FIN.
const patience = 2 * time.Minute

// talk runs the connections through their turns.
func (w *world) talk() error {
	at := netip.AddrPortFrom(w.addrs[3].Addr(), port).String()
	deadline := time.Now().Add(patience)
	var listener net.Listener
	var drain net.PacketConn // receives the floods
	if err := w.end(1).Do(func() (err error) {
		cfg := net.ListenConfig{Control: w.prepare, KeepAlive: -1}
		cfg.SetMultipathTCP(false)
		if listener, err = cfg.Listen(context.Background(), "tcp", at); err == nil {
			drain, err = net.ListenPacket("udp", at)
		}
		return err
	}); err != nil {
		return err
	}
	defer listener.Close()
	defer drain.Close()
	if err := errors.Join(listener.(*net.TCPListener).SetDeadline(deadline), drain.SetDeadline(deadline)); err != nil {
		return err
	}
	go func() {
		buf := make([]byte, 2048)
		for err := error(nil); err == nil; {
			_, _, err = drain.ReadFrom(buf)
		}
	}()
	n := max(w.Connections, 1)
	errs := make([]error, 2*n)
	var talking sync.WaitGroup
	for i := range n {
		talking.Go(func() {
			c, err := listener.Accept()
			if err == nil {
				err = w.takeTurns("b", c, nil, deadline)
			}
			errs[2*i] = err
		})
		talking.Go(func() { errs[2*i+1] = w.dial(at, deadline) })
	}
	talking.Wait()
	time.Sleep(time.Second) // for the last ACKs
	return errors.Join(errs...)
}

// dial makes a connection from a and takes a's turns on it.
func (w *world) dial(at string, deadline time.Time) error {
	var c, flood net.Conn
	if err := w.end(0).Do(func() (err error) {
		d := net.Dialer{Deadline: deadline, Control: w.prepare, KeepAlive: -1}
		if flood, err = d.Dial("udp", at); err == nil {
			c, err = d.Dial("tcp", at)
		}
		return err
	}); err != nil {
		return err
	}
	defer flood.Close()
	return w.takeTurns("a", c, flood, deadline)
}

// takeTurns takes the turns of one end of a connection.
func (w *world) takeTurns(side string, c, flood net.Conn, deadline time.Time) (err error) {
	defer c.Close()
	if err := c.SetDeadline(deadline); err != nil {
		return err
	}
	buf := make([]byte, 64<<10)
	for n := range max(w.Rounds, 1) * len(w.Turns) {
		t := w.Turns[n%len(w.Turns)]
		for range max(t.Times, 1) {
			if t.From == side {
				err = t.say(c, flood, buf)
			} else {
				time.Sleep(t.Stall.Duration)
				_, err = io.CopyN(readInto{buf}, c, int64(t.Bytes))
			}
			if err != nil {
				return fmt.Errorf("%s in turn %d: %w", side, n, err)
			}
		}
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		return err
	}
	_, err = io.Copy(readInto{buf}, c) // until the FIN of the other end
	return err
}

// readInto discards what it copies, by reads into its buffer. So io.Copy does not splice.
type readInto struct{ buf []byte }

func (r readInto) Write(b []byte) (int, error) { return len(b), nil }

func (r readInto) ReadFrom(in io.Reader) (n int64, err error) {
	for {
		k, err := in.Read(r.buf)
		if n += int64(k); err == io.EOF {
			return n, nil
		} else if err != nil {
			return n, err
		}
	}
}

func (t *turn) say(c, flood net.Conn, buf []byte) error {
	time.Sleep(t.Pause.Duration)
	const datagram = 1400
	for n := 0; n < t.Flood; n += datagram {
		_, _ = flood.Write(buf[:datagram]) // a full queue may drop it
	}
	for n := t.Bytes; n > 0; {
		wrote, err := c.Write(buf[:min(n, len(buf))])
		if err != nil {
			return err
		}
		n -= wrote
	}
	return nil
}

// prepare sets the options that a socket needs before its first use.
func (w *world) prepare(network, _ string, raw syscall.RawConn) (err error) {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	failed := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "cubic")
		if err == nil && w.Buffer > 0 {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, w.Buffer)
		}
	})
	return errors.Join(err, failed)
}
