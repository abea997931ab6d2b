package tail

import (
	"bytes"
	"errors"
	"math/rand"
	"net"
	"net/netip"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
)

// runVirtual does one run in virtual time.
func (c *Config) runVirtual(sender string, segments int, control bool) (outcome, error) {
	clock, err := netstack.NewVirtualClock(netstack.VirtualClockConfig{})
	if err != nil {
		return outcome{}, err
	}
	server, err := factory(sender)
	if err != nil {
		return outcome{}, err
	}
	client, err := netstack.NewProtocolWith(netstack.Config{Conn: tcp.DefaultConfig(clientPolicy(control || c.DelayAcks))})
	if err != nil {
		return outcome{}, err
	}
	w := newWatch(segments)
	ends := [2]*channel.Endpoint{channel.New(1<<12, 1500, ""), channel.New(1<<12, 1500, "")}
	for i, end := range ends {
		end.AddNotify(&virtualWire{clock: clock, watch: w, fromServer: i == 0, lossy: !control, delay: c.RTT / 2, from: end, to: ends[1-i]})
	}
	var stacks [2]*stack.Stack
	for i, at := range []netip.Prefix{serverAddr, clientAddr} {
		stacks[i], err = newStack(stack.Options{
			Clock: &strictClock{VirtualClock: clock}, RandSource: &seeded{src: rand.NewSource(int64(i))}, SecureRNG: &seeded{src: rand.NewSource(int64(i))},
			TransportProtocols: []stack.TransportProtocolFactory{[]stack.TransportProtocolFactory{server, client}[i]},
		}, ends[i], at)
		if err != nil {
			return outcome{}, err
		}
		defer stacks[i].Destroy()
	}
	tasks := sockets.NewTasks(clock)
	clock.SetSettle(func() { tasks.Settle(stacks[0], stacks[1]) })
	defer clock.SetSettle(nil)
	at := netip.AddrPortFrom(serverAddr.Addr(), port)
	p := &program{
		spawn: tasks.Go, sleep: tasks.Sleep, rtt: c.RTT, size: int(w.size), count: c.Count, control: control,
		dial: func() (net.Conn, error) {
			return (&sockets.Dialer{Stack: stacks[1], Tasks: tasks}).Dial("tcp", at.String())
		},
		acks: func(net.Conn, bool) error { return nil }, // the client's policy says it all
	}
	tasks.Go(func() {
		l, err := (&sockets.ListenConfig{Stack: stacks[0], Tasks: tasks}).Listen("tcp", at.String())
		if err != nil {
			p.fail("listen", err)
			return
		}
		defer l.Close()
		p.accept(l)
	})
	p.clients()
	clock.Run(time.Hour)
	if tasks.Living() != 0 {
		p.fail("after an hour of virtual time", errors.New("connections still wait"))
	}
	return outcome{w, causes(stacks[0]), "cubic"}, p.err()
}

// strictClock never tells the same time twice, as the clock of a machine does not: readings of one instant are 1 ns apart. To
// gVisor's RACK, of two segments that were sent at the same time the later one is lost when the earlier one has
// arrived (rackControl.detectLoss), for which there is no occasion in real time.
type strictClock struct {
	*netstack.VirtualClock
	mu   sync.Mutex
	last time.Duration
}

// NowMonotonic implements tcpip.Clock.
func (c *strictClock) NowMonotonic() tcpip.MonotonicTime {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(c.last+1, time.Duration(c.Time()))
	return tcpip.MonotonicTime{}.Add(c.last)
}

// clientPolicy acknowledges at once, or puts ACKs off by Linux's 40 ms from the beginning.
func clientPolicy(delay bool) tcptimers.Policy {
	p := tcptimers.MustPolicy(tcptimers.DefaultPolicy)
	p.DelAck = tcptimers.DelAckConfig{Every: 1}
	if delay {
		p.DelAck = tcptimers.DelAckConfig{Every: 2, Delay: 40 * time.Millisecond, Min: 40 * time.Millisecond, Max: 40 * time.Millisecond}
	}
	return p
}

// virtualWire is one direction of the path.
type virtualWire struct {
	clock      *netstack.VirtualClock
	watch      *watch
	fromServer bool
	lossy      bool
	delay      time.Duration
	from, to   *channel.Endpoint
}

// WriteNotify implements channel.Notification.
func (w *virtualWire) WriteNotify() {
	for pkt := w.from.Read(); pkt != nil; pkt = w.from.Read() {
		view := pkt.ToView()
		b := bytes.Clone(view.AsSlice())
		view.Release()
		pkt.DecRef()
		lost := w.lossy && w.fromServer && w.watch.loses(b)
		w.watch.sent(w.clock.Time(), w.fromServer, b, lost)
		if lost {
			continue
		}
		w.clock.AfterFunc(w.delay, func() {
			w.watch.arrived(w.clock.Time(), w.fromServer, b)
			in := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(b)})
			defer in.DecRef()
			w.to.InjectInbound(header.IPv4ProtocolNumber, in)
		})
	}
}

// loses reports whether a packet of the server is the one to be lost: the first with the last octet.
func (w *watch) loses(b []byte) bool {
	s, ok := parse(b)
	if !ok || s.len == 0 {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.flow(&s, true)
	start, end := f.span(&s)
	return start <= w.last() && w.last() < end && !f.dropped.ok
}

// seeded is a source of numbers that goroutines may share.
type seeded struct {
	mu  sync.Mutex
	src rand.Source
}

// Int63 implements rand.Source.
func (r *seeded) Int63() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.src.Int63()
}

// Seed implements rand.Source, and does nothing.
func (*seeded) Seed(int64) {}

// Read implements io.Reader.
func (r *seeded) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(r.Int63())
	}
	return len(b), nil
}
