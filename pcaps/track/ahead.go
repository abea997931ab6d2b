package track

import "tcpwheel/pcaps/capture"

// ahead decodes the segments of an epoch on a goroutine of its own, for a shard that has more of
// them than others.
type ahead struct {
	full, empty chan *batch
	filling     *batch // or nil: where OnTooBig's function puts errors
}

// batch is a number of segments, and the ICMP errors between them.
type batch struct {
	packets [batchSize]capture.Packet
	n       int
	tooBig  []tooBigAt
	err     error // after the last segment
	failure any   // what the decoder panicked with, or nil
}

// tooBigAt is an ICMP error before the segment of that index.
type tooBigAt struct {
	capture.TooBig
	before int
}

const (
	batchSize = 128
	batches   = 8
)

func newAhead() *ahead {
	a := &ahead{full: make(chan *batch, batches), empty: make(chan *batch, batches)}
	for range batches {
		a.empty <- &batch{}
	}
	return a
}

// read fills batches with n segments, or those before an error.
func (a *ahead) read(r *capture.Reader, n int64) {
	var err error
	defer func() {
		if p := recover(); p != nil {
			a.full <- &batch{failure: p}
		}
	}()
	for n > 0 && err == nil {
		b := <-a.empty
		b.n, b.tooBig, b.err = 0, b.tooBig[:0], nil
		for a.filling = b; b.n < batchSize && n > 0 && err == nil; {
			var more []capture.Packet
			more, err = r.NextBatch(int(min(batchSize-int64(b.n), n)))
			for i := range more {
				p := &b.packets[b.n+i]
				*p = more[i]
				p.Payload = standIn(p.Payload)
			}
			b.n, n = b.n+len(more), n-int64(len(more))
		}
		b.err, a.filling = err, nil
		a.full <- b
	}
}

// followAhead is followEpoch with the decoder on a goroutine of its own.
func (s *shard) followAhead() error {
	if s.ahead == nil {
		s.ahead = newAhead()
	}
	go s.ahead.read(s.r, s.of.size)
	for n := int64(0); n < s.of.size; {
		b := <-s.ahead.full
		if b.failure != nil {
			panic(b.failure)
		}
		for i := range b.n {
			for ; len(b.tooBig) > 0 && b.tooBig[0].before <= i; b.tooBig = b.tooBig[1:] {
				s.t.TooBig(b.tooBig[0].TooBig)
			}
			s.add(&b.packets[i])
		}
		for _, e := range b.tooBig {
			s.t.TooBig(e.TooBig)
		}
		n += int64(b.n)
		err := b.err
		if s.ahead.empty <- b; err != nil {
			return err
		}
	}
	return nil
}

// zeros and others are what the payloads of a batch point into.
var zeros, others = make([]byte, maxStandIn), append([]byte{1}, make([]byte, maxStandIn-1)...)

// maxStandIn is longer than checksumCounts.note has to know.
const maxStandIn = 2048

// standIn returns bytes that stay when payload does not: as many, and zeros if it has nothing else.
// A tracker looks for nothing else in a payload.
func standIn(payload []byte) []byte {
	from := others
	if isBlanked(payload) {
		from = zeros
	}
	return from[:min(len(payload), maxStandIn)]
}
