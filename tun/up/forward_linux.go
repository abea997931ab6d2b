package up

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/sockets"
)

const (
	forwardTimeout = 60 * time.Second // to connect to the target
)

// forwards are the exposed and forwarded ports.
type forwards struct {
	dialer sockets.Dialer
	log    func(format string, args ...any)
	most   int // connections of each port
	ctx    context.Context
	cancel context.CancelFunc
	wait   sync.WaitGroup
	all    []*forwarding
	conns  openConns

	mu       sync.Mutex
	reported map[string]bool // causes
}

// forwarding is a Forward at work, with its counters.
type forwarding struct {
	Forward
	exposed   bool
	listeners []*bounded
	slots     chan struct{} // one for each connection
	open      atomic.Int64
	accepted  atomic.Uint64
	failed    atomic.Uint64
	passed    [2]atomic.Uint64 // bytes from the listening side, and to it
}

// ForwardReport describes a Forward in a Report.
type ForwardReport struct {
	Kind        string           `json:"kind"` // expose or forward
	Listen      []netip.AddrPort `json:"listen"`
	To          string           `json:"to"`
	Open        int              `json:"open"`
	Accepted    uint64           `json:"accepted"`
	Failed      uint64           `json:"failed"` // could not connect to the target
	FromClients uint64           `json:"bytes_from_clients"`
	ToClients   uint64           `json:"bytes_to_clients"`
}

// at returns where it listens.
func (r *ForwardReport) at() string {
	var list []string
	for _, at := range r.Listen {
		list = append(list, at.String())
	}
	return strings.Join(list, " ")
}

// startForwards listens. close ends what it started, even if it returns an error.
func startForwards(s *stack.Stack, c *Config) (*forwards, error) {
	v := &forwards{dialer: sockets.Dialer{Stack: s, KeepAlive: c.KeepAlive}, log: c.log, conns: openConns{reset: true}, reported: make(map[string]bool)}
	v.most = cmp.Or(c.MaxForwarded, maxForwarded)
	v.ctx, v.cancel = context.WithCancel(context.Background())
	for _, f := range c.Expose {
		w := v.add(f, true)
		for _, at := range f.addrs(c) {
			lc := c.listenConfig(s)
			l, err := lc.ListenTCP(at)
			if err != nil {
				return v, fmt.Errorf("expose %v: %w", f, err)
			}
			w.listeners = append(w.listeners, newBounded(l, w.slots))
		}
	}
	for _, f := range c.Forward {
		w := v.add(f, false)
		l, err := net.Listen("tcp", f.bind())
		if err != nil {
			return v, fmt.Errorf("forward %v: %w", f, err)
		}
		w.listeners = append(w.listeners, newBounded(kernelListener{l.(*net.TCPListener)}, w.slots))
	}
	for _, w := range v.all {
		for _, l := range w.listeners {
			v.wait.Go(func() { v.serve(w, l) })
		}
	}
	return v, nil
}

func (v *forwards) add(f Forward, exposed bool) *forwarding {
	w := &forwarding{Forward: f, exposed: exposed, slots: make(chan struct{}, v.most)}
	v.all = append(v.all, w)
	return w
}

// serve accepts connections until the listener is closed.
func (v *forwards) serve(w *forwarding, l *bounded) {
	for {
		c, err := l.AcceptTCP()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			v.reportOnce(w, err) // wait: too many open files, for example
			select {
			case <-time.After(100 * time.Millisecond):
			case <-v.ctx.Done():
				return
			}
			continue
		}
		w.accepted.Add(1)
		w.open.Add(1)
		v.wait.Go(func() {
			defer w.open.Add(-1)
			v.forward(w, c)
		})
	}
}

// forward connects to the target and copies both ways. It resets the connection if the target
// cannot be reached.
func (v *forwards) forward(w *forwarding, c *boundedConn) {
	if !v.conns.hold(c) {
		return
	}
	defer v.conns.end(c)
	to, err := v.dial(w)
	if err != nil {
		w.failed.Add(1)
		if v.ctx.Err() == nil {
			v.reportOnce(w, err)
		}
		_ = c.SetLinger(0)
		return
	}
	if v.conns.hold(to) {
		defer v.conns.end(to)
		splice(c, to, &w.passed)
	}
}

func (v *forwards) dial(w *forwarding) (duplex, error) {
	ctx, cancel := context.WithTimeout(v.ctx, forwardTimeout)
	defer cancel()
	if w.exposed {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", w.to())
		if err != nil {
			return nil, err
		}
		return kernelConn{c.(*net.TCPConn)}, nil
	}
	at, err := netip.ParseAddrPort(w.to())
	if err != nil {
		return nil, err
	}
	return v.dialer.DialTCP(ctx, at)
}

// reportOnce logs an error, each cause once.
func (v *forwards) reportOnce(w *forwarding, err error) {
	kind := "forward"
	if w.exposed {
		kind = "expose"
	}
	cause := err.Error()
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		cause = errno.Error() // without the ports
	}
	cause = fmt.Sprintf("%s %v: %s", kind, w.Forward, cause)
	v.mu.Lock()
	told := v.reported[cause] || len(v.reported) == 1000
	v.reported[cause] = true
	v.mu.Unlock()
	if !told {
		v.log("%s %v: %v (reported once)", kind, w.Forward, err)
	}
}

// report describes all ports.
func (v *forwards) report() (list []ForwardReport) {
	for _, w := range v.all {
		r := ForwardReport{Kind: "forward", To: w.to(), Open: int(w.open.Load()), Accepted: w.accepted.Load(), Failed: w.failed.Load(),
			FromClients: w.passed[0].Load(), ToClients: w.passed[1].Load()}
		if w.exposed {
			r.Kind = "expose"
		}
		for _, l := range w.listeners {
			r.Listen = append(r.Listen, unmapped(l.Addr()))
		}
		list = append(list, r)
	}
	return list
}

// close resets the forwarded connections and waits for the goroutines.
func (v *forwards) close() {
	v.cancel()
	v.conns.close()
	for _, w := range v.all {
		for _, l := range w.listeners {
			l.Close()
		}
	}
	v.wait.Wait()
}

// kernelListener is a listener of the kernel.
type kernelListener struct{ *net.TCPListener }

// Accept implements net.Listener.
func (l kernelListener) Accept() (net.Conn, error) {
	c, err := l.AcceptTCP()
	return kernelConn{c}, err
}

func unmapped(a net.Addr) netip.AddrPort {
	at := a.(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
}
