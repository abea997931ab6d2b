package netstack

import (
	"bytes"
	"io"
	"math/rand"
	"testing"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/tcp"
)

// stream returns test data whose bytes reveal their offset.
func stream(n int) []byte {
	b := make([]byte, n)
	rand.New(rand.NewSource(1)).Read(b)
	return b
}

// TestRecvQueue inserts overlapping pieces in random order, cut as the engine cuts them, and reads
// the stream.
func TestRecvQueue(t *testing.T) {
	for seed := range int64(scaled(50, 200)) {
		rng := rand.New(rand.NewSource(seed))
		want := stream(1 + rng.Intn(3000))
		var q recvQueue
		held := make([]bool, len(want))
		for q.end < uint64(len(want)) {
			start := rng.Intn(len(want))
			end := min(start+1+rng.Intn(400), len(want))
			off := rng.Intn(20) // in the segment
			pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{
				Payload: buffer.MakeWithData(append(make([]byte, off), append(want[start:end:end], 1, 2, 3)...)),
			})
			if old := int(q.end) - start; old > 0 { // the engine never accepts bytes twice
				start, off = start+old, off+old
			}
			if start < end {
				q.insert(pkt, tcp.Disposition{Offset: uint32(off), Len: uint32(end - start), Stream: uint64(start)})
				for i := start; i < end; i++ {
					held[i] = true
				}
			}
			pkt.DecRef()
			prefix := 0
			for prefix < len(held) && held[prefix] {
				prefix++
			}
			if q.end != uint64(prefix) {
				t.Fatalf("seed %d: %d bytes in order, want %d", seed, q.end, prefix)
			}
			for i := 1; i < len(q.later); i++ {
				if q.later[i-1].end() > q.later[i].start {
					t.Fatalf("seed %d: chunks overlap: %d..%d and %d", seed, q.later[i-1].start, q.later[i-1].end(), q.later[i].start)
				}
			}
		}
		var got bytes.Buffer
		q.ready.ReadToWriter(&got, q.ready.Size())
		if !bytes.Equal(got.Bytes(), want) {
			t.Fatalf("seed %d: the stream read differs from the stream sent", seed)
		}
		q.drop()
	}
}

// TestSendQueue takes windows of the queue and releases acknowledged data.
func TestSendQueue(t *testing.T) {
	for seed := range int64(100) {
		rng := rand.New(rand.NewSource(seed))
		want := stream(20_000)
		var q sendQueue
		for q.start < uint64(len(want)) {
			switch rng.Intn(3) {
			case 0:
				if n := min(1+rng.Intn(900), len(want)-int(q.end)); n > 0 {
					views, err := readViews(bytes.NewReader(want[q.end:]), n)
					if err != nil {
						t.Fatal(err)
					}
					q.append(views)
				}
			case 1:
				if size := q.size(); size > 0 {
					off := rng.Intn(size)
					n := 1 + rng.Intn(size-off)
					b := q.window(q.start+uint64(off), uint32(n))
					got := b.Flatten()
					b.Release()
					if at := int(q.start) + off; !bytes.Equal(got, want[at:at+n]) {
						t.Fatalf("seed %d: window of %d bytes at %d differs from what was written", seed, n, at)
					}
				}
			case 2:
				q.release(q.start+uint64(rng.Intn(q.size()+1)), rng.Intn(2) == 0)
			}
		}
		q.drop()
	}
}

// TestTruncateViews truncates views for a writer that finds too little room.
func TestTruncateViews(t *testing.T) {
	for n := range 10 {
		var views []*buffer.View
		for range 3 {
			v, _ := readViews(io.LimitReader(bytes.NewReader(stream(3)), 3), 3)
			views = append(views, v...)
		}
		views = truncateViews(views, n)
		got := 0
		for _, v := range views {
			got += v.Size()
		}
		if got != n {
			t.Errorf("truncateViews(9 bytes, %d) keeps %d", n, got)
		}
		releaseViews(views)
	}
}
