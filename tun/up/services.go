package up

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

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

// Services that Config.Serve names.
const (
	serveInfo  = "info"
	servePprof = "pprof"
	serveNone  = "none"
)

// DefaultServices returns the services that an empty Config.Serve is: those that say nothing of the
// host.
func DefaultServices() (names []string) {
	for _, s := range servicePorts {
		names = append(names, strings.ToLower(s.name))
	}
	return names
}

// serves reports whether a service is wanted.
func (c *Config) serves(name string) bool {
	if c.Serve == nil {
		return slices.Contains(DefaultServices(), name)
	}
	return slices.Contains(c.Serve, name)
}

// checkServe returns an error about Serve.
func (c *Config) checkServe() error {
	known := append(DefaultServices(), serveInfo, servePprof)
	for _, name := range c.Serve {
		switch {
		case name == serveNone && len(c.Serve) > 1:
			return fmt.Errorf("serve %s, want none or names of services", strings.Join(c.Serve, ","))
		case name != serveNone && !slices.Contains(known, name):
			return fmt.Errorf("serve %q, want none or some of %s", name, strings.Join(known, ","))
		}
	}
	switch {
	case c.serves(serveInfo) && !c.serves("http"):
		return errors.New("serve info without http, which has its page")
	case c.serves(servePprof) && c.Status == "":
		return errors.New("serve pprof without a status address, which has its page")
	}
	return nil
}

// served lists the services, except those whose port is exposed at an address.
func (c *Config) served() string {
	taken := c.exposed()
	var parts []string
	for _, s := range servicePorts {
		if c.serves(strings.ToLower(s.name)) && !slices.ContainsFunc(taken, func(a netip.AddrPort) bool { return a.Port() == s.port }) {
			parts = append(parts, fmt.Sprintf("%s %d", strings.ToLower(s.name), s.port))
		}
	}
	if parts == nil {
		return "no services"
	}
	return strings.Join(parts, ", ")
}

// replaced says which services do not run because their ports are exposed.
func (c *Config) replaced() (lines []string) {
	for _, a := range c.exposed() {
		for _, s := range servicePorts {
			if a.Port() == s.port && c.serves(strings.ToLower(s.name)) {
				lines = append(lines, fmt.Sprintf("port %d of %v is exposed, so the stack's own %s does not run there", s.port, a.Addr(), s.name))
			}
		}
	}
	return lines
}

// backlog is how many connections may wait to be accepted.
const backlog = 1024

// Bounds of what peers can hold on the stack.
const (
	maxForwarded  = 4096 // default of Config.MaxForwarded
	headerTimeout = 10 * time.Second
	idleTimeout   = time.Minute
	maxHeader     = 16 << 10 // bytes
)

// services listen on a stack.
type services struct {
	listen sockets.ListenConfig
	web    http.Server
	most   int            // connections of a listener
	wait   sync.WaitGroup // goroutines
	conns  openConns

	listeners []net.Listener
}

// startServices listens on all addresses, except at exposed ports. close ends what it started, even
// if it returns an error.
func startServices(s *stack.Stack, c *Config, web http.Handler) (*services, error) {
	taken := c.exposed()
	free := func(a netip.Addr, port uint16) bool { return !slices.Contains(taken, netip.AddrPortFrom(a, port)) }
	v := &services{listen: c.listenConfig(s), most: cmp.Or(c.MaxForwarded, maxForwarded)}
	v.web = http.Server{Handler: web, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader}
	handlers := map[uint16]func(*boundedConn){EchoPort: echo, DiscardPort: discard, ChargenPort: chargen}
	for _, p := range c.Addrs {
		if c.serves("echo") {
			if err := v.echoUDP(s, p.Addr()); err != nil {
				return v, err
			}
		}
		for _, service := range servicePorts {
			if !c.serves(strings.ToLower(service.name)) || !free(p.Addr(), service.port) {
				continue
			}
			l, err := v.add(netip.AddrPortFrom(p.Addr(), service.port))
			if err != nil {
				return v, err
			}
			if serve := handlers[service.port]; serve != nil {
				v.wait.Go(func() { v.accept(l, serve) })
			} else {
				v.wait.Go(func() { _ = v.web.Serve(l) }) // ends with close
			}
		}
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
	v.conns.hold(c)
	v.wait.Go(func() {
		defer v.conns.end(c)
		for b := make([]byte, 64<<10); ; {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			if a, ok := from.(*net.UDPAddr); ok && a.Port == EchoPort {
				continue // two echo services would go on for ever
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
func (v *services) add(at netip.AddrPort) (*bounded, error) {
	all, err := v.listen.ListenTCP(at)
	if err != nil {
		return nil, err
	}
	l := newBounded(all, make(chan struct{}, v.most))
	v.listeners = append(v.listeners, l)
	return l, nil
}

// accept serves the connections of a listener until it is closed.
func (v *services) accept(l *bounded, serve func(*boundedConn)) {
	for {
		c, err := l.AcceptTCP()
		if err != nil || !v.conns.hold(c) {
			return
		}
		v.wait.Go(func() {
			defer v.conns.end(c)
			serve(c)
		})
	}
}

// close closes all listeners and connections, and waits for their goroutines.
func (v *services) close() {
	v.conns.close()
	for _, l := range v.listeners {
		l.Close()
	}
	v.web.Close()
	v.wait.Wait()
}

// echo returns what it reads, until the peer ends its stream, and then ends its own.
func echo(c *boundedConn) {
	if _, err := io.CopyBuffer(struct{ io.Writer }{c}, struct{ io.Reader }{c}, make([]byte, 64<<10)); err == nil {
		_ = c.CloseWrite()
	}
}

// discard reads until the peer ends its stream.
func discard(c *boundedConn) {
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
func chargen(c *boundedConn) {
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
