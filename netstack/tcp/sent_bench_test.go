package tcp

import (
	"fmt"
	"testing"

	"tcpwheel/wheel"
)

// fullQueue returns a queue of n segments of 1000 bytes.
func fullQueue(b *testing.B, n int) sentQueue {
	q, err := newSentQueue(n + 1)
	if err != nil {
		b.Fatal(err)
	}
	for i := range n {
		q.Push(wheel.Time(i), Seq(i*1000), 1000, 0)
	}
	return q
}

// BenchmarkSentAck sends a segment and acknowledges the oldest one, with a window in flight.
func BenchmarkSentAck(b *testing.B) {
	for _, window := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprintf("window=%d", window), func(b *testing.B) {
			q := fullQueue(b, window)
			nxt, una := Seq(window*1000), Seq(0)
			b.ReportAllocs()
			for b.Loop() {
				q.Push(0, nxt, 1000, 0)
				nxt, una = nxt.Add(1000), una.Add(1000)
				q.Ack(una, nil)
			}
		})
	}
}

// BenchmarkSentSack grows the block that starts at the second segment of a window by one segment at
// a time. At the end of the window it acknowledges it and sends another, which is included.
func BenchmarkSentSack(b *testing.B) {
	for _, window := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprintf("window=%d", window), func(b *testing.B) {
			q := fullQueue(b, window)
			una, nxt := Seq(0), Seq(window*1000)
			end := una.Add(1000)
			b.ReportAllocs()
			for b.Loop() {
				if end == nxt {
					una = end
					q.Ack(una, nil)
					for range window {
						q.Push(0, nxt, 1000, 0)
						nxt = nxt.Add(1000)
					}
					end = una.Add(1000)
				}
				q.Sack(SeqRange{una.Add(1000), end.Add(1000)}, nil)
				end = end.Add(1000)
			}
		})
	}
}
