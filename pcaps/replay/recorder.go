package replay

import (
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/track"
)

// Config is how a Recorder works.
type Config struct {
	// Done gets each connection when it is complete, and the CapturedConn of the ones that had
	// losses, or the reason why there is none: a *Refusal, or a *track.PanicError, which is a bug.
	// Of connections without a loss both are nil, unless All is set.
	Done func(c *track.Conn, s *CapturedConn, err error)

	All      bool // connections without a loss too
	MaxConns int  // of the tracker; 0 is its own bound
}

// The packets that are kept: of one connection, and of all together.
const maxPackets, maxRecorded = 1 << 19, 1 << 22

// Recorder makes a CapturedConn of each connection of a capture. It follows them with a Tracker,
// and keeps the facts of each until it is complete: of up to 2^19 packets, and 2^22 of all
// together.
type Recorder struct {
	cfg     Config
	tracker *track.Tracker
}

// NewRecorder makes a recorder that has seen nothing.
func NewRecorder(cfg Config) *Recorder {
	r := &Recorder{cfg: cfg}
	r.tracker = track.New(track.Config{MaxConns: cfg.MaxConns, Facts: maxPackets, FactsTotal: maxRecorded, Done: r.done})
	return r
}

// Add takes the next packet in, and keeps nothing of it.
func (r *Recorder) Add(p *capture.Packet) { r.tracker.Add(p) }

// ICMP handles an ICMP error; see track.Tracker.
func (r *Recorder) ICMP(e capture.ICMPError) { r.tracker.ICMP(e) }

// Close completes all connections.
func (r *Recorder) Close() { r.tracker.Close() }

// Evicted returns how many connections were completed only to bound their number.
func (r *Recorder) Evicted() int { return r.tracker.Evicted() }

func (r *Recorder) done(c *track.Conn) {
	if len(c.Flows[0].Episodes)+len(c.Flows[1].Episodes) == 0 && !r.cfg.All {
		r.cfg.Done(c, nil, nil)
		return
	}
	var s *CapturedConn
	err := track.Guard(func() (err error) {
		s, err = build(c)
		return err
	})
	r.cfg.Done(c, s, err)
}
