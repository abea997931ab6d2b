//go:build linux

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// talker is one end of the connections of a scenario.
type talker struct {
	s     *Scenario
	side  string   // "a" or "b"
	flood net.Conn // UDP to b
}

// talk takes the turns of a connection.
func (t *talker) talk(c *net.TCPConn) (err error) {
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := c.SetNoDelay(!t.s.Nagle); err != nil {
		return err
	}
	buf := make([]byte, 64<<10)
	for n := range max(t.s.Rounds, 1) * len(t.s.Turns) {
		i := n % len(t.s.Turns)
		turn := &t.s.Turns[i]
		for range max(turn.Times, 1) {
			if turn.From == t.side {
				err = t.say(c, turn, buf)
			} else {
				time.Sleep(time.Duration(turn.Stall))
				_, err = io.CopyBuffer(onlyWrite{}, &io.LimitedReader{R: onlyRead{c}, N: int64(turn.Bytes)}, buf)
			}
			if err != nil {
				return fmt.Errorf("%s in turn %d: %w", t.side, i, err)
			}
		}
	}
	if err := c.CloseWrite(); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, c) // until the FIN of the other end
	return err
}

// onlyRead and onlyWrite keep io.Copy from splicing.
type onlyRead struct{ io.Reader }
type onlyWrite struct{}

func (onlyWrite) Write(b []byte) (int, error) { return len(b), nil }

func (t *talker) say(c net.Conn, turn *Turn, buf []byte) error {
	time.Sleep(time.Duration(turn.Pause))
	const datagram = 1400
	for n := 0; n < turn.Flood; n += datagram {
		_, _ = t.flood.Write(buf[:datagram]) // a full queue may drop it
	}
	for n := turn.Bytes; n > 0; {
		wrote, err := c.Write(buf[:min(n, len(buf))])
		if err != nil {
			return err
		}
		n -= wrote
	}
	return nil
}

// listen makes the listener of b, and the UDP socket that receives floods.
func listen(s *Scenario, addr netip.Addr, port uint16) (l *net.TCPListener, drain net.PacketConn, err error) {
	at := netip.AddrPortFrom(addr, port).String()
	cfg := net.ListenConfig{Control: s.prepare, KeepAlive: -1}
	cfg.SetMultipathTCP(false)
	any, err := cfg.Listen(context.Background(), "tcp", at)
	if err != nil {
		return nil, nil, err
	}
	if drain, err = net.ListenPacket("udp", at); err != nil {
		return nil, nil, errors.Join(err, any.Close())
	}
	return any.(*net.TCPListener), drain, nil
}

// control returns the congestion control.
func (s *Scenario) control() string { return cmp.Or(s.Control, "cubic") }

// prepare sets the options that a socket needs before its first use.
func (s *Scenario) prepare(network, _ string, raw syscall.RawConn) (err error) {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	failed := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, s.control())
		if err == nil && s.Buffer > 0 {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, s.Buffer)
		}
	})
	return errors.Join(err, failed)
}
