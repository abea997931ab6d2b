package sockets

import (
	"errors"
	"net"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"

	"tcpwheel/netstack"
	"tcpwheel/netstack/tcp"
)

// Endpoint returns the endpoint, for options that have no method here. It belongs to the connection.
func (c *Conn) Endpoint() tcpip.Endpoint { return c.ep }

// Info returns what users of Linux's TCP_INFO expect, also after the connection has ended. It reports false if the stack's TCP is not
// package netstack's.
func (c *Conn) Info() (info tcp.Info, ok bool) {
	e, ok := c.ep.(*netstack.Endpoint)
	if ok {
		info = e.ConnInfo()
	}
	return info, ok
}

// SetConfig gives the connection a configuration of its own: timer policy, ECN, pacing. What can be changed while it is connected is
// said at netstack.Endpoint.SetSocketConfig, whose errors it returns. The stack's TCP must be package netstack's.
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
		return c.opError("set", callError("setsockopt", err))
	}
	return nil
}

// SetNoDelay says whether small segments are sent at once, which is so from the beginning, or wait for the ACK of those before
// (Nagle's algorithm).
func (c *Conn) SetNoDelay(v bool) error {
	return c.set(func() tcpip.Error {
		c.ep.SocketOptions().SetDelayOption(!v)
		return nil
	})
}

// SetLinger says what Close does with what was written and not acknowledged: with sec 0 it is thrown away, and the peer gets a RST;
// with any other it is sent in the background, which is so from the beginning.
func (c *Conn) SetLinger(sec int) error {
	return c.set(func() tcpip.Error {
		c.ep.SocketOptions().SetLinger(tcpip.LingerOption{Enabled: sec >= 0, Timeout: time.Duration(max(sec, 0)) * time.Second})
		return nil
	})
}

// SetKeepAlive says whether a peer that is silent is asked for a sign of life.
func (c *Conn) SetKeepAlive(v bool) error {
	return c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: v, Idle: -1, Interval: -1, Count: -1})
}

// SetKeepAlivePeriod sets the time before the first probe, and between probes.
func (c *Conn) SetKeepAlivePeriod(d time.Duration) error {
	if d <= 0 {
		return c.set(func() tcpip.Error { return &tcpip.ErrInvalidOptionValue{} })
	}
	return c.set(func() tcpip.Error { return keepAliveTimes(c.ep, d, d, -1) })
}

// SetKeepAliveConfig sets all of keepalive. A time or count of 0 is package net's default, one below 0 stays as it is.
func (c *Conn) SetKeepAliveConfig(k net.KeepAliveConfig) error {
	return c.set(func() tcpip.Error { return setKeepAlive(c.ep, k) })
}

// SetUserTimeout sets for how long data, or a probe of keepalive, may stay unacknowledged until the connection fails (RFC 5482; TCP_USER_TIMEOUT
// of Linux); 0 leaves that to the stack. Less than 0 is EINVAL.
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

// SetReadBuffer sets how many octets may be received and not read yet. The buffer then does not grow by itself.
func (c *Conn) SetReadBuffer(n int) error {
	return c.setBuffer(n, (*tcpip.SocketOptions).SetReceiveBufferSize)
}

// SetWriteBuffer sets how many octets may be written and not acknowledged yet.
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
