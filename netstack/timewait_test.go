package netstack

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"

	"tcpwheel/netstack/tcp"
)

// timeWaitRig is a rig with connections in TIME-WAIT that the application has closed.
type timeWaitRig struct {
	*rig
	listener *rigSocket
}

// newTimeWaitRig returns a rig with a listener. whole keeps endpoints registered in TIME-WAIT: a
// record has no mark.
func newTimeWaitRig(t *testing.T, whole bool) *timeWaitRig {
	cfg := DefaultConfig()
	cfg.CheckInvariants = true
	f, err := NewProtocolWith(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, f, true)
	r.acks = true
	l := r.socket("l")
	if whole {
		l.ep.SocketOptions().SetMark(1)
	}
	l.ep.SocketOptions().SetReuseAddress(true)
	return &timeWaitRig{r, l.bind(rigPort).listen(8)}
}

// closed opens a connection from a port of the peer, and closes it, the stack first.
func (r *timeWaitRig) closed(port uint16, stamps bool) (*rigSocket, *rigPeer) {
	r.t.Helper()
	p := r.peer(port)
	p.stamps, p.sack = stamps, true
	p.syn()
	p.ack()
	c := r.listener.accept("c")
	c.close()
	p.ack()
	p.fin()
	return c, p
}

func (r *timeWaitRig) table() *timeWaits {
	return &r.s.TransportProtocolInstance(ProtocolNumber).(*protocol).timeWaits
}

// wantRecords fails unless n connections have records, and the stack has no endpoint but listeners.
func (r *timeWaitRig) wantRecords(n, listeners int) {
	r.t.Helper()
	states, _ := CountStates(r.s)
	if got := len(TimeWaits(r.s)); got != n || states[tcp.StateTimeWait] != n || len(r.s.RegisteredEndpoints()) != listeners {
		r.t.Errorf("at %v %d records, %d connections in TIME-WAIT, %d endpoints, want %d, %d, %d",
			time.Duration(r.clock.Time()), got, states[tcp.StateTimeWait], len(r.s.RegisteredEndpoints()), n, n, listeners)
	}
}

// TestTimeWaitRecordsAreEndpoints gives the same random segments to a connection in TIME-WAIT that
// is a record and to one that is an endpoint. Packets, states, readiness and counters are equal.
func TestTimeWaitRecordsAreEndpoints(t *testing.T) {
	for seed := range uint64(scaled(60, 1000)) {
		var logs [2][]string
		for whole := range 2 {
			rng := rand.New(rand.NewPCG(seed, 1))
			r := newTimeWaitRig(t, whole == 1)
			c, p := r.closed(2000, rng.IntN(2) == 0)
			if got := len(TimeWaits(r.s)); got != 1-whole {
				t.Fatalf("seed %d: %d records, want %d", seed, got, 1-whole)
			}
			if rng.IntN(3) == 0 {
				r.listener.close()
			}
			for range 12 {
				r.pass(time.Duration(rng.Int64N(int64(20 * time.Second))))
				flags := []header.TCPFlags{
					header.TCPFlagAck, header.TCPFlagFin | header.TCPFlagAck, header.TCPFlagFin | header.TCPFlagAck,
					header.TCPFlagRst, header.TCPFlagSyn, header.TCPFlagSyn | header.TCPFlagAck,
				}[rng.IntN(6)]
				p.send(flags, uint32(int(p.snd)+rng.IntN(6)-3), uint32(int(p.nxt)+rng.IntN(3)-1), rng.IntN(2)*rng.IntN(10))
				c.look()
			}
			c.close()
			r.pass(5 * time.Minute)
			c.look()
			r.wantRecords(0, len(r.s.RegisteredEndpoints()))
			r.counters("at the end", r.s.Stats().TCP)
			counters, _ := Counters(r.s)
			r.notef("%+v", counters)
			logs[whole] = r.log
		}
		if !slices.Equal(logs[0], logs[1]) {
			t.Fatalf("seed %d: transcripts differ, the record's (-) and the endpoint's (+):\n%s", seed, lineDiff(logs[0], logs[1]))
		}
	}
}

// TestTimeWaitForwarder: a forwarder does not see the SYNs of connections in TIME-WAIT.
func TestTimeWaitForwarder(t *testing.T) {
	r := newTimeWaitRig(t, false)
	_, p := r.closed(2000, false)
	r.listener.close()
	requests := make(chan struct{}, 2)
	f := NewForwarder(r.s, 0, 10, func(q *ForwarderRequest) { q.Complete(true); requests <- struct{}{} })
	r.s.SetTransportProtocolHandler(ProtocolNumber, f.HandlePacket)
	p.send(header.TCPFlagSyn, 0, 0, 0)
	r.pass(time.Second)
	r.wantRecords(1, 0)
	select {
	case <-requests:
		t.Error("the forwarder was asked")
	default:
	}
	r.peer(2001).send(header.TCPFlagSyn, 0, 0, 0)
	<-requests
}

// TestTimeWaitDual: connections of an IPv6 socket and of a dual-stack socket become records, and
// find their segments.
func TestTimeWaitDual(t *testing.T) {
	for _, v6 := range []bool{true, false} {
		n := newPair(t, pairConfig{})
		a, b := n.connect(v6)
		a.Close()
		b.Close()
		eventually(t, "a record", func() bool { return len(TimeWaits(n.a.stack))+len(TimeWaits(n.b.stack)) > 0 })
		for _, s := range []*stack.Stack{n.a.stack, n.b.stack} {
			for _, w := range TimeWaits(s) {
				if w.Local.Addr().Is6() != v6 || w.Remote.Addr().Is6() != v6 {
					t.Errorf("record of %v and %v, want IPv6 %v", w.Local, w.Remote, v6)
				}
			}
		}
	}
}

// TestTimeWaitAbort: Abort ends TIME-WAIT, and so does closing the stack.
func TestTimeWaitAbort(t *testing.T) {
	r := newTimeWaitRig(t, false)
	c, _ := r.closed(2000, false)
	d, _ := r.closed(2001, false)
	r.wantRecords(2, 1)
	c.ep.Abort()
	r.wantRecords(1, 1)
	if got := gtcp.EndpointState(c.ep.State()); got != gtcp.StateError {
		t.Errorf("the aborted endpoint is in %v, want ERROR", got)
	}
	entry, notified := waiter.NewChannelEntry(waiter.EventHUp)
	d.wq.EventRegister(&entry)
	r.s.Close()
	r.wantRecords(0, 0)
	if len(notified) == 0 || gtcp.EndpointState(d.ep.State()) != gtcp.StateClose {
		t.Errorf("the stack has closed, and the endpoint is in %v", gtcp.EndpointState(d.ep.State()))
	}
	if n := r.s.Stats().TCP.CurrentConnected.Value(); n != 0 {
		t.Errorf("CurrentConnected %d, want 0", n)
	}
}

// TestTimeWaitOptionLater: a FIN restarts TIME-WAIT with the present value of the option.
func TestTimeWaitOptionLater(t *testing.T) {
	r := newTimeWaitRig(t, false)
	_, p := r.closed(2000, false)
	v := tcpip.TCPTimeWaitTimeoutOption(3 * time.Second)
	r.say(r.s.SetTransportProtocolOption(ProtocolNumber, &v))
	r.pass(10 * time.Second)
	r.wantRecords(1, 1)
	p.send(header.TCPFlagFin|header.TCPFlagAck, p.snd-1, p.nxt, 0)
	r.pass(2900 * time.Millisecond)
	r.wantRecords(1, 1)
	r.pass(200 * time.Millisecond)
	r.wantRecords(0, 1)
}

// TestTimeWaitConcurrent: goroutines connect from few ports, so that records are made, found,
// replaced, aborted and expire at the same time. None is left, and the gauges return to 0.
func TestTimeWaitConcurrent(t *testing.T) {
	s := newLoop(t, verified, nil, false)
	brief, reuse := tcpip.TCPTimeWaitTimeoutOption(3*time.Millisecond), tcpip.TCPTimeWaitReuseGlobal
	for _, o := range []tcpip.SettableTransportProtocolOption{&brief, &reuse} {
		if err := s.SetTransportProtocolOption(ProtocolNumber, o); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.SetPortRange(20_000, 20_100); err != nil {
		t.Fatal(err)
	}
	l := listenLoop(t, s)
	var wait sync.WaitGroup
	wait.Go(func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			wait.Go(func() {
				c.Read(make([]byte, 1))
				c.Close()
			})
		}
	})
	var dialers sync.WaitGroup
	for i := range 8 {
		dialers.Go(func() {
			for j := range scaled(100, 2000) {
				a, err := gonet.DialTCP(s, loopAddr, ipv4.ProtocolNumber)
				if err != nil {
					continue // all ports are in TIME-WAIT
				}
				a.Close()
				if (i+j)%10 == 0 {
					TimeWaits(s)
					Counters(s)
					Wheels(s)
				}
			}
		})
	}
	dialers.Wait()
	eventually(t, "no connection is left", func() bool {
		counts, _ := CountStates(s)
		return len(counts) == 0 && len(TimeWaits(s)) == 0 && s.Stats().TCP.CurrentConnected.Value() == 0
	})
	l.Close()
	wait.Wait()
	wantNoTimers(t, s)
}

// TestTimeWaitTable: the table grows, finds every record, and shrinks.
func TestTimeWaitTable(t *testing.T) {
	const conns = 2000
	r := newTimeWaitRig(t, false)
	for i := range uint16(conns) {
		r.closed(2000+i, false)
	}
	r.wantRecords(conns, 1)
	table := r.table()
	if got := len(table.buckets); got != 2048 {
		t.Errorf("%d buckets, want 2048", got)
	}
	for i := range uint16(conns) {
		if i%50 != 0 {
			p := r.peers[2000+i]
			p.send(header.TCPFlagRst, p.snd, 0, 0)
		}
	}
	r.wantRecords(conns/50, 1)
	if got := len(table.buckets); got > 512 {
		t.Errorf("%d buckets for %d records", got, conns/50)
	}
	r.pass(61 * time.Second)
	r.wantRecords(0, 1)
	if table.buckets != nil || table.ports != nil {
		t.Error("an empty table holds memory")
	}
}

// TestTimeWaitShrinksTheWheel: when many connections have left TIME-WAIT, their wheel is made
// again. The timer of another connection expires when it should.
func TestTimeWaitShrinksTheWheel(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Shards = 1
	f, err := NewProtocolWith(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := &timeWaitRig{rig: newRig(t, f, true)}
	r.listener = r.socket("l").bind(rigPort).listen(8)
	p := r.peer(1000)
	p.syn()
	p.ack()
	c := r.listener.accept("c")
	idle := tcpip.KeepaliveIdleOption(90 * time.Second)
	r.say(c.ep.SetSockOpt(&idle))
	c.ep.SocketOptions().SetKeepAlive(true)
	r.pass(time.Second)
	for i := range uint16(manyTimeWaits) {
		r.closed(2000+i, false)
	}
	s := c.ep.(*Endpoint).shard
	before := s.wheel
	if s.mostTimeWaits != manyTimeWaits {
		t.Fatalf("%d records had timers, want %d", s.mostTimeWaits, manyTimeWaits)
	}
	r.pass(61 * time.Second)
	r.wantRecords(0, 2)
	if s.wheel == before || s.wheel.Len() != 1 || s.mostTimeWaits != 0 {
		t.Errorf("a new wheel: %v; it has %d timers, want one", s.wheel != before, s.wheel.Len())
	}
	sent := p.sent
	r.pass(27 * time.Second)
	if p.sent != sent {
		t.Error("the keepalive timer has expired too early")
	}
	r.pass(time.Second)
	if p.sent != sent+1 {
		t.Errorf("%d keepalive probes, want one", p.sent-sent)
	}
}

// TestTimeWaitMemory: a connection in TIME-WAIT that the application has closed takes at most 512
// bytes, the tables of gVisor's stack included. All of it comes back.
func TestTimeWaitMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes 10,000 connections")
	}
	const conns = 10_000
	s := newIdlers(t, NewProtocol)
	size := s.perTimeWait(conns)
	t.Logf("a connection in TIME-WAIT takes %d bytes", size)
	if size > 512 {
		t.Errorf("a connection in TIME-WAIT takes %d bytes, want at most 512", size)
	}
	with := heapAndStacks()
	s.stack.TransportProtocolInstance(ProtocolNumber).(*protocol).timeWaits.close()
	if back := with - heapAndStacks(); back < 9*conns*size/10 {
		t.Errorf("%d of %d bytes came back", back, conns*size)
	}
}

// perTimeWait closes n connections, the dialing end first, and returns the bytes that each takes.
func (s *idlers) perTimeWait(n int) int {
	end := func(n int) {
		for range n {
			s.connect(1)
			a, b := s.ends[len(s.ends)-2], s.ends[len(s.ends)-1]
			s.ends = s.ends[:0]
			a.Close()
			b.Close()
			s.try(func() tcpip.Error {
				if gtcp.EndpointState(a.State()) != gtcp.StateTimeWait {
					return &tcpip.ErrWouldBlock{}
				}
				return nil
			})
		}
		clear(s.ends[:cap(s.ends)])
	}
	end(200)
	before := heapAndStacks()
	end(n)
	return (heapAndStacks() - before) / n
}

// BenchmarkTimeWait measures the memory of a connection in TIME-WAIT for either TCP.
func BenchmarkTimeWait(b *testing.B) {
	for _, impl := range impls {
		b.Run("impl="+impl.name, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(float64(newIdlers(b, impl.f).perTimeWait(20_000)), "B/conn")
			}
		})
	}
}

// TestTimeWaitPortList adds records of two ports and removes them in each order. A port's list has
// its records that were not removed, and is gone with the last one.
func TestTimeWaitPortList(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		var table timeWaits
		table.init(&protocol{})
		table.resize(minBuckets)
		var all []*timeWait
		for i := range uint16(4) {
			w := &timeWait{ends: ends{localPort: 1 + i/3, remotePort: i}}
			table.link(w, table.hash(&w.ends))
			all = append(all, w)
		}
		for n, i := range order {
			table.unlink(all[i])
			left := map[*timeWait]bool{}
			for w, before := table.ports[1], (*timeWait)(nil); w != nil; w, before = w.behind, w {
				if left[w] = true; w.before != before {
					t.Errorf("order %v: record %d does not follow the one before it", order, w.ends.remotePort)
				}
			}
			for k, w := range all[:3] {
				if want := slices.Contains(order[n+1:], k); left[w] != want {
					t.Errorf("order %v, %d removed: record %d in the list: %v, want %v", order, n+1, k, left[w], want)
				}
			}
		}
		if len(table.ports) != 1 || table.ports[2] != all[3] {
			t.Errorf("order %v: %d ports, want the other one only", order, len(table.ports))
		}
	}
}
