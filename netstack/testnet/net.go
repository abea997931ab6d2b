package testnet

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/wheel"
)

// Net is a network of hosts in a test. A router joins their paths. Multiple goroutines may invoke
// its methods.
type Net struct {
	t      testing.TB
	seed   uint64
	bubble bool
	clock  *netstack.Clock
	epoch  time.Time // when the clock showed 0
	life   context.Context
	end    context.CancelFunc
	hosts  []*Host // they do not change after New
	name   string  // of the test
	limit  Slowest
	took   time.Duration // by the function of a search; 0 is none
	silent bool          // write no captures
	moved  atomic.Int64  // the time of the last event, for watched

	// Guards the links of the hosts, their captures, and what follows.
	mu     sync.Mutex
	outbox []*packet // of this instant, in a bubble
	closed bool
	trial  *trial // nil outside of a search
}

// Option is an option of New and EachLoss: a Seed, a HostConfig, a Slowest or a Search.
type Option interface{ apply(*options) }

type options struct {
	seed    uint64
	hosts   []HostConfig
	slowest Slowest
	search  *Search
	policy  string // of hosts without one
	trial   *trial
	silent  bool
}

// Seed is the source of all randomness of a network: losses, jitter, ports, sequence numbers. The
// default is 1.
type Seed uint64

func (s Seed) apply(o *options) { o.seed = uint64(s) }

// Slowest is the longest that a test may take, from New to its end or, in a search, to the return
// of the function: the time that the program sees. A test that takes longer fails. The default is
// no limit.
//
//	testnet.EachLoss(t, path, download, testnet.Slowest(time.Second))
type Slowest time.Duration

func (s Slowest) apply(o *options) { o.slowest = s }

// Names of the hosts that every network has. They are the hosts of Net's own methods.
const (
	Client = "client" // it dials
	Server = "server" // it listens
)

// New makes a network of a client, whose path to the router is path, a server next to the router,
// and the hosts of the options. It fails the test if an option is out of bounds.
//
// Inside a bubble of testing/synctest, time is virtual; t must be the bubble's. Outside, it is
// real. The network is closed when the test ends. If the test has failed by then, it logs the
// counts and writes a capture of each host: see Host.WriteCapture.
func New(t testing.TB, path Path, o ...Option) *Net {
	t.Helper()
	all := collect(path, o)
	if all.search != nil {
		t.Fatal("testnet: Search is an option of EachLoss, not of New")
	}
	return newNet(t, all)
}

// collect applies options to the defaults.
func collect(path Path, o []Option) *options {
	all := &options{seed: 1, hosts: []HostConfig{{Name: Client, Path: path}, {Name: Server}}}
	for _, option := range o {
		option.apply(all)
	}
	return all
}

// newNet is New with its options collected.
func newNet(t testing.TB, all *options) *Net {
	t.Helper()
	n := &Net{
		t: t, seed: all.seed, bubble: inBubble(), epoch: time.Now(), name: t.Name(),
		limit: all.slowest, trial: all.trial, silent: all.silent,
	}
	if n.bubble && !ownsBubble(t) {
		t.Fatal("testnet: New in a bubble, with the t of another test: use the t of the function that synctest.Test calls")
	}
	n.life, n.end = context.WithCancel(context.Background())
	cfg := netstack.ClockConfig{Serial: true}
	cfg.Scheme, cfg.Tick, cfg.Alarm.Epoch = "scheme3", time.Nanosecond, n.epoch
	if n.bubble {
		// Time moves only when every goroutine of the bubble waits.
		cfg.Settle = func() {
			time.Sleep(time.Nanosecond)
			n.moved.Store(int64(n.Now()))
		}
	}
	var err error
	if n.clock, err = netstack.NewClock(cfg); err != nil {
		t.Fatal("testnet:", err)
	}
	t.Cleanup(n.Close)
	for i := range all.hosts {
		host := all.hosts[i]
		host.Policy = cmp.Or(host.Policy, all.policy)
		if err := n.add(&host); err != nil {
			t.Fatalf("testnet: host %q: %v", host.Name, err)
		}
	}
	watched.add(n)
	return n
}

// inBubble reports whether the caller runs in a bubble. There, it also waits until all other
// goroutines of the bubble wait.
func inBubble() (in bool) {
	defer func() {
		if r := recover(); r != nil {
			in = !strings.Contains(fmt.Sprint(r), "not in a bubble")
		}
	}()
	synctest.Wait()
	return true
}

// ownsBubble reports whether t was made by synctest.Test: its Deadline panics.
func ownsBubble(t testing.TB) (owns bool) {
	d, ok := t.(interface{ Deadline() (time.Time, bool) })
	if !ok {
		return true // of an unknown kind
	}
	defer func() { owns = recover() != nil }()
	d.Deadline()
	return false
}

// Host returns a host by its name. It fails the test if there is none.
func (n *Net) Host(name string) *Host {
	n.t.Helper()
	for _, h := range n.hosts {
		if h.name == name {
			return h
		}
	}
	n.t.Fatalf("testnet: no host %q", name)
	return nil
}

// Listen is Listen of the server.
func (n *Net) Listen(address string) net.Listener {
	n.t.Helper()
	return n.Host(Server).Listen(address)
}

// Dial is Dial of the client.
func (n *Net) Dial(network, address string) (net.Conn, error) {
	return n.Host(Client).Dial(network, address)
}

// DialContext is DialContext of the client.
func (n *Net) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return n.Host(Client).DialContext(ctx, network, address)
}

// HTTPClient is HTTPClient of the client.
func (n *Net) HTTPClient() *http.Client { return n.Host(Client).HTTPClient() }

// SetPath is SetPath of the client.
func (n *Net) SetPath(p Path) {
	n.t.Helper()
	n.Host(Client).SetPath(p)
}

// Now returns the time since New: that of outages and rate traces in a Path.
func (n *Net) Now() time.Duration { return time.Since(n.epoch) }

// Close closes the network: connections fail, listeners and dials return errors, and no timer runs
// any more, those of TIME-WAIT and keepalive included. In a bubble, Close then sleeps for a second,
// for the program's goroutines to end. The test calls it when it ends. A second call does
// nothing.
func (n *Net) Close() {
	n.mu.Lock()
	closed := n.closed
	n.closed, n.outbox = true, nil
	n.mu.Unlock()
	if closed {
		return
	}
	watched.remove(n)
	lasted := n.Now()
	n.end()
	for _, h := range n.hosts {
		h.stack.Close()
	}
	for _, h := range n.hosts {
		h.stack.Wait()
		h.link.Close()
	}
	if err := n.clock.Close(); err != nil {
		n.t.Error("testnet:", err)
	}
	if n.bubble {
		time.Sleep(windDown) // no time passes after the test
	}
	if took := cmp.Or(n.took, lasted); n.limit > 0 && took > time.Duration(n.limit) {
		n.t.Errorf("testnet: it took %v, want at most %v", took.Round(time.Microsecond), time.Duration(n.limit))
	}
	if n.t.Failed() && !n.silent {
		n.report(lasted)
	}
}

// windDown is how long, in a bubble, the goroutines of the program have to end after Close. They
// may sleep: net/http's server does so for 500 ms after some errors.
const windDown = time.Second

// report logs how to repeat the test, and writes the captures.
func (n *Net) report(lasted time.Duration) {
	n.t.Logf("testnet: Seed(%d), after %v: %v", n.seed, lasted, n.Counts())
	for _, h := range n.hosts {
		if h.capture.empty() {
			continue
		}
		if name, err := h.saveCapture(); err != nil {
			n.t.Logf("testnet: capture of %s: %v", h.name, err)
		} else {
			n.t.Logf("testnet: capture of %s: %s", h.name, name)
		}
	}
}

// now returns the time of the clock.
func (n *Net) now() wheel.Time { return n.clock.Time() }

// flush lets the packets of an instant enter their links, in the order of their connections. So the
// order does not depend on which goroutine of the program ran first.
func (n *Net) flush() {
	n.mu.Lock()
	batch := n.outbox
	n.outbox = nil
	slices.SortStableFunc(batch, func(a, b *packet) int {
		if a.from != b.from {
			return a.from.index - b.from.index
		}
		return bytes.Compare(a.flow(), b.flow())
	})
	for _, p := range batch {
		n.enter(p)
	}
	n.mu.Unlock()
}

// enter passes a packet over the link of its sender. The caller holds the lock.
func (n *Net) enter(p *packet) {
	n.pass(p, p.from, up, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.route(p)
	})
}

// route passes a packet over the link of its receiver. The caller holds the lock.
func (n *Net) route(p *packet) {
	now := n.now()
	v6 := p.Bytes[0]>>4 == 6
	if p.from.nat != nil && !v6 && !p.from.nat.out(now, p.Bytes) {
		p.record.note("dropped by the NAT of " + p.from.name)
		return
	}
	if !v6 && netip.AddrFrom4([4]byte(p.Bytes[16:20])) == dnsAddr {
		n.answer(p)
		return
	}
	to := n.receiver(now, p)
	if to == nil {
		return
	}
	n.pass(p, to, down, func() { to.deliver(p) })
}

// receiver returns the host that a packet goes to, or nil if there is none.
func (n *Net) receiver(now wheel.Time, p *packet) *Host {
	ip, ok := network(p.Bytes)
	if !ok {
		return nil
	}
	to := ip.DestinationAddress()
	dst, _ := netip.AddrFromSlice(to.AsSlice())
	for _, h := range n.hosts {
		switch {
		case h.nat == nil && dst == h.addr || dst == h.addr6: // there is no NAT of IPv6
			return h
		case h.nat != nil && dst == h.nat.addr:
			if !h.nat.in(now, p.Bytes) {
				p.record.note("dropped by the NAT of " + h.name)
				return nil
			}
			return h
		}
	}
	p.record.note("dropped by the router: no such host")
	return nil
}

// pass decides what the link of a host does to a packet, and calls arrive when it arrives. The
// caller holds the lock.
func (n *Net) pass(p *packet, at *Host, d direction, arrive func()) {
	now := n.now()
	first := p.number == 0
	if first && n.trial != nil {
		n.trial.begin(now, p, at, d)
	}
	at.passed[d]++
	fate := at.links[d].Send(now, &p.Packet)
	if n.trial != nil {
		if fate.Outcome != sim.Delivered {
			n.trial.lost = append(n.trial.lost, p.number)
		} else if first {
			p.record.note(n.trial.meddle(n, now, p, &fate))
			if fate.Outcome == sim.Lost {
				at.taken++
				return
			}
		}
	}
	switch fate.Outcome {
	case sim.Lost:
		p.record.note("lost on the path of " + at.name)
	case sim.QueueDropped:
		p.record.note("dropped by the full queue on the path of " + at.name)
	default:
		if text := fate.Impairments(); text != "" {
			p.record.note(text + " on the path of " + at.name)
		}
		n.clock.AfterFunc(fate.At.Sub(now), arrive)
		if fate.Duplicated {
			n.clock.AfterFunc(fate.At.Sub(now), arrive)
		}
	}
}
