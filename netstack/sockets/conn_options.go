package sockets

import (
	"errors"
	"net"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"

	"tcpwheel/netstack"
	"tcpwheel/netstack/tcp"
)

// Endpoint returns the endpoint, for options without a method here. It belongs to the Conn.
func (c *Conn) Endpoint() tcpip.Endpoint { return c.ep }

// Info returns the values of Linux's TCP_INFO and more, also after the connection has ended. ok is
// false if the stack's TCP is not package netstack's.
func (c *Conn) Info() (info tcp.Info, ok bool) {
	e, ok := c.ep.(*netstack.Endpoint)
	if ok {
		info = e.ConnInfo()
	}
	return info, ok
}

// SetConfig overrides the connection's timer policy, ECN and pacing.
// netstack.Endpoint.SetSocketConfig lists what can change while connected, and the errors. The
// stack's TCP must be package netstack's.
func (c *Conn) SetConfig(cfg netstack.SocketConfig) error {
	if c.closed() {
		return c.opError("set", net.ErrClosed)
	}
	if err := setConfig(c.ep, cfg); err != nil {
		return c.opError("set", err)
	}
	return nil
}

func setConfig(ep tcpip.Endpoint, cfg netstack.SocketConfig) error {
	e, ok := ep.(*netstack.Endpoint)
	if !ok {
		return errors.ErrUnsupported
	}
	return e.SetSocketConfig(cfg)
}

// set calls f unless the connection is closed.
func (c *Conn) set(f func() tcpip.Error) error {
	if c.closed() {
		return c.opError("set", net.ErrClosed)
	}
	if err := f(); err != nil {
		return c.opError("set", syscallError("setsockopt", err))
	}
	return nil
}

// SetNoDelay turns Nagle's algorithm off (true) or on. The default is off: small segments are sent
// at once.
func (c *Conn) SetNoDelay(v bool) error {
	return c.set(func() tcpip.Error {
		c.ep.SocketOptions().SetDelayOption(!v)
		return nil
	})
}

// SetNotSentLowat sets how many unsent bytes make Write wait (Linux's TCP_NOTSENT_LOWAT); 0 is no
// bound. Data then waits in the program, which may still change its mind, not in the stack. See
// netstack.Endpoint.SetNotSentLowat. The stack's TCP must be package netstack's.
func (c *Conn) SetNotSentLowat(n uint32) error {
	e, ok := c.ep.(*netstack.Endpoint)
	if !ok {
		return c.opError("set", errors.ErrUnsupported)
	}
	return c.set(func() tcpip.Error {
		e.SetNotSentLowat(n)
		return nil
	})
}

// SetLinger sets what Close does with unacknowledged data. With sec 0 it is discarded and the peer
// gets a RST. Any other sec, and the default, sends it in the background.
func (c *Conn) SetLinger(sec int) error {
	return c.set(func() tcpip.Error {
		c.ep.SocketOptions().SetLinger(tcpip.LingerOption{Enabled: sec >= 0, Timeout: time.Duration(max(sec, 0)) * time.Second})
		return nil
	})
}

// SetKeepAlive turns keepalive on or off. The default is off.
func (c *Conn) SetKeepAlive(v bool) error {
	return c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: v, Idle: -1, Interval: -1, Count: -1})
}

// SetKeepAlivePeriod sets the time before the first probe and between probes.
func (c *Conn) SetKeepAlivePeriod(d time.Duration) error {
	if d <= 0 {
		return c.set(func() tcpip.Error { return &tcpip.ErrInvalidOptionValue{} })
	}
	return c.set(func() tcpip.Error { return keepAliveTimes(c.ep, d, d, -1) })
}

// SetKeepAliveConfig configures keepalive. A value of 0 is package net's default; a negative one
// changes nothing.
func (c *Conn) SetKeepAliveConfig(k net.KeepAliveConfig) error {
	return c.set(func() tcpip.Error { return setKeepAlive(c.ep, k) })
}

// SetUserTimeout sets how long data, or a keepalive probe, may stay unacknowledged before the
// connection fails (RFC 5482; Linux's TCP_USER_TIMEOUT). With 0 the stack decides. A negative d is
// EINVAL.
func (c *Conn) SetUserTimeout(d time.Duration) error {
	return c.set(func() tcpip.Error {
		if d < 0 {
			return &tcpip.ErrInvalidOptionValue{}
		}
		o := tcpip.TCPUserTimeoutOption(d)
		return c.ep.SetSockOpt(&o)
	})
}

func setKeepAlive(ep tcpip.Endpoint, k net.KeepAliveConfig) tcpip.Error {
	if !k.Enable {
		ep.SocketOptions().SetKeepAlive(false)
		return nil
	}
	const period, count = 15 * time.Second, 9
	if k.Idle == 0 {
		k.Idle = period
	}
	if k.Interval == 0 {
		k.Interval = period
	}
	if k.Count == 0 {
		k.Count = count
	}
	if err := keepAliveTimes(ep, k.Idle, k.Interval, k.Count); err != nil {
		return err
	}
	ep.SocketOptions().SetKeepAlive(true)
	return nil
}

func keepAliveTimes(ep tcpip.Endpoint, idle, interval time.Duration, count int) tcpip.Error {
	if idle > 0 {
		v := tcpip.KeepaliveIdleOption(idle)
		if err := ep.SetSockOpt(&v); err != nil {
			return err
		}
	}
	if interval > 0 {
		v := tcpip.KeepaliveIntervalOption(interval)
		if err := ep.SetSockOpt(&v); err != nil {
			return err
		}
	}
	if count > 0 {
		return ep.SetSockOptInt(tcpip.KeepaliveCountOption, count)
	}
	return nil
}

// SetReadBuffer sets the receive buffer in bytes. It then no longer grows.
func (c *Conn) SetReadBuffer(n int) error {
	return c.setBuffer(n, (*tcpip.SocketOptions).SetReceiveBufferSize)
}

// SetWriteBuffer sets the send buffer in bytes. It then no longer grows.
func (c *Conn) SetWriteBuffer(n int) error {
	return c.setBuffer(n, (*tcpip.SocketOptions).SetSendBufferSize)
}

func (c *Conn) setBuffer(n int, set func(*tcpip.SocketOptions, int64, bool)) error {
	return c.set(func() tcpip.Error {
		if n < 1 {
			return &tcpip.ErrInvalidOptionValue{}
		}
		set(c.ep.SocketOptions(), int64(n), true)
		return nil
	})
}
