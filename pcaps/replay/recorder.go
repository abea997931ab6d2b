package replay

import (
	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// Config is how a Recorder works.
type Config struct {
	// Done gets each connection when it is complete, and the script of the ones that had losses, or
	// the reason why there is none: a *Refusal, or a *track.PanicError, which is a bug. Of
	// connections without a loss both are nil, unless All is set.
	Done func(c *track.Conn, s *Script, err error)

	All      bool // scripts of connections without a loss too
	MaxConns int  // of the tracker; 0 is its own bound
}

// The packets that are kept: of one connection, and of all together, which is 500 MB.
const maxPackets, maxRecorded = 1 << 19, 1 << 22

// packet is what is kept of one.
type packet struct {
	at         wheel.Time
	number     int64
	seq, ack   tcp.Seq
	len        uint32
	tsval, ecr uint32
	window     uint16
	flow       uint8
	flags      tcp.Flags
	hasTS      bool
	sacks      uint8
	sack       [tcp.MaxSACKBlocks]tcp.Range
}

// blocks returns the SACK blocks.
func (p *packet) blocks() []tcp.Range { return p.sack[:p.sacks] }

// segLen is SEG.LEN: RFC 9293 §3.3.1.
func (p *packet) segLen() int64 {
	n := int64(p.len)
	if p.flags.Has(tcp.SYN) {
		n++
	}
	if p.flags.Has(tcp.FIN) {
		n++
	}
	return n
}

// cut returns where the segment ends that begins at start, of a packet that is longer than size.
// The FIN goes with the last one.
func (p *packet) cut(start, end, size int64) int64 {
	if cut := start + size; cut < end && (end-cut > 1 || !p.flags.Has(tcp.FIN)) {
		return cut
	}
	return end
}

// recording is the packets of a connection.
type recording struct {
	packets []packet
	tooMany bool
}

// Recorder makes scripts of the connections of a capture. It follows them with a Tracker, and keeps
// the packets of each until it is complete, of 120 bytes: up to 2^19, and 2^22 of all together.
type Recorder struct {
	cfg     Config
	tracker *track.Tracker
	conns   map[*track.Conn]*recording
	kept    int
}

// NewRecorder makes a recorder that has seen nothing.
func NewRecorder(cfg Config) *Recorder {
	r := &Recorder{cfg: cfg, conns: map[*track.Conn]*recording{}}
	r.tracker = track.New(track.Config{MaxConns: cfg.MaxConns, Each: r.each, Done: r.done})
	return r
}

// Add takes the next packet in, and keeps nothing of it.
func (r *Recorder) Add(p *capture.Packet) { r.tracker.Add(p) }

// Close completes all connections.
func (r *Recorder) Close() { r.tracker.Close() }

// Evicted returns how many connections were completed only to bound their number.
func (r *Recorder) Evicted() int { return r.tracker.Evicted() }

func (r *Recorder) each(c *track.Conn, flow int, p *capture.Packet, at wheel.Time) {
	rec := r.conns[c]
	if rec == nil {
		rec = &recording{}
		r.conns[c] = rec
	}
	if rec.tooMany {
		return
	}
	if len(rec.packets) >= maxPackets || r.kept >= maxRecorded {
		rec.tooMany = true
		r.kept -= len(rec.packets)
		rec.packets = nil
		return
	}
	h := &p.Header
	k := packet{
		at: at, number: p.Number, seq: h.Seq, ack: h.Ack, len: p.Len, window: h.Window, flow: uint8(flow), flags: h.Flags,
		tsval: h.Options.TSVal, ecr: h.Options.TSEcr, hasTS: h.Options.HasTimestamps, sacks: h.Options.NumSACK, sack: h.Options.SACK,
	}
	rec.packets = append(rec.packets, k)
	r.kept++
}

func (r *Recorder) done(c *track.Conn) {
	rec := r.conns[c]
	delete(r.conns, c)
	if rec == nil {
		rec = &recording{}
	}
	r.kept -= len(rec.packets)
	if len(c.Flows[0].Episodes)+len(c.Flows[1].Episodes) == 0 && !r.cfg.All {
		r.cfg.Done(c, nil, nil)
		return
	}
	if rec.tooMany {
		r.cfg.Done(c, nil, refuse("it has more than %d packets", maxPackets))
		return
	}
	var s *Script
	err := track.Guard(func() (err error) {
		s, err = build(c, rec.packets)
		return err
	})
	r.cfg.Done(c, s, err)
}
