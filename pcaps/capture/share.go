package capture

import (
	"encoding/binary"
	"io"
	"net/netip"
	"slices"
	"sync"
)

// Share returns n Readers that together read what r would, each on a goroutine of its own. Each
// reads every record, and Next of each returns every segment, but decodes only those of its share
// of the connections. The others are marked Elsewhere: of them Number, Time and Since are valid,
// and all fields if Sampled. The stream is read and decompressed once.
//
// A Reader may be relayedChunks times 256 KB ahead of another, and then waits for it. So each must
// be read to its end, or Leave. r must not have been read, must be closed after them, and is not
// used otherwise but for Progress and Stop. It must be of Open or NewReader. Cost: each packet of
// another share some 30 ns.
func (r *Reader) Share(n int) []*Reader {
	relay := &relay{r: unread{r.in}, at: make([]int64, n)}
	relay.moved.L = &relay.mu
	shares := make([]*Reader, n)
	for i := range shares {
		relay.at[i] = -1
		in := newInput(&relayed{relay: relay, i: i}, -1)
		in.offset, in.unit = r.in.offset, r.in.unit
		s := &Reader{source: r.source, in: in, file: formatOver(r.file, in)}
		s.d.p, s.d.share, s.d.shares = &s.one, i, n
		shares[i] = s
	}
	return shares
}

// formatOver returns f over another input. No record of f was read.
func formatOver(f format, in *input) format {
	if f, ok := f.(*pcapFile); ok {
		g := *f
		g.in, g.iface = in, slices.Clone(f.iface)
		return &g
	}
	return &pcapngFile{in: in}
}

// Leave says that r, one of several shares, will not be read any more.
func (r *Reader) Leave() {
	if from, ok := r.in.r.(*relayed); ok {
		from.leave()
	}
}

// TakeAll makes Next decode the segments of all connections from now on.
func (r *Reader) TakeAll() { r.d.shares = 1 }

// Sampled reports whether each share decodes segment n of the capture, counted from 1: the first
// 1,024, and one in 16. What is concluded from these about the whole capture is the same in each.
func Sampled(n int64) bool { return n <= 1024 || n%16 == 0 }

// StatsOf returns the counts of a capture that was read in shares.
func StatsOf(shares []*Reader) Stats {
	s := shares[0].Stats()
	for _, r := range shares[1:] {
		s.Truncated += r.stats.Truncated
		for i, n := range r.stats.Problems {
			s.Problems[i] += n
		}
	}
	return s
}

// shareOf returns which of n shares has the connection between two ends, by their keys. It is the
// same in both directions.
func shareOf(x, y uint64, n int) int { return int(mix(x+y, x^y) >> 33 * uint64(n) >> 31) }

// endKey returns a number for an end, different for different ends of IPv4.
func endKey(a netip.AddrPort) uint64 {
	addr := a.Addr()
	if addr.Is6() {
		return hashAddr(addr) ^ uint64(a.Port())
	}
	b := addr.As4()
	return endKey4(binary.BigEndian.Uint32(b[:]), a.Port())
}

func endKey4(addr uint32, port uint16) uint64 { return uint64(addr)<<16 | uint64(port) }

// isElsewhere reports whether the segment in b, which plainIPv4 returned, belongs to another share.
func (d *decoder) isElsewhere(b []byte) bool {
	x := endKey4(binary.BigEndian.Uint32(b[12:]), binary.BigEndian.Uint16(b[20:]))
	y := endKey4(binary.BigEndian.Uint32(b[16:]), binary.BigEndian.Uint16(b[22:]))
	return shareOf(x, y, d.shares) != d.share
}

// skips reports whether the segment is of another share and need not be decoded.
func (d *decoder) skips() bool { return d.p.Elsewhere && !d.sampled }

// relay passes a stream to several readers. The first one to need a chunk reads it for all.
type relay struct {
	r io.Reader

	mu      sync.Mutex
	moved   sync.Cond // at or next has changed
	chunks  [relayedChunks][]byte
	next    int64   // chunks read so far; chunk k is in chunks[k%relayedChunks]
	at      []int64 // the chunk that each reader has; -1 before the first, gone after Leave
	reading bool    // a reader reads the next chunk
	err     error   // what follows the last chunk
}

const (
	relayedChunks       = 8
	gone          int64 = 1 << 62
)

// take returns the next chunk of reader i, valid until its next call.
func (r *relay) take(i int) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at[i]++
	r.moved.Broadcast() // the chunk before may be free
	for k := r.at[i]; k >= r.next; {
		switch {
		case r.err != nil:
			return nil, r.err
		case r.reading || r.next-slices.Min(r.at) >= relayedChunks:
			r.moved.Wait()
		default:
			r.read()
		}
	}
	return r.chunks[r.at[i]%relayedChunks], nil
}

// read reads the next chunk. The caller holds the lock, which is not held meanwhile.
func (r *relay) read() {
	b := r.chunks[r.next%relayedChunks]
	if b == nil {
		b = make([]byte, inputSize)
	}
	r.reading = true
	r.mu.Unlock()
	n, err := 0, error(nil)
	defer func() {
		r.mu.Lock()
		r.reading = false
		if n > 0 {
			r.chunks[r.next%relayedChunks] = b[:n]
			r.next++
		}
		r.err = err
		r.moved.Broadcast()
	}()
	n, err = r.r.Read(b[:inputSize])
}

// relayed is the stream as one reader has it.
type relayed struct {
	relay *relay
	i     int
	rest  []byte // of its chunk
}

// Read implements io.Reader.
func (r *relayed) Read(b []byte) (n int, err error) {
	if len(r.rest) == 0 {
		if r.rest, err = r.relay.take(r.i); err != nil {
			return 0, err
		}
	}
	n = copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *relayed) leave() {
	r.relay.mu.Lock()
	defer r.relay.mu.Unlock()
	r.relay.at[r.i] = gone
	r.relay.moved.Broadcast()
}
