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
	Epoch   wheel.Time   `json:"epoch_ns"`
	Begin   wheel.Time   `json:"begin_ns"` // the first SYN leaves; a guess if the capture began later
	End     wheel.Time   `json:"end_ns"`   // the last captured packet of the connection
	Vantage string       `json:"vantage"`  // where the capture was made, as seen from the client
	IPv6    bool         `json:"ipv6,omitempty"`
	Ends    [2]Endpoint  `json:"ends"`  // the client first
	Paths   [2]PathTrace `json:"paths"` // from the client to the server, and back
	Losses  []Loss       `json:"losses"`

	// ClockError is how far durations may be off, as the clock of the capture was set back.
	ClockError time.Duration `json:"clock_error_ns,omitempty"`

	Notes []string `json:"notes,omitempty"` // what the capture leaves open

	origin    wheel.Time // as in track.Conn
	facts     *track.Facts
	handshake bool     // both SYNs were captured
	segments  [2]int64 // how long those of each end are
	tapes     [2]tape
}

// Endpoint is a host and its application.
type Endpoint struct {
	MSS         uint16        `json:"mss"` // of the segments that it sends
	SACK        bool          `json:"sack"`
	Timestamps  bool          `json:"timestamps"`
	WScale      bool          `json:"window_scale"`
	Window      uint32        `json:"window_bytes"`       // the largest that it offered
	FirstFlight uint32        `json:"first_flight_bytes"` // 0: not known
	Half        time.Duration `json:"half_ns"`            // from the capture point and back

	ACKDelay   time.Duration   `json:"ack_delay_ns"` // of its delayed ACKs; 0: none was seen
	ACKs       []ACK           `json:"acks"`         // when it acknowledged, in order
	SendLimits []tcp.SendLimit `json:"send_limits"`  // bytes allowed in flight
	Writes     []Write         `json:"writes"`
	Timed      []Timed         `json:"timed,omitempty"` // caused by a timer
}

// Write is what an application did: it wrote bytes, or ended writing. It does so After the write
// before it, or After the connection opened; or, if Received is not 0, After so much of the peer's
// stream had arrived.
type Write struct {
	Bytes    uint64        `json:"bytes"`
	Received uint64        `json:"received_bytes,omitempty"`
	After    time.Duration `json:"after_ns"`
	FIN      bool          `json:"fin,omitempty"`
	Reset    bool          `json:"reset,omitempty"`
}

// ACK is a captured ACK without data. Its end sent it when it had received so many bytes of the
// peer, in any order, or After later.
type ACK struct {
	Bytes uint64        `json:"bytes"`
	After time.Duration `json:"after_ns,omitempty"`
}

// Loss is an episode of the capture: bytes that were retransmitted.
type Loss struct {
	Flow     int                `json:"flow"` // 0: the client sent them
	Start    uint64             `json:"start"`
	End      uint64             `json:"end"`
	Try      int                `json:"try"` // the transmission that was lost, from 1
	Kind     track.Kind         `json:"kind"`
	Spurious track.Spuriousness `json:"spurious"`
	Packet   int64              `json:"packet"` // the first retransmission

	Sent wheel.Time    `json:"sent_ns"`  // the transmission before left
	At   wheel.Time    `json:"at_ns"`    // the first retransmission, by the point of capture
	D    time.Duration `json:"d_ns"`     // from Sent to the first retransmission
	TRec time.Duration `json:"t_rec_ns"` // from Sent to the ACK of End; 0: not repaired
	RTT  time.Duration `json:"rtt_ns"`

	Retransmissions int `json:"retransmissions"`
	SpuriousCount   int `json:"spurious_retransmissions"`

	// Early says that the capture began so shortly before that it does not show what the sender's
	// timers had measured.
	Early     bool `json:"early,omitempty"`
	Acked     bool `json:"acked,omitempty"`     // before the retransmission left: nothing was lost
	Timed     bool `json:"timed,omitempty"`     // no packet caused the retransmission, but a timer
	Estimated bool `json:"estimated,omitempty"` // the one before was not captured: Sent is a guess
	Doubtful  bool `json:"doubtful,omitempty"`  // its ACK may have been delayed: see track.Episode
	OnlyFIN   bool `json:"only_fin,omitempty"`  // nothing but a FIN was lost: no data waited for it
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
