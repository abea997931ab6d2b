package capture

import "sync"

// Ahead reads a capture in a goroutine of its own, up to a thousand packets ahead. Its packets are
// those of the Reader, in the same order. It is not safe for concurrent use, and while it reads
// nothing but Progress and Stop of the Reader may be called.
type Ahead struct {
	r      *Reader
	full   chan *batch
	empty  chan *batch
	now    *batch
	i      int // of the next packet in now
	err    error
	tooBig func(TooBig)
	ended  sync.WaitGroup
}

// batch is a number of packets with their payloads, and the ICMP errors between them.
type batch struct {
	packets  [batchSize]Packet
	n        int
	payloads []byte
	tooBig   []tooBigAt
	err      error // after the last packet
}

// tooBigAt is an ICMP error before the packet of that index.
type tooBigAt struct {
	TooBig
	before int
}

const (
	batchSize = 128
	batches   = 8
)

// NewAhead begins to read from r. tooBig, if not nil, is called by Next as OnTooBig's function is.
// The caller must call Close.
func NewAhead(r *Reader, tooBig func(TooBig)) *Ahead {
	a := &Ahead{r: r, full: make(chan *batch, batches), empty: make(chan *batch, batches), tooBig: tooBig}
	for range batches {
		a.empty <- &batch{}
	}
	a.ended.Go(a.read)
	return a
}

// read fills batches until the file ends or Close has taken the empty ones away.
func (a *Ahead) read() {
	defer close(a.full)
	var b *batch
	if a.tooBig != nil {
		a.r.OnTooBig(func(e TooBig) { b.tooBig = append(b.tooBig, tooBigAt{e, b.n}) })
	}
	for b = range a.empty {
		b.n, b.payloads, b.tooBig, b.err = 0, b.payloads[:0], b.tooBig[:0], nil
		for b.n < batchSize && b.err == nil {
			var p *Packet
			if p, b.err = a.r.Next(); b.err == nil {
				b.add(p)
			}
		}
		a.full <- b
		if b.err != nil {
			return
		}
	}
}

// add copies a packet and its payload.
func (b *batch) add(p *Packet) {
	q := &b.packets[b.n]
	*q = *p
	b.n++
	if len(p.Payload) > 0 {
		from := len(b.payloads)
		b.payloads = append(b.payloads, p.Payload...) // earlier payloads stay where they were
		q.Payload = b.payloads[from:len(b.payloads):len(b.payloads)]
	}
}

// Next returns the next segment as Reader.Next does.
func (a *Ahead) Next() (*Packet, error) {
	for {
		if b := a.now; b != nil {
			for len(b.tooBig) > 0 && b.tooBig[0].before <= a.i {
				a.tooBig(b.tooBig[0].TooBig)
				b.tooBig = b.tooBig[1:]
			}
			if a.i < b.n {
				a.i++
				return &b.packets[a.i-1], nil
			}
			if a.err = b.err; a.err != nil {
				return nil, a.err
			}
			a.empty <- b
		}
		if a.err != nil {
			return nil, a.err
		}
		a.now, a.i = <-a.full, 0
	}
}

// Close stops reading and returns when the Reader is not used any more. It does not close the
// Reader.
func (a *Ahead) Close() {
	a.r.Stop()
	close(a.empty)
	for range a.full {
	}
	a.ended.Wait()
}
