package background

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"sync"
	"testing"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// item is of one of several senders. Its bytes are the number, size times.
type item struct{ sender, number, size int }

// add adds an item.
func add(q *Queue[item], i item) {
	q.Add(i.size, func(b *Batch[item]) {
		b.Items = append(b.Items, i)
		b.Data = append(b.Data, bytes.Repeat([]byte{byte(i.number)}, i.size)...)
	})
}

// collector checks what a writer takes.
type collector struct {
	t     *testing.T
	taken []int // next number by sender
	total int
}

func (c *collector) run(q *Queue[item]) {
	for q.Next() {
		b := q.Take()
		data := b.Data
		for _, i := range b.Items {
			if i.number < c.taken[i.sender] || !bytes.Equal(data[:i.size], bytes.Repeat([]byte{byte(i.number)}, i.size)) {
				c.t.Errorf("item %+v comes with %v, want number %d at least", i, data[:i.size], c.taken[i.sender])
			}
			c.taken[i.sender] = i.number + 1
			data = data[i.size:]
			c.total++
		}
		if len(data) != 0 {
			c.t.Errorf("%d bytes too many", len(data))
		}
		q.Recycle(b)
	}
}

// TestQueue: items of several senders arrive in their order, with their bytes. A queue that waits
// loses none; one that drops counts those it does not take.
func TestQueue(t *testing.T) {
	const senders, each = 4, 2000
	for _, policy := range []Policy{Drop, Wait} {
		c := &collector{t: t, taken: make([]int, senders)}
		q := Start(100, policy, c.run)
		var all sync.WaitGroup
		for s := range senders {
			all.Go(func() {
				for n := range each {
					add(q, item{s, n, n % 150}) // some alone are larger than the room
				}
			})
		}
		all.Wait()
		if err := q.Close(); err != nil {
			t.Error(err)
		}
		dropped := int(q.Dropped())
		if c.total+dropped != senders*each || policy == Wait && dropped > 0 {
			t.Errorf("policy %d: %d taken and %d dropped of %d", policy, c.total, dropped, senders*each)
		}
		add(q, item{})
		if err := q.Close(); err != nil || int(q.Dropped()) != dropped {
			t.Errorf("after the end: %v, %d dropped", err, q.Dropped())
		}
	}
}

// TestQueueIsFull: while its writer is stuck, a queue keeps what fits. Senders that wait go on when
// it takes the batch, when it fails, and at Close.
func TestQueueIsFull(t *testing.T) {
	stuck := make(chan func(*Queue[item]))
	stop := errors.New("stop")
	for name, release := range map[string]func(*Queue[item]){
		"take":  func(q *Queue[item]) { q.Take() },
		"fail":  func(q *Queue[item]) { q.Fail(stop); q.Fail(errors.New("later")) },
		"close": func(*Queue[item]) {},
	} {
		writer := func(q *Queue[item]) {
			(<-stuck)(q)
			for q.Next() {
				q.Take()
			}
		}
		q := Start(10, Drop, writer)
		for n := range 5 {
			add(q, item{0, n, 4})
		}
		stuck <- func(q *Queue[item]) {
			if b := q.Take(); len(b.Items) != 2 || len(b.Data) != 8 {
				t.Errorf("%d items of %d bytes were kept, want 2", len(b.Items), len(b.Data))
			}
		}
		if q.Close(); q.Dropped() != 3 {
			t.Errorf("%d dropped, want 3", q.Dropped())
		}

		q = Start(10, Wait, writer)
		add(q, item{0, 0, 10})
		waited := make(chan bool)
		go func() { add(q, item{0, 1, 10}); close(waited) }()
		if name == "close" {
			closed := make(chan error)
			go func() { closed <- q.Close() }()
			<-waited
			stuck <- release
			if err := <-closed; err != nil {
				t.Error(err)
			}
			continue
		}
		stuck <- release
		<-waited
		if name == "fail" {
			<-q.Failed()
		}
		if err := q.Close(); errors.Is(err, stop) != (name == "fail") {
			t.Errorf("%s: Close: %v", name, err)
		}
	}
}

// TestRecycle: the memory of a batch serves the one after the next, but not that of a burst. What
// it pointed to is released.
func TestRecycle(t *testing.T) {
	type big = *[1 << 10]byte
	var caps [][2]int
	q := Start(1<<30, Wait, func(q *Queue[big]) {
		for q.Next() {
			b := q.Take()
			for _, p := range b.Items[len(b.Items):cap(b.Items)] {
				if p != nil {
					t.Error("an item of an earlier batch is kept")
				}
			}
			if len(b.Items) > 0 {
				caps = append(caps, [2]int{cap(b.Items), cap(b.Data)})
			}
			q.Recycle(b)
		}
	})
	put := func(items, bytes int) {
		q.Add(bytes, func(b *Batch[big]) {
			for range items {
				b.Items = append(b.Items, new([1 << 10]byte))
			}
			b.Data = append(b.Data, make([]byte, bytes)...)
		})
		for waits := true; waits; { // until the batch is taken
			q.mu.Lock()
			waits = q.size > 0
			q.mu.Unlock()
			runtime.Gosched()
		}
	}
	put(1<<14, 32<<20)
	for range 20 {
		put(1, 10)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	if last := caps[len(caps)-1]; caps[0][1] < 32<<20 || last[0] > 1<<12 || last[1] > 1<<20 {
		t.Errorf("memory of batches: %v", caps)
	}
}

// TestAgain: a writer that holds something back is called again.
func TestAgain(t *testing.T) {
	rounds, fifth := 0, make(chan struct{})
	q := Start(1, Wait, func(q *Queue[item]) {
		for q.Next() {
			q.Take()
			if rounds++; rounds < 5 {
				q.Again()
			} else if rounds == 5 {
				close(fifth)
			}
		}
	})
	add(q, item{})
	<-fifth
	if err := q.Close(); err != nil || rounds > 6 {
		t.Errorf("%d rounds, %v", rounds, err)
	}
}

// TestAppendPacket: the bytes of a packet begin at its network header.
func TestAppendPacket(t *testing.T) {
	payload := binary.LittleEndian.AppendUint64(nil, 0x0807060504030201)
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{ReserveHeaderBytes: 30, Payload: buffer.MakeWithData(payload)})
	defer pkt.DecRef()
	copy(pkt.NetworkHeader().Push(4), "head")
	if got := AppendPacket([]byte("> "), pkt); string(got) != "> head"+string(payload) || len(got) != 2+pkt.Size() {
		t.Errorf("%q", got)
	}
}

// BenchmarkAdd adds packets of 1,500 bytes.
func BenchmarkAdd(b *testing.B) {
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(make([]byte, 1500))})
	defer pkt.DecRef()
	q := Start(1<<20, Wait, func(q *Queue[item]) {
		for q.Next() {
			q.Recycle(q.Take())
		}
	})
	b.ReportAllocs()
	for b.Loop() {
		i := item{size: 1500}
		q.Add(1500, func(to *Batch[item]) { to.Items, to.Data = append(to.Items, i), AppendPacket(to.Data, pkt) })
	}
	q.Close()
}
