package up

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/sockets"
)

// The ports of the services.
const (
	EchoPort    = 7
	DiscardPort = 9
	ChargenPort = 19
	HTTPPort    = 80
)

// servicePorts are the ports of the services over TCP, with their names.
var servicePorts = []struct {
	name string
	port uint16
}{{"echo", EchoPort}, {"discard", DiscardPort}, {"chargen", ChargenPort}, {"HTTP", HTTPPort}}

// served lists the services, except those whose port is exposed at an address.
func (c *Config) served() string {
	taken := c.exposed()
	var parts []string
	for _, s := range servicePorts {
		if !slices.ContainsFunc(taken, func(a netip.AddrPort) bool { return a.Port() == s.port }) {
			parts = append(parts, fmt.Sprintf("%s %d", strings.ToLower(s.name), s.port))
		}
	}
	return strings.Join(parts, ", ")
}

// replaced says which services do not run because their ports are exposed.
func (c *Config) replaced() (lines []string) {
	for _, a := range c.exposed() {
		for _, s := range servicePorts {
			if a.Port() == s.port {
				lines = append(lines, fmt.Sprintf("port %d of %v is exposed, so the stack's own %s does not run there", s.port, a.Addr(), s.name))
			}
		}
	}
	return lines
}

// backlog is how many connections may wait to be accepted.
const backlog = 1024

// services listen on a stack.
type services struct {
	listen sockets.ListenConfig
	web    http.Server
	wait   sync.WaitGroup // goroutines

	mu        sync.Mutex
	closed    bool
	listeners []net.Listener
	conns     map[net.Conn]struct{}
}

// startServices listens on all addresses, except at exposed ports. close ends what it started, even
// if it returns an error.
func startServices(s *stack.Stack, c *Config, web http.Handler) (*services, error) {
	taken := c.exposed()
	free := func(a netip.Addr, port uint16) bool { return !slices.Contains(taken, netip.AddrPortFrom(a, port)) }
	v := &services{listen: c.listenConfig(s), conns: make(map[net.Conn]struct{})}
	v.web.Handler = web
	for _, p := range c.Addrs {
		if err := v.echoUDP(s, p.Addr()); err != nil {
			return v, err
		}
		for port, serve := range map[uint16]func(*sockets.Conn){EchoPort: echo, DiscardPort: discard, ChargenPort: chargen} {
			if !free(p.Addr(), port) {
				continue
			}
			l, err := v.add(netip.AddrPortFrom(p.Addr(), port))
			if err != nil {
				return v, err
			}
			v.wait.Go(func() { v.accept(l, serve) })
		}
		if !free(p.Addr(), HTTPPort) {
			continue
		}
		l, err := v.add(netip.AddrPortFrom(p.Addr(), HTTPPort))
		if err != nil {
			return v, err
		}
		v.wait.Go(func() { _ = v.web.Serve(l) }) // ends with close
	}
	return v, nil
}

// echoUDP returns datagrams to their senders, at EchoPort of an address.
func (v *services) echoUDP(s *stack.Stack, addr netip.Addr) error {
	at := &tcpip.FullAddress{NIC: nic, Addr: tcpip.AddrFromSlice(addr.AsSlice()), Port: EchoPort}
	c, err := gonet.DialUDP(s, at, nil, family(addr))
	if err != nil {
		return fmt.Errorf("listen at UDP %v: %w", netip.AddrPortFrom(addr, EchoPort), err)
	}
	v.hold(c)
	v.wait.Go(func() {
		defer v.remove(c)
		for b := make([]byte, 64<<10); ; {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = c.WriteTo(b[:n], from) // a datagram may be lost
		}
	})
	return nil
}

// listenConfig returns how the stack listens.
func (c *Config) listenConfig(s *stack.Stack) sockets.ListenConfig {
	return sockets.ListenConfig{Stack: s, Backlog: backlog, KeepAlive: c.KeepAlive}
}

// add listens at an address and port.
func (v *services) add(at netip.AddrPort) (*sockets.Listener, error) {
	l, err := v.listen.ListenTCP(at)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.listeners = append(v.listeners, l)
	return l, nil
}

// accept serves the connections of a listener until it is closed.
func (v *services) accept(l *sockets.Listener, serve func(*sockets.Conn)) {
	for {
		c, err := l.AcceptTCP()
		if err != nil {
			return
		}
		if !v.hold(c) {
			c.Close()
			return
		}
		v.wait.Go(func() {
			defer v.remove(c)
			serve(c)
		})
	}
}

// hold registers a connection, so that close closes it. It returns false after close.
func (v *services) hold(c net.Conn) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.closed {
		v.conns[c] = struct{}{}
	}
	return !v.closed
}

func (v *services) remove(c net.Conn) {
	v.mu.Lock()
	delete(v.conns, c)
	v.mu.Unlock()
	c.Close()
}

// close closes all listeners and connections, and waits for their goroutines.
func (v *services) close() {
	v.mu.Lock()
	v.closed = true
	for c := range v.conns {
		c.Close()
	}
	listeners := v.listeners
	v.mu.Unlock()
	for _, l := range listeners {
		l.Close()
	}
	v.web.Close()
	v.wait.Wait()
}

// echo returns what it reads, until the peer ends its stream, and then ends its own.
func echo(c *sockets.Conn) {
	if _, err := io.CopyBuffer(struct{ io.Writer }{c}, struct{ io.Reader }{c}, make([]byte, 64<<10)); err == nil {
		_ = c.CloseWrite()
	}
}

// discard reads until the peer ends its stream.
func discard(c *sockets.Conn) {
	_, _ = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c}, make([]byte, 64<<10))
}

// chargenLines are the lines of chargen until they repeat: 95 lines of 72 printable characters,
// each starting one character later.
var chargenLines = sync.OnceValue(func() (b []byte) {
	const first, count, width = ' ', 95, 72
	for line := range count {
		for i := range width {
			b = append(b, byte(first+(line+i)%count))
		}
		b = append(b, "\r\n"...)
	}
	return b
})

// chargen sends lines until the peer closes, and discards what it reads.
func chargen(c *sockets.Conn) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		discard(c)
	}()
	var err error
	for lines := chargenLines(); err == nil; {
		_, err = c.Write(lines)
	}
	if !errors.Is(err, net.ErrClosed) {
		c.Close() // ends discard
	}
	<-done
}
