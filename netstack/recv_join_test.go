package netstack

import (
	"bytes"
	"fmt"
	"math/rand"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/tcp"
)

// memory returns the memory that a queue holds, in bytes.
func (q *recvQueue) memory() int {
	n := memoryOf(&q.ready)
	for i := range q.later {
		n += memoryOf(&q.later[i].data) + viewCost
	}
	return n
}

// packetIn returns a packet whose payload lies behind headers in a chunk of size bytes.
func packetIn(size int, payload []byte) *stack.PacketBuffer {
	v := buffer.NewView(max(size, 60+len(payload)))
	v.Write(make([]byte, 60))
	v.Write(payload)
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithView(v)})
	pkt.TransportHeader().Consume(60)
	return pkt
}

// TestSmallSegmentsHoldLittle inserts small segments, each in a large chunk, in several orders. The
// memory stays in proportion to the data.
func TestSmallSegmentsHoldLittle(t *testing.T) {
	orders := map[string]func(n int) []int{
		"in order": func(n int) []int {
			all := make([]int, n)
			for i := range all {
				all[i] = i
			}
			return all
		},
		"from the end": func(n int) []int {
			all := make([]int, n)
			for i := range all {
				all[i] = n - 1 - i
			}
			return all
		},
		"every second one, then the others": func(n int) (all []int) {
			for start := range 2 {
				for i := 1 - start; i < n; i += 2 {
					all = append(all, i)
				}
			}
			return all
		},
		"blocks of 100 in any order": func(n int) (all []int) {
			for _, b := range rand.New(rand.NewSource(1)).Perm(n / 100) {
				for _, i := range rand.New(rand.NewSource(int64(b))).Perm(100) {
					all = append(all, 100*b+i)
				}
			}
			return all
		},
	}
	for name, order := range orders {
		for _, size := range []int{1, 3, 100, 900, 1448} {
			for _, chunk := range []int{128, 2048, 65536} {
				pieces := min(scaled(500, 2000), 200*65536/chunk)
				want := stream(pieces * size)
				var q recvQueue
				counted, ranges := 0, 0
				for k, i := range order(pieces) {
					pkt := packetIn(chunk, want[i*size:(i+1)*size])
					q.insert(pkt, tcp.Disposition{Len: uint32(size), Stream: uint64(i * size)})
					pkt.DecRef()
					counted, ranges = counted+size, max(ranges, len(q.later))
					// Each out-of-order range may cost a little extra; the engine limits them
					// (Config.MaxOutOfOrder).
					if k%64 != 0 && k != pieces-1 {
						continue
					}
					if got, bound := q.memory(), 4*counted+(1+ranges)*4*viewCost+4*smallView; got > bound {
						t.Fatalf("%s, segments of %d bytes in chunks of %d: %d bytes of memory for %d in %d ranges, want at most %d",
							name, size, chunk, got, counted, ranges, bound)
					}
				}
				var got bytes.Buffer
				q.ready.ReadToWriter(&got, q.ready.Size())
				if !bytes.Equal(got.Bytes(), want) {
					t.Fatalf("%s, segments of %d bytes in chunks of %d: the stream read differs from the stream sent", name, size, chunk)
				}
				q.drop()
			}
		}
	}
}

// TestFullSegmentsAreNotCopied: chunks that segments fill are kept.
func TestFullSegmentsAreNotCopied(t *testing.T) {
	var q recvQueue
	for i := range 10 {
		pkt := packetIn(2048, make([]byte, 1448))
		was := pkt.Data().ToBuffer()
		q.insert(pkt, tcp.Disposition{Len: 1448, Stream: uint64(i * 1448)})
		list, mine := was.AsViewList(), q.ready.AsViewList()
		if &list.Front().AsSlice()[0] != &mine.Back().AsSlice()[0] {
			t.Fatalf("segment %d was copied", i)
		}
		was.Release()
		pkt.DecRef()
	}
	q.drop()
}

// TestSmallSegmentsOfAPeer: a peer fills a connection's window with segments of one byte.
func TestSmallSegmentsOfAPeer(t *testing.T) {
	r := newRig(t, NewProtocol, true)
	_, c, p := r.established()
	// From the end, so that all arrive out of order until the last.
	n := scaled(5000, 20_000)
	for i := n - 1; i >= 0; i-- {
		p.send(header.TCPFlagAck, 1+uint32(i), 1, 1)
	}
	e := c.endpoint()
	e.mu.Lock()
	got, mem := int(e.rcvUsed), e.rcv.memory()
	e.mu.Unlock()
	if got != n || mem > 4*n {
		t.Errorf("%d of %d bytes are readable, in %d bytes of memory", got, n, mem)
	}
	c.read()
}

// BenchmarkReceiveSmall measures the queue's cost of a small segment.
func BenchmarkReceiveSmall(b *testing.B) {
	for _, size := range []int{1, 100, 1448} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			payload := make([]byte, size)
			var q recvQueue
			var spent time.Duration
			b.ReportAllocs()
			for b.Loop() {
				pkt := packetIn(2048, payload)
				start := time.Now()
				q.insert(pkt, tcp.Disposition{Len: uint32(size), Stream: q.end})
				spent += time.Since(start)
				pkt.DecRef()
				if q.ready.Size() > 1<<20 {
					q.drop()
				}
			}
			b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "ns/insert")
			q.drop()
		})
	}
}
