package netstack

import (
	"bytes"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
)

// buffersRig is a rig whose stack has a bound on its buffers, and a listener.
func buffersRig(t *testing.T, limit int64) (*rig, *rigSocket) {
	cfg := DefaultConfig()
	cfg.Buffers, cfg.CheckInvariants = limit, true
	f, err := NewProtocolWith(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, f, true)
	return r, r.socket("l").bind(rigPort).listen(1000)
}

func (r *rig) open(l *rigSocket, port uint16, shut bool) (*rigSocket, *rigPeer) {
	p := r.peer(port)
	p.shut = shut
	p.syn()
	p.ack()
	c := l.accept("c")
	if c == nil {
		r.t.Fatalf("no connection from port %d", port)
	}
	return c, p
}

// fill writes until the socket takes no more, and returns how much it took.
func (s *rigSocket) fill(most int) (n int, err tcpip.Error) {
	for n < most && err == nil {
		var took int64
		took, err = s.ep.Write(bytes.NewReader(make([]byte, min(most-n, 64<<10))), tcpip.WriteOptions{})
		n += int(took)
	}
	if _, full := err.(*tcpip.ErrWouldBlock); full {
		err = nil
	}
	s.r.drain()
	return n, err
}

func (r *rig) buffers() BufferUse {
	u, _ := Buffers(r.s)
	return u
}

// TestBuffersAreBounded: 500 connections whose peers keep the window at zero, and 500 that
// acknowledge nothing, want a GB each. The stack's buffers stay within the bound, the stalled
// connections are closed and no others, and a peer that reads goes on all the time.
func TestBuffersAreBounded(t *testing.T) {
	const limit, each, count = 8 << 20, 1 << 30, 500
	r, l := buffersRig(t, limit)
	fair, peer := r.open(l, 1000, false)
	moved := 0
	transfer := func(d time.Duration) {
		for until := r.clock.Time().Add(d); r.clock.Time() < until; r.pass(10 * time.Millisecond) {
			n, err := fair.fill(256 << 10)
			if err != nil {
				t.Fatalf("the fair connection: %v, %+v", err, r.buffers())
			}
			peer.ack()
			moved += n
		}
	}
	base := heapInUse()
	var stalled []*rigSocket
	for i := range 2 * count {
		c, _ := r.open(l, uint16(2000+i), i < count)
		if _, err := c.fill(each); err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		stalled = append(stalled, c)
		// Data just written is counted a step later.
		if u := r.buffers(); u.Used > limit+int64(i+1)*freeMemory+128<<10 {
			t.Fatalf("%d connections hold %d bytes, more than %d", i+1, u.Used, limit)
		}
	}
	if u := r.buffers(); u.Pressures == 0 || u.Aborted != 0 || u.Used < limit/3*2 {
		t.Errorf("after %d connections: %+v, want pressure and none closed", 2*count, u)
	}
	if grown := int64(heapInUse()) - int64(base); grown > limit+2*count*(freeMemory+12<<10) {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	transfer(time.Second)
	before := moved
	transfer(2 * stalledAfter)
	u := r.buffers()
	if u.Aborted == 0 || u.Used > limit {
		t.Errorf("%v later: %+v, want stalled connections closed", 2*stalledAfter, u)
	}
	if moved-before < 10<<20 {
		t.Errorf("a peer that reads got %d bytes in %v", moved-before, 2*stalledAfter)
	}
	closed := uint64(0)
	for _, c := range stalled {
		if _, err := c.fill(1); err != nil {
			closed++
		}
		c.ep.Abort()
	}
	if closed != u.Aborted {
		t.Errorf("%d stalled connections are closed, counted %d", closed, u.Aborted)
	}
	fair.ep.Abort()
	if u := r.buffers(); u.Used != 0 {
		t.Errorf("%d bytes are counted without a connection", u.Used)
	}
}

// TestReceivedDataIsBounded: peers send data that nobody reads, in order or behind a gap. Above the
// bound it is dropped, and acknowledgments still count.
func TestReceivedDataIsBounded(t *testing.T) {
	const limit, count = 2 << 20, 60
	r, l := buffersRig(t, limit)
	var all []*rigSocket
	for i := range count {
		c, p := r.open(l, uint16(2000+i), false)
		if i%2 == 1 {
			p.snd++ // a gap
		}
		for range 45 {
			p.data(1400)
		}
		if u := r.buffers(); u.Used > limit+int64(i+1)*freeMemory {
			t.Fatalf("%d connections hold %d bytes, more than %d", i+1, u.Used, limit)
		}
		all = append(all, c)
		if u := r.buffers(); i == count-1 && (u.Refused == 0 || u.Used < limit) {
			t.Errorf("%+v, want refused segments", u)
		}
		if n, err := c.fill(1000); n != 1000 || err != nil {
			t.Fatalf("connection %d took %d bytes, %v", i, n, err)
		}
		p.send(0x10, p.snd, p.nxt, 100) // data that is dropped, and an ACK that is not
		if e := c.ep.(*Endpoint); e.snd.size() != 0 {
			t.Fatalf("%d bytes are not acknowledged", e.snd.size())
		}
	}
	// Readers make room.
	for _, c := range all {
		c.read()
		c.ep.Abort()
	}
	if u := r.buffers(); u.Used != 0 {
		t.Errorf("%d bytes are counted without a connection", u.Used)
	}
}

// TestSmallWritesCountWhole: a queue of single bytes counts with its overhead.
func TestSmallWritesCountWhole(t *testing.T) {
	r, l := buffersRig(t, 1<<20)
	c, _ := r.open(l, 2000, true)
	n := 0
	for {
		took, err := c.fill(1)
		if n += took; took == 0 || err != nil {
			break
		}
	}
	if n > 1<<20/chunkCost {
		t.Errorf("a queue took %d single bytes", n)
	}
}
