package interop

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
)

var (
	soakFor   = flag.Duration("soak", time.Second, "how long TestSoak runs")
	soakPause = flag.Duration("soak-pause", 0, "the longest pause between two actions, for a soak next to other work")
	soakSeed  = flag.Uint64("soak-seed", 1, "seed of TestSoak's random choices")
)

// soakLinks are the links of the soak's networks, in turn.
var soakLinks = []sim.LinkConfig{
	{Delay: 300 * time.Microsecond, Loss: sim.Losses{sim.Bernoulli{P: 0.02}}},
	{Delay: time.Millisecond, Jitter: sim.Jitter{Amount: time.Millisecond, Overtake: true}, Corrupt: 0.01},
	{Delay: time.Millisecond, Reorder: sim.Reorder{Probability: 0.05, Extra: 4 * time.Millisecond}, Duplicate: 0.05,
		Loss: sim.Losses{sim.GilbertElliott{P: 0.005, R: 0.5, Bad: 0.5}}},
	{Delay: 2 * time.Millisecond, Rate: 30_000_000, Queue: sim.Limit{Packets: 15}, Mark: sim.Limit{Packets: 5}},
	{Delay: 500 * time.Microsecond, Loss: sim.Losses{sim.Bernoulli{P: 0.05}}, Duplicate: 0.02, Corrupt: 0.02,
		Reorder: sim.Reorder{Probability: 0.02, Extra: 10 * time.Millisecond}},
}

// TestSoak runs mixed traffic over bad links for the time of -soak, with every timer policy and
// every pair of TCPs. It checks the invariants after each step and compares every byte. At the end
// all connections are gone; TestMain looks for leaked goroutines and buffers.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a soak takes a second")
	}
	until, long := time.Now().Add(*soakFor), *soakFor >= time.Minute
	late, start := watchLateness(), time.Now()
	t.Cleanup(func() {
		t.Log(late.describe(start))
		late.close()
	})
	links := soakLinks
	if !long {
		links = links[:2]
	}
	for i, name := range append(tcptimers.PolicyNames(), "datacenter") {
		policy, err := tcptimers.ParsePolicy(name)
		must(t, err)
		for j, who := range allPairs {
			if !long && i%len(allPairs) != j {
				continue // a short soak runs each policy once
			}
			t.Run(name+"/"+who.a+"-"+who.b, func(t *testing.T) {
				t.Parallel()
				link := links[(i+j)%len(links)]
				n := newNetwork(t, who, plan{link: link, config: func(c *netstack.Config) {
					c.Conn = tcp.DefaultConfig(policy)
					c.Conn.ECN = i%2 == 0
					c.Conn.SACK = j != 1
					c.Conn.Timestamps = i != 1
					c.Conn.Control = []string{"cubic", "newreno", "vegas"}[i%3]
				}})
				n.soak(until, late, rand.New(rand.NewPCG(*soakSeed, uint64(i*100+j))))
			})
		}
	}
}

// soakers is how many connections a network of the soak has at a time.
const soakers = 3

// soak runs random actions on connections until the time is over.
func (n *network) soak(until time.Time, late *lateness, rng *rand.Rand) {
	var done [len(soakActions)]atomic.Uint64
	var stopped atomic.Uint64 // connections whose sender, gVisor's, stopped
	var gaveUp atomic.Uint64  // handshakes that ended at the policy's R2
	var starved atomic.Uint64 // actions that failed while the machine was late most of the time
	var wait sync.WaitGroup
	for w := range soakers {
		mine := rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))
		at := [2]netip.AddrPort{n.b.at(false, uint16(2000+w)), n.b.at(true, uint16(2000+w))}
		ls := [2]listener{n.b.listen(n.t, at[0]), n.b.listen(n.t, at[1])}
		wait.Go(func() {
			for time.Now().Before(until) && !n.t.Failed() {
				time.Sleep(time.Duration(mine.Int64N(int64(*soakPause) + 1)))
				v6, action := mine.IntN(2), mine.IntN(len(soakActions))
				began, before := time.Now(), n.counters(n.t)
				err := n.soakOnce(ls[v6], at[v6], soakActions[action].do, mine)
				if n.stopped(err) {
					stopped.Add(1)
					continue
				}
				if err == nil {
					done[action].Add(1)
					continue
				}
				report, count := n.t.Errorf, (*atomic.Uint64)(nil)
				_, _, sum := late.between(began, time.Now())
				switch {
				case errors.As(err, new(*handshakeTimeout)):
					report, count = n.t.Logf, &gaveUp
				case sum > time.Since(began)/2:
					report, count = n.t.Logf, &starved
				}
				report("%s to %v: %v\n%s\n%s", soakActions[action].name, at[v6], err, late.describe(began), n.countedSince(before))
				if count == nil || errors.Is(err, net.ErrClosed) {
					return
				}
				count.Add(1)
			}
		})
	}
	wait.Wait()
	text, all := "", uint64(0)
	for i := range done {
		text += fmt.Sprintf(" %s %d", soakActions[i].name, done[i].Load())
		all += done[i].Load()
	}
	if k := stopped.Load(); k > 0 {
		text += fmt.Sprintf(", %d times gVisor's sender has stopped", k)
	}
	if k := gaveUp.Load() + starved.Load(); k > 0 {
		text += fmt.Sprintf(", %d handshakes timed out, %d actions failed on a late machine", gaveUp.Load(), starved.Load())
	}
	// 4.4BSD sends a SYN three times in 75 s. The worst link loses 7 % each way, so that 0.24 % of the
	// handshakes fail.
	if k := gaveUp.Load(); k > 2+all/100 {
		n.t.Errorf("%d handshakes of %d timed out", k, all)
	}
	c := n.counters(n.t)
	n.t.Logf("%s; %d segments in, %d out, %d retransmitted, %d timeouts", text[1:], c.InSegs, c.OutSegs, c.RetransSegs, c.TCPTimeouts)
	n.wantNoConnections()
}

// countedSince says what our stacks counted since before, on all connections.
func (n *network) countedSince(before tcp.Counters) string {
	c := n.counters(n.t)
	return fmt.Sprintf("meanwhile, on all connections: %d segments in, %d out, %d retransmitted, %d timeouts, %d failed handshakes, %d window probes",
		c.InSegs-before.InSegs, c.OutSegs-before.OutSegs, c.RetransSegs-before.RetransSegs, c.TCPTimeouts-before.TCPTimeouts,
		c.AttemptFails-before.AttemptFails, c.TCPWinProbe-before.TCPWinProbe)
}

// describe says the state of an end. A kernel's is not asked.
func describe(c conn) string {
	end, ok := c.(stackConn)
	if !ok {
		return fmt.Sprintf("%v: a kernel's", c.LocalAddr())
	}
	text := fmt.Sprintf("%v: %v", c.LocalAddr(), end.state())
	if us, ok := isOurs(c); ok {
		text += fmt.Sprintf(", %+v", us.info())
	}
	return text
}

// wantNoConnections is wantNothingLeft for a network whose listeners are open. A connection whose
// last ACKs are lost may take long.
func (n *network) wantNoConnections() {
	for _, h := range []*host{n.a, n.b} {
		if h.tcp == ours {
			eventually(n.t, "all connections end", func() bool { return h.busy() == 0 })
		}
	}
}

// handshakeTimeout is the error of a dialing end that gave up.
type handshakeTimeout struct{ error }

// soakLimit is how long one action may take. 4.4BSD's timers are slow.
const soakLimit = 5 * time.Minute

// soakOnce makes a connection, does one action on it, and closes it.
func (n *network) soakOnce(l listener, at netip.AddrPort, do func(x, y conn, rng *rand.Rand) error, rng *rand.Rand) error {
	ctx, cancel := context.WithTimeout(n.t.Context(), soakLimit)
	defer cancel()
	a, err := n.a.dial(ctx, netip.AddrPort{}, at)
	if is(err, syscall.ETIMEDOUT) {
		return &handshakeTimeout{err}
	}
	if err != nil {
		return fmt.Errorf("dial: %w", err)
	}
	defer a.Close()
	b, err := acceptWithin(l, soakLimit)
	if err != nil {
		return fmt.Errorf("accept: %w", err)
	}
	defer b.Close()
	for _, c := range []conn{a, b} {
		c.SetDeadline(time.Now().Add(soakLimit))
		c.noDelay(n.t, rng.IntN(2) == 0)
	}
	// The states of both ends shortly before the deadline, because an action that fails closes them.
	var states atomic.Value
	last := time.AfterFunc(soakLimit-5*time.Second, func() { states.Store(describe(a) + "\n" + describe(b)) })
	defer last.Stop()
	x, y := a, b
	if rng.IntN(2) == 0 {
		x, y = b, a
	}
	if err := do(x, y, rng); err != nil {
		if states.Load() == nil {
			states.Store(describe(a) + "\n" + describe(b))
		}
		return fmt.Errorf("%w\n%s", err, states.Load())
	}
	return nil
}

// soakActions are the actions on connections.
var soakActions = [...]struct {
	name string
	do   func(x, y conn, rng *rand.Rand) error
}{
	{"exchange", func(x, y conn, rng *rand.Rand) error { return tryExchange(x, y, rng.IntN(100_000)) }},
	{"small", func(x, y conn, rng *rand.Rand) error { return tryExchange(x, y, rng.IntN(20)) }},
	{"bulk", func(x, y conn, rng *rand.Rand) error { return oneWay(x, y, 100_000+rng.IntN(900_000), 0) }},
	{"slow-reader", func(x, y conn, rng *rand.Rand) error {
		return oneWay(x, y, 300_000, time.Duration(rng.IntN(300))*time.Millisecond)
	}},
	{"ping-pong", func(x, y conn, rng *rand.Rand) error {
		for range 10 + rng.IntN(20) {
			k := 1 + rng.IntN(3000)
			for _, d := range [2][2]conn{{x, y}, {y, x}} {
				if err := oneWay(d[0], d[1], k, 0); err != nil {
					return err
				}
			}
		}
		return nil
	}},
	{"half-close", func(x, y conn, rng *rand.Rand) error {
		if err := x.CloseWrite(); err != nil {
			return err
		}
		if err := receiveEnd(y, 0); err != nil {
			return err
		}
		return oneWay(y, x, rng.IntN(200_000), 0)
	}},
	{"abort", func(x, y conn, rng *rand.Rand) error {
		go func() { // during the transfer below
			time.Sleep(time.Duration(rng.IntN(10)) * time.Millisecond)
			x.abort()
		}()
		for _, c := range []conn{x, y} {
			go func() { _ = send(c, 1<<20) }()
		}
		y.SetDeadline(time.Now().Add(2 * time.Second)) // the RST may be lost, and is never retransmitted
		err := receive(y, 1<<20)
		if err == nil || is(err, syscall.ECONNRESET) || isTimeout(err) || errors.Is(err, io.EOF) {
			return nil // the end of the stream, if the writer saw the RST
		}
		return err
	}},
}
