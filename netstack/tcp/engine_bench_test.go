package tcp

import (
	"encoding/binary"
	"net/netip"
	"runtime"
	"testing"
	"time"
	"unsafe"
)

// BenchmarkIdleConnections measures the memory of an idle established connection, including wheel
// records and lookup tables. Each connection has exchanged some data and runs its keepalive timer.
// Run it with -benchtime=1x.
func BenchmarkIdleConnections(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		b.Run("n="+itoa(n), func(b *testing.B) {
			for b.Loop() {
				before := heapInUse()
				e := newTestEngine(b, func(c *EngineConfig) { c.Conn.Socket.Keepalive = true })
				l, err := e.Listen(engineServer, ListenConfig{Backlog: 1})
				if err != nil {
					b.Fatal(err)
				}
				for i := range n {
					idleConnection(b, e, l, uint32(i))
				}
				after := heapInUse()
				b.ReportMetric(float64(after-before)/float64(n), "bytes/conn")
				b.ReportMetric(float64(e.wheel.Len())/float64(n), "timers/conn")
				if e.socketCount() != n {
					b.Fatalf("%d connections, want %d", e.socketCount(), n)
				}
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// TestSocketSize: Go allocates a Socket in 640 bytes, 8 of them its own. One of 640 would take 704,
// and an idle connection then more than 1,024.
func TestSocketSize(t *testing.T) {
	if n := unsafe.Sizeof(Socket{}); unsafe.Sizeof(n) == 8 && n > 632 {
		t.Errorf("a Socket takes %d bytes, want at most 632: move what few connections need to past or marks", n)
	}
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

func heapInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

// idleConnection makes a connection from the i-th address with crafted segments: SYN, ACK, a
// request of 100 bytes, and the ACK of a response of 100 bytes.
func idleConnection(b *testing.B, e *Engine, l *Listener, i uint32) {
	var a [4]byte
	binary.BigEndian.PutUint32(a[:], 0x0a000000+i)
	now := e.now.Add(100 * time.Microsecond)
	e.Advance(now)
	p := engineSYN(40000, Seq(i))
	p.Src = netip.AddrPortFrom(netip.AddrFrom4(a), 40000)
	s, _ := e.Input(now, p)
	synAck := e.Packets()[0].Header
	e.Reset()
	ack := func(flags Flags, seq, ack Seq, n uint32) {
		p.Header = Header{Seq: seq, Ack: ack, Flags: flags, Window: 65535}
		p.Header.Options = Options{HasTimestamps: true, TSVal: 1001, TSEcr: synAck.Options.TSVal}
		p.Len = n
		e.Input(now, p)
	}
	ack(ACK, Seq(i)+1, synAck.Seq+1, 0)
	if got, ok := l.Accept(); !ok || got != s {
		b.Fatalf("connection %d was not accepted", i)
	}
	ack(PSH|ACK, Seq(i)+1, synAck.Seq+1, 100)
	e.Consumed(now, s, 100)
	e.Wrote(now, s, 100, 0)
	ack(ACK, Seq(i)+101, synAck.Seq+101, 0)
	e.Reset()
	if s.conn.State() != StateEstablished || s.conn.Acked() != 100 {
		b.Fatalf("connection %d: %v, %d bytes acknowledged", i, s.conn.State(), s.conn.Acked())
	}
}

// engineRound sends n bytes between engines and advances time until all is acknowledged.
func engineRound(from, to *Engine, a, b *Socket, n uint32) {
	now := max(from.now, to.now)
	from.Wrote(now, a, n, 0)
	for a.conn.snd.una != a.conn.snd.end || len(from.Packets()) > 0 {
		if len(from.Packets())+len(to.Packets()) == 0 {
			if at, ok := to.NextTimeout(); ok { // for a delayed ACK
				now = max(now, at)
			}
		}
		now = now.Add(100 * time.Microsecond)
		from.Advance(now)
		to.Advance(now)
		for i := range from.Packets() {
			if _, v := to.Input(now, &from.Packets()[i]); v.InOrder > 0 {
				to.Consumed(now, b, v.InOrder)
			}
		}
		from.Reset()
		for i := range to.Packets() {
			from.Input(now, &to.Packets()[i])
		}
		to.Reset()
	}
}

func engineConnected(tb testing.TB) (client, server *Engine, a, b *Socket) {
	client, server = newTestEngine(tb, nil), newTestEngine(tb, nil)
	l := engineListen(tb, server, ListenConfig{Backlog: 1})
	a, err := client.Dial(0, engineClient, engineServer, nil)
	if err != nil {
		tb.Fatal(err)
	}
	engineRound(client, server, a, nil, 0)
	b, ok := l.Accept()
	if !ok {
		tb.Fatal("nothing to accept")
	}
	return client, server, a, b
}

func TestSteadyTransferDoesNotAllocate(t *testing.T) {
	// 100 bytes leave the connection idle in between; 100,000 keep a window in flight.
	for _, n := range []uint32{100, 100_000} {
		client, server, a, b := engineConnected(t)
		for range 200 {
			engineRound(client, server, a, b, n)
		}
		if got := testing.AllocsPerRun(100, func() { engineRound(client, server, a, b, n) }); got > 0 {
			t.Errorf("%d bytes: %v allocations, want none", n, got)
		}
		if got, want := b.conn.Received(), a.conn.Acked(); got != want || got < 300*uint64(n) {
			t.Errorf("%d bytes received, %d acknowledged, want the same, at least %d", got, want, 300*uint64(n))
		}
		engineCheck(t, client)
		engineCheck(t, server)
	}
}

// BenchmarkEngineTransfer measures the cost of a data segment for both ends together, including its
// ACK and timers.
func BenchmarkEngineTransfer(b *testing.B) {
	for _, n := range []uint32{100, 1_000_000} {
		b.Run("octets="+itoa(int(n)), func(b *testing.B) {
			client, server, x, y := engineConnected(b)
			before := client.Counters().TCPOrigDataSent
			b.ReportAllocs()
			for b.Loop() {
				engineRound(client, server, x, y, n)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(client.Counters().TCPOrigDataSent-before), "ns/segment")
		})
	}
}
