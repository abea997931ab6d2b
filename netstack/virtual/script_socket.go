package virtual

import (
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"strings"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/waiter"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sim/script"
	"tcpwheel/netstack/tcp"
)

// scriptSocket is an endpoint of the stack. It does what a kernel on gVisor's stack does for a
// program: it numbers errors and waits in a lingering close(2).
type scriptSocket struct {
	host    *scriptHost
	ep      *netstack.Endpoint
	cfg     script.SocketConfig // as configured
	local   netip.AddrPort
	remote  netip.AddrPort
	written uint64
	read    uint64
}

func (h *scriptHost) Socket(cfg script.SocketConfig) (script.Socket, error) {
	ep, err := h.stack.NewEndpoint(header.TCPProtocolNumber, h.net, new(waiter.Queue))
	if err != nil {
		return nil, fmt.Errorf("host netstack: %s", err)
	}
	s := &scriptSocket{host: h, ep: ep.(*netstack.Endpoint), cfg: script.SocketConfig{Conn: h.cfg.Engine.Conn}}
	s.cfg.Conn.Socket = tcp.SocketOptions{NoDelay: s.cfg.Conn.Socket.NoDelay}
	h.sockets = append(h.sockets, s)
	return s, s.Configure(cfg)
}

// errnos are Linux's names of gVisor's errors.
var errnos = map[string]string{
	"ErrAborted": "EPIPE", "ErrClosedForSend": "EPIPE", "ErrAlreadyBound": "EINVAL", "ErrAlreadyConnected": "EISCONN",
	"ErrAlreadyConnecting": "EALREADY", "ErrBadLocalAddress": "EADDRNOTAVAIL", "ErrConnectStarted": "EINPROGRESS",
	"ErrConnectionAborted": "ECONNABORTED", "ErrConnectionRefused": "ECONNREFUSED", "ErrConnectionReset": "ECONNRESET",
	"ErrHostUnreachable": "EHOSTUNREACH", "ErrHostDown": "EHOSTDOWN", "ErrInvalidEndpointState": "EINVAL",
	"ErrInvalidOptionValue": "EINVAL", "ErrMessageTooLong": "EMSGSIZE", "ErrNetworkUnreachable": "ENETUNREACH",
	"ErrNotConnected": "ENOTCONN", "ErrPortInUse": "EADDRINUSE", "ErrTimeout": "ETIMEDOUT", "ErrWouldBlock": "EAGAIN",
	"ErrUnknownProtocolOption": "ENOPROTOOPT",
}

func errnoOf(err tcpip.Error) string {
	if err == nil {
		return ""
	}
	name := strings.TrimPrefix(fmt.Sprintf("%T", err), "*tcpip.")
	if errno, ok := errnos[name]; ok {
		return errno
	}
	return name
}

// full returns an address of the stack's only NIC.
func full(a netip.AddrPort) tcpip.FullAddress {
	return tcpip.FullAddress{Addr: address(a.Addr()), Port: a.Port()}
}

func (s *scriptSocket) Bind(local netip.AddrPort) string {
	s.local = local
	return errnoOf(s.ep.Bind(full(local)))
}

// Listen implements script.Socket. As in Linux, one connection more than the backlog can wait.
func (s *scriptSocket) Listen(backlog int) string { return errnoOf(s.ep.Listen(backlog + 1)) }

func (s *scriptSocket) Accept() (script.Socket, netip.AddrPort, netip.AddrPort, string) {
	var peer tcpip.FullAddress
	ep, _, err := s.ep.Accept(&peer)
	if err != nil {
		return nil, netip.AddrPort{}, netip.AddrPort{}, errnoOf(err)
	}
	n := &scriptSocket{host: s.host, ep: ep.(*netstack.Endpoint), cfg: s.cfg, local: s.local, remote: addrPort(peer.Addr, peer.Port)}
	s.host.sockets = append(s.host.sockets, n)
	s.host.flow(n.local, n.remote).ep = n.ep
	return n, n.local, n.remote, ""
}

func (s *scriptSocket) Connect(remote netip.AddrPort) string {
	err := s.ep.Connect(full(remote))
	if _, started := err.(*tcpip.ErrConnectStarted); started {
		s.remote = remote
		s.host.flow(s.local, remote).ep = s.ep
	}
	return errnoOf(err)
}

func (s *scriptSocket) Read(n uint32) (uint32, string) {
	if n == 0 {
		return 0, ""
	}
	var b bytes.Buffer
	res, err := s.ep.Read(&tcpip.LimitedWriter{W: &b, N: int64(n)}, tcpip.ReadOptions{})
	switch err.(type) {
	case nil:
	case *tcpip.ErrClosedForReceive:
		return 0, ""
	default:
		return 0, errnoOf(err)
	}
	at := uint32(s.read)
	s.host.checkData("a read", s.host.flow(s.local, s.remote).received, b.Bytes(), func(syn tcp.Seq) uint32 { return uint32(syn) + 1 + at })
	s.read += uint64(res.Count)
	return uint32(res.Count), ""
}

// patternReader is what a program writes: the pattern from a position on.
type patternReader struct{ at, left uint64 }

func (p *patternReader) Len() int { return int(p.left) }

func (p *patternReader) Read(b []byte) (int, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	b = b[:min(uint64(len(b)), p.left)]
	fill(b, uint32(p.at))
	p.at, p.left = p.at+uint64(len(b)), p.left-uint64(len(b))
	return len(b), nil
}

func (s *scriptSocket) Write(n uint32, flags tcp.WriteFlags) (uint32, string) {
	if flags&tcp.WriteUrgent != 0 {
		return 0, "EOPNOTSUPP"
	}
	took, err := s.ep.Write(&patternReader{s.written, uint64(n)}, tcpip.WriteOptions{More: flags&tcp.WriteMore != 0, EndOfRecord: flags&tcp.WriteEOR != 0})
	s.written += uint64(took)
	return uint32(took), errnoOf(err)
}

func (s *scriptSocket) Shutdown(read, write bool) string {
	var flags tcpip.ShutdownFlags
	if read {
		flags |= tcpip.ShutdownRead
	}
	if write {
		flags |= tcpip.ShutdownWrite
	}
	return errnoOf(s.ep.Shutdown(flags))
}

func (s *scriptSocket) Close() (done func() bool) {
	linger := s.ep.SocketOptions().GetLinger()
	s.ep.Close()
	if !linger.Enabled || linger.Timeout <= 0 {
		return func() bool { return true }
	}
	late := false
	timer := s.host.clock.AfterFunc(linger.Timeout, func() { late = true })
	return func() bool {
		switch s.ep.EndpointState() {
		case netstack.StateFinWait1, netstack.StateClosing, netstack.StateLastAck:
			return late
		}
		timer.Stop()
		return true
	}
}

func (s *scriptSocket) Error() string { return errnoOf(s.ep.SocketOptions().GetLastError()) }

// Ready implements script.Socket. gVisor numbers events as poll(2) does.
func (s *scriptSocket) Ready() int64 {
	const all = waiter.EventIn | waiter.EventOut | waiter.EventErr | waiter.EventHUp | waiter.EventRdNorm | waiter.EventWrNorm | waiter.EventRdHUp
	return int64(s.ep.Readiness(all))
}

func (s *scriptSocket) Queued() (unread, unacked uint64) {
	n, _ := s.ep.GetSockOptInt(tcpip.ReceiveQueueSizeOption)
	return uint64(n), s.written - s.ep.ConnInfo().BytesAcked
}

// own returns the part of a configuration that Endpoint.SetSocketConfig sets.
func own(c *tcp.Config) netstack.SocketConfig {
	return netstack.SocketConfig{Policy: c.Policy, ECN: c.ECN, Pacing: c.Pacing, QuickAck: c.Socket.QuickAck, VegasCheck: c.VegasCheck}
}

// Configure implements script.Socket. It sets the options that differ from the current ones.
func (s *scriptSocket) Configure(cfg script.SocketConfig) error {
	before := s.cfg
	was, to := &before.Conn, &cfg.Conn
	rest := *to
	rest.Policy, rest.ECN, rest.Pacing, rest.VegasCheck = was.Policy, was.ECN, was.Pacing, was.VegasCheck
	rest.Control, rest.RecvBuffer, rest.RecvBufferMax, rest.Socket = was.Control, was.RecvBuffer, was.RecvBufferMax, was.Socket
	if rest != *was {
		return fmt.Errorf("host netstack: a socket has no option for a setting that was changed after the start")
	}
	if c := own(to); c != own(was) {
		if err := s.ep.SetSocketConfig(c); err != nil {
			return err
		}
	}
	ops := s.ep.SocketOptions()
	set := func(differs bool, f func()) {
		if differs {
			f()
		}
	}
	var failed error
	option := func(differs bool, o tcpip.SettableSocketOption) {
		set(differs, func() {
			if err := s.ep.SetSockOpt(o); err != nil {
				failed = fmt.Errorf("set %T: %s", o, err)
			}
		})
	}
	number := func(differs bool, o tcpip.SockOptInt, v int) {
		set(differs, func() {
			if err := s.ep.SetSockOptInt(o, v); err != nil {
				failed = fmt.Errorf("set option %d to %d: %s", o, v, err)
			}
		})
	}
	a, b := &was.Socket, &to.Socket
	set(a.NoDelay != b.NoDelay, func() { ops.SetDelayOption(!b.NoDelay) })
	set(a.Cork != b.Cork, func() { ops.SetCorkOption(b.Cork) })
	set(a.NotSentLowat != b.NotSentLowat, func() { s.ep.SetNotSentLowat(b.NotSentLowat) })
	control := tcpip.CongestionControlOption(strings.TrimPrefix(to.Control, "new"))
	option(was.Control != to.Control, &control)
	idle, interval, user := tcpip.KeepaliveIdleOption(b.KeepIdle), tcpip.KeepaliveIntervalOption(b.KeepInterval), tcpip.TCPUserTimeoutOption(b.UserTimeout)
	option(a.KeepIdle != b.KeepIdle, &idle)
	option(a.KeepInterval != b.KeepInterval, &interval)
	option(a.UserTimeout != b.UserTimeout, &user)
	number(a.KeepCount != b.KeepCount, tcpip.KeepaliveCountOption, b.KeepCount)
	number(a.MaxSeg != b.MaxSeg, tcpip.MaxSegOption, int(b.MaxSeg))
	set(a.Keepalive != b.Keepalive, func() { ops.SetKeepAlive(b.Keepalive) })
	deferred := tcpip.TCPDeferAcceptOption(cfg.DeferAccept)
	option(before.DeferAccept != cfg.DeferAccept, &deferred)
	set(was.RecvBuffer != to.RecvBuffer || was.RecvBufferMax != to.RecvBufferMax, func() { ops.SetReceiveBufferSize(int64(to.RecvBuffer), true) })
	set(before.ReuseAddr != cfg.ReuseAddr, func() { ops.SetReuseAddress(cfg.ReuseAddr) })
	set(before.Lingers != cfg.Lingers || before.Linger != cfg.Linger, func() {
		ops.SetLinger(tcpip.LingerOption{Enabled: cfg.Lingers, Timeout: cfg.Linger})
	})
	s.cfg = cfg
	return failed
}

// Flush implements script.Socket.
func (s *scriptSocket) Flush() { s.ep.SocketOptions().SetDelayOption(false) }
