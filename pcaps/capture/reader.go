package capture

import "io"

// Reader reads the TCP segments of a capture. It is not safe for concurrent use, but for Progress and Stop.
type Reader struct {
	source *source
	in     *input
	file   format
	rec    record
	d      decoder
	stats  Stats
	err    error // what ended the file: told when the packets that came late are given out
}

// Open opens a file, or standard input if the name is "-". What it is, is told by its first octets, and not by its name:
// pcap or pcapng, plain or compressed with gzip, zstd or bzip2.
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
	var err error
	if r.in, r.file, err = s.open(); err != nil {
		s.Close()
		return nil, r.wrap(err, 0)
	}
	return r, nil
}

// Next returns the next TCP segment, which is valid until the next call, as Packet says. The error is io.EOF at the end of
// the file. Any other is an *Error, and has ErrCutShort in it if the file ends in the middle of something; all that could be
// read was given out before. After an error there is nothing but that error.
//
// A segment in an IP datagram that came in fragments is marked Fragment. It has the number and the stamp of the fragment
// that came last, and Len is that of the whole. Where fragments are missing, it comes up to a second of the capture late,
// and out of order: its number, its stamp and its Len are those of its first fragment.
//
// It allocates nothing, in the long run.
func (r *Reader) Next() (*Packet, error) {
	for {
		if len(r.d.frags.late) > 0 {
			if r.late() {
				return &r.d.p, nil
			}
			continue
		}
		if r.err != nil {
			return nil, r.err
		}
		r.rec.options, r.rec.direction, r.rec.problems = nil, Unknown, 0
		if err := r.file.next(&r.rec); err != nil {
			r.end(err)
			continue
		}
		if r.packet() {
			return &r.d.p, nil
		}
	}
}

// packet decodes the record that was read, and reports whether it is a segment.
func (r *Reader) packet() bool {
	s, rec, on := &r.stats, &r.rec, &r.file.interfaces()[r.rec.iface]
	if s.Packets++; s.Packets == 1 {
		s.First, s.Last = rec.time, rec.time
	}
	if on.Packets > 1 && rec.time < on.last {
		rec.problems |= ClockBack
	}
	s.First, s.Last = min(s.First, rec.time), max(s.Last, rec.time)
	rec.number, on.last = s.Packets, rec.time
	if got := r.d.decode(on.LinkType, rec); got != isTCP {
		s.Skipped[got]++
		return false
	}
	r.count()
	return true
}

// count counts the segment in r.d.p.
func (r *Reader) count() {
	s, p := &r.stats, &r.d.p
	s.TCP++
	if uint32(len(p.Payload)) < p.Len {
		s.Truncated++
	}
	for i := 0; p.Problems>>i != 0; i++ {
		s.Problems[i] += int64(p.Problems >> i & 1)
	}
}

// late takes a datagram that was given up, and reports whether there is a segment in what came of it.
func (r *Reader) late() bool {
	if r.d.decodeLate(r.d.frags.nextLate()) != isTCP {
		return false
	}
	r.stats.Skipped[FragmentPart]--
	r.count()
	return true
}

// end notes what ended the file.
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

// Comments returns the comments of the packet that Next returned last, which only pcapng has: nil for most.
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

// Stats returns what was read so far.
func (r *Reader) Stats() Stats {
	s := r.stats
	s.Bytes = r.in.offset
	for i := range r.file.interfaces() {
		s.Dropped += r.file.interfaces()[i].Dropped
	}
	return s
}

// Interfaces returns the interfaces that the file has described so far. Packet.Interface is an index. The slice is a copy.
func (r *Reader) Interfaces() []Interface {
	return append([]Interface(nil), r.file.interfaces()...)
}

// Name returns the file's name, or "standard input".
func (r *Reader) Name() string { return r.source.name }

// Progress returns how many octets of the file were read, before decompression, and how many it has: -1 if that is not
// known, as of a pipe. It may be called at any time from any goroutine.
func (r *Reader) Progress() (read, size int64) { return r.source.read.Load(), r.source.size }

// Stop lets Next end soon, with ErrStopped, wherever it is in the file. It may be called at any time from any goroutine. It does
// not wake a reader that waits for a pipe.
func (r *Reader) Stop() { r.source.stop.Store(true) }

// Close closes the file that Open opened. There may be no more calls of Next.
func (r *Reader) Close() error { return r.source.Close() }
