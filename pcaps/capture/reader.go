package capture

import "io"

// Reader reads the TCP segments of a capture. It is not safe for concurrent use, except for
// Progress and Stop.
type Reader struct {
	source *source
	in     *input
	file   format
	rec    record
	segments
	one Packet // that Next returned last
	err error  // end of the file; returned after the late packets
}

// segments decodes records and counts them.
type segments struct {
	d     decoder
	stats Stats
}

// Open opens a file, or standard input if the name is "-". The first bytes decide the format: pcap
// or pcapng, plain or compressed with gzip, zstd or bzip2.
func Open(name string) (*Reader, error) {
	s, err := openSource(name)
	if err != nil {
		return nil, err
	}
	return newReader(s)
}

// NewReader reads a capture from r. The name is for errors. Close does not close r.
func NewReader(r io.Reader, name string) (*Reader, error) { return newReader(newSource(r, name)) }

func newReader(s *source) (*Reader, error) {
	r := &Reader{source: s}
	r.d.p = &r.one
	var err error
	if r.in, r.file, err = s.open(); err != nil {
		s.Close()
		return nil, r.wrap(err, 0)
	}
	return r, nil
}

// Next returns the next TCP segment, valid until the next call. It returns io.EOF at the end of the
// file. Any other error is an *Error, which wraps ErrCutShort if the file ends inside an item;
// everything before it was returned. Errors are sticky.
//
// A reassembled segment is marked Fragment. Its number and stamp are those of the fragment that
// came last, Len that of the whole. Where fragments are missing, the segment comes up to a second
// of capture time late and out of order, with number, stamp and Len of its first fragment.
//
// Next does not allocate in the steady state.
func (r *Reader) Next() (*Packet, error) {
	for {
		ok, err := r.step()
		if err != nil {
			return nil, err
		}
		if ok {
			return r.d.p, nil
		}
	}
}

// step reads a record, or returns to a late datagram, and reports whether a segment is in r.d.p.
func (r *Reader) step() (ok bool, err error) {
	if len(r.d.frags.late) > 0 {
		return r.late(), nil
	}
	if r.err != nil {
		return false, r.err
	}
	r.rec.options, r.rec.direction, r.rec.problems = nil, Unknown, 0
	if err := r.file.next(&r.rec); err != nil {
		r.end(err)
		return false, nil
	}
	return r.decode(&r.rec, &r.file.interfaces()[r.rec.iface]), nil
}

// decode decodes a record of an interface and reports whether it is a segment.
func (r *segments) decode(rec *record, on *Interface) bool {
	s := &r.stats
	if s.Packets++; s.Packets == 1 {
		s.Start, s.First, s.Last = rec.time, rec.time, rec.time
	}
	if on.Packets > 1 && rec.time < on.last {
		rec.problems |= ClockBack
	}
	s.First, s.Last = min(s.First, rec.time), max(s.Last, rec.time)
	rec.number, rec.since, on.last = s.Packets, rec.time.Sub(s.Start), rec.time
	if got := r.d.decode(on.LinkType, rec); got != isTCP {
		s.Skipped[got]++
		return false
	}
	r.count()
	return true
}

// count counts the segment in r.d.p.
func (r *segments) count() {
	s, p := &r.stats, r.d.p
	s.TCP++
	if uint32(len(p.Payload)) < p.Len {
		s.Truncated++
	}
	for i := 0; p.Problems>>i != 0; i++ {
		s.Problems[i] += int64(p.Problems >> i & 1)
	}
}

// late decodes a datagram that was given up and reports whether it holds a segment.
func (r *segments) late() bool {
	if r.d.decodeLate(r.d.frags.nextLate()) != isTCP {
		return false
	}
	r.stats.Skipped[FragmentPart]--
	r.count()
	return true
}

// end records what ended the file.
func (r *Reader) end(err error) {
	if r.err = err; err != io.EOF {
		r.err = r.wrap(err, r.stats.Packets+1)
	}
	r.d.frags.giveUpAll()
}

func (r *Reader) wrap(err error, packet int64) error {
	e := &Error{File: r.source.name, Packet: packet, Err: err}
	if r.in != nil {
		e.Offset = r.in.unit
	}
	return e
}

// OnICMPError makes Next call f for each ICMP error about a TCP segment, in file order.
func (r *Reader) OnICMPError(f func(ICMPError)) { r.d.icmpError = f }

// Frame returns the bytes kept of the packet that Next returned last, its length on the wire and
// its link type. The bytes are valid until the next call of Next.
func (r *Reader) Frame() (data []byte, length uint32, linkType uint16) {
	return r.rec.data, r.rec.length, r.file.interfaces()[r.rec.iface].LinkType
}

// Comments returns the comments of the packet that Next returned last. Only pcapng has them.
func (r *Reader) Comments() (comments []string) {
	if len(r.rec.options) == 0 || r.d.p.Number != r.rec.number {
		return nil
	}
	for o := (options{r.rec.order, r.rec.options}); ; {
		code, value, ok := o.next()
		if !ok {
			return comments
		}
		if code == 1 { // opt_comment
			comments = append(comments, string(value))
		}
	}
}

// Stats returns the counts so far.
func (r *Reader) Stats() Stats {
	s := r.stats
	s.Bytes = r.in.offset
	for i := range r.file.interfaces() {
		s.Dropped += r.file.interfaces()[i].Dropped
	}
	return s
}

// Interfaces returns a copy of the interfaces described so far. Packet.Interface is an index.
func (r *Reader) Interfaces() []Interface {
	return append([]Interface(nil), r.file.interfaces()...)
}

// Name returns the file's name, or "standard input".
func (r *Reader) Name() string { return r.source.name }

// Progress returns how many bytes of the file were read, before decompression, and its size, -1 if
// unknown. Any goroutine may call it.
func (r *Reader) Progress() (read, size int64) { return r.source.read.Load(), r.source.size }

// Stop makes Next return ErrStopped soon. It does not wake a reader blocked on a pipe. Any
// goroutine may call it.
func (r *Reader) Stop() { r.source.stop.Store(true) }

// Close closes the file that Open opened. Next must not be called afterwards.
func (r *Reader) Close() error { return r.source.Close() }
