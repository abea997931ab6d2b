package replay

import (
	"fmt"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// CapturedConn is what a capture shows of one connection: its path, its ends and its losses.
//
// Instants are virtual time, which begins Epoch nanoseconds after 1970, at a whole second: so ticks
// stay where they were. They are by the clock of the capture, moved to the end that they are about.
// Places in a stream count from the SYN, which is 0: the first byte is 1, and the FIN follows the
// last one.
type CapturedConn struct {
	Epoch   wheel.Time
	Begin   wheel.Time // the first SYN leaves; a guess if the capture began later
	End     wheel.Time // the last captured packet of the connection
	Vantage string     // where the capture was made, as seen from the client
	IPv6    bool
	Ends    [2]Endpoint  // the client first
	Paths   [2]PathTrace // from the client to the server, and back
	Losses  []Loss

	// ClockError is how far durations may be off, as the clock of the capture was set back.
	ClockError time.Duration

	Notes []string // what the capture leaves open

	origin    wheel.Time // as in track.Conn
	facts     *track.Facts
	handshake bool     // both SYNs were captured
	segments  [2]int64 // how long those of each end are
	tapes     [2]tape
}

// Endpoint is a host and its application.
type Endpoint struct {
	MSS         uint16 // of the segments that it sends
	SACK        bool
	Timestamps  bool
	WScale      bool
	Window      uint32        // the largest that it offered
	FirstFlight uint32        // 0: not known
	Half        time.Duration // from the capture point and back

	ACKDelay   time.Duration   // of its delayed ACKs; 0: none was seen
	ACKs       []ACK           // when it acknowledged, in order
	SendLimits []tcp.SendLimit // bytes allowed in flight
	Writes     []Write
	Timed      []Timed // caused by a timer
}

// Write is what an application did: it wrote bytes, or ended writing. It does so After the write
// before it, or After the connection opened; or, if Received is not 0, After so much of the peer's
// stream had arrived.
type Write struct {
	Bytes    uint64
	Received uint64
	After    time.Duration
	FIN      bool
	Reset    bool
}

// ACK is a captured ACK without data. Its end sent it when it had received so many bytes of the
// peer, in any order, or After later.
type ACK struct {
	Bytes uint64
	After time.Duration
}

// Loss is an episode of the capture, and where the replay has it. D and TRec are the episode's, but
// where its lost transmission was not captured: see Sent.
type Loss struct {
	track.Episode
	Flow       int // 0: the client sent them
	Start, End uint64
	Try        int        // the transmission that was lost, from 1
	Sent       wheel.Time // it left; a guess if Estimated
	Again      wheel.Time // Detected, here

	// Early says that the capture began so shortly before that it does not show what the sender's
	// timers had measured.
	Early   bool
	Acked   bool // before the retransmission left: nothing was lost
	Timed   bool // no packet caused the retransmission, but a timer
	OnlyFIN bool // nothing but a FIN was lost: no data waited for it
}

// Needed reports whether the loss counts in comparisons: its retransmission was needed, as far as
// the capture shows, repaired it, and data waited for it. What was too large for the path does not
// count: an ICMP error asked for it, and no replayed network drops by size.
func (l *Loss) Needed() bool {
	return l.TRec > 0 && !l.Acked && !l.Doubtful && !l.OnlyFIN && l.Spurious != track.Spurious && l.Kind != track.PMTU
}

// doubt returns how far the wait for a repair may be off that was not captured at its sender. heard
// is what ACKs alone would have done.
func (s *CapturedConn) doubt(l *Loss, heard *Recovery) (d time.Duration) {
	p := &s.Paths[l.Flow]
	i, t := p.find(int64(l.Start)), p.try(int64(l.Start), l.Try)
	if s.Ends[l.Flow].Half == 0 && (t == nil || !t.Unseen) {
		return s.ClockError // at the sender each transmission is in the capture
	}
	d = s.ClockError
	// The sender had those ACKs later, or other ones, or its first retransmission was lost unseen.
	if heard.Retransmissions > 0 && heard.D < l.D {
		d += l.D - heard.D
	}
	if t == nil || !t.Unseen || l.Start == 0 {
		return d // a SYN-ACK leaves at once
	}
	// It left between its neighbours in the stream, and before its retransmission.
	first, last := s.Begin, l.Sent.Add(l.D)
	for k := i - 1; k >= 0; k-- {
		if before := &p.Ranges[k].Tries[0]; !before.Unseen {
			first = before.Sent
			break
		}
	}
	for k := i + 1; k < len(p.Ranges); k++ {
		if after := &p.Ranges[k].Tries[0]; !after.Unseen {
			last = min(last, after.Sent)
			if s.full(l.Flow, &p.Ranges[i]) {
				first = max(first, after.Sent.Add(-l.RTT)) // more was written then: they are one flight
			}
			break
		}
	}
	return d + max(l.Sent.Sub(first), last.Sub(l.Sent), 0)
}

// full reports whether a range is full segments.
func (s *CapturedConn) full(flow int, r *SentRange) bool {
	size := uint64(s.Ends[flow].MSS)
	if s.Ends[flow].Timestamps {
		size -= timestampOption
	}
	return (r.End-r.Start)%size == 0
}

// Seconds returns the time of the capture, since first, that an instant of the replay is.
func (s *CapturedConn) Seconds(at, first wheel.Time) float64 {
	return s.Epoch.Add(time.Duration(at)).Sub(max(first, s.origin)).Seconds()
}

// Instant returns the instant of the replay that a time of the capture is.
func (s *CapturedConn) Instant(at wheel.Time) wheel.Time { return wheel.Time(at.Sub(s.Epoch)) }

// Event is a packet as it passes the point of capture. Start, End and Ack are places.
type Event struct {
	At              wheel.Time
	Flow            int
	Flags           tcp.Flags
	Start, End, Ack uint64
}

// Refusal says why a connection cannot be replayed, and what to do about it.
type Refusal struct{ Reason string }

// Error returns the reason.
func (r *Refusal) Error() string { return r.Reason }

func refuse(format string, args ...any) *Refusal { return &Refusal{fmt.Sprintf(format, args...)} }
