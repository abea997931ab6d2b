package replay

import (
	"fmt"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/track"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Script is a connection as a capture tells it. All instants are of virtual time, which begins Epoch nanoseconds after 1970: at a whole
// second, so that ticks lie as they did. Places in a stream are counted from the SYN, which is 0: the first octet is 1, and the FIN
// comes after the last.
type Script struct {
	Epoch wheel.Time  `json:"epoch"`
	Begin wheel.Time  `json:"begin"` // the first SYN leaves, or what stands for it if the capture began later
	End   wheel.Time  `json:"end"`   // of the capture of this connection
	Near  string      `json:"near"`  // where the capture was made, as seen from the first end
	IPv6  bool        `json:"ipv6,omitempty"`
	Ends  [2]Endpoint `json:"ends"` // the client first
	Ways  [2]Way      `json:"ways"` // from the first to the second, and back
	Loss  []Loss      `json:"losses"`
	Notes []string    `json:"notes,omitempty"` // what the capture left open
	log   []Event

	wire       wire
	wireStamps [2][]stampAt
}

// Endpoint is a host and its application.
type Endpoint struct {
	MSS        uint16 `json:"mss"` // of what it sends
	SACK       bool   `json:"sack"`
	Timestamps bool   `json:"timestamps"`
	WScale     bool   `json:"wscale"`
	Window     uint32 `json:"window"` // the most that it has offered, octets
	Flight     uint32 `json:"flight"` // octets of its first flight, 0 if that tells nothing

	ACKs      tcptimers.DelAckConfig `json:"acks"`        // what tells best when it acknowledged
	ACKsRight float64                `json:"acks_fit"`    // the share of its ACKs that this foretells
	Permits   []tcp.SendLimit        `json:"send_limits"` // when its octets may leave, as its congestion window was
	Timed     []Timed                `json:"timed,omitempty"`
	Answers   []Answer               `json:"answers"` // its ACKs
	Writes    []Write                `json:"writes"`
	Half      time.Duration          `json:"half_ns"` // to the point of capture, and back
}

// Write is what an application did: it wrote octets, or ended writing. It does so After the write before it, or the opening of the
// connection; or, if Received is not 0, after so much of the peer's stream had come.
type Write struct {
	Octets   uint64        `json:"octets"`
	Received uint64        `json:"received,omitempty"`
	After    time.Duration `json:"after_ns"`
	FIN      bool          `json:"fin,omitempty"`
	Reset    bool          `json:"reset,omitempty"`
}

// Fate is what became of a transmission.
type Fate uint8

const (
	Delivered Fate = iota
	Lost
	Unknown // the capture ends before it would show

	fates
)

var fateNames = [fates]string{"delivered", "lost", "unknown"}

// String returns the name that the fate has in JSON.
func (f Fate) String() string { return fateNames[min(f, fates-1)] }

// MarshalText writes the name.
func (f Fate) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads the name.
func (f *Fate) UnmarshalText(text []byte) error {
	for i, name := range fateNames {
		if name == string(text) {
			*f = Fate(i)
			return nil
		}
	}
	return fmt.Errorf("replay: fate %q, want one of %q", text, fateNames)
}

// Way is one direction of the path.
type Way struct {
	Ranges []Range       `json:"ranges"`  // in order, apart from each other
	Delays []Delay       `json:"delays"`  // in order of Sent
	Gone   []Span        `json:"gone"`    // from after the last that was delivered to before the next one, where something was lost
	Deaf   []Span        `json:"deaf"`    // when ACKs must have been lost, that were not seen: by when they were sent
	Base   time.Duration `json:"base_ns"` // the least delay
	Sent   int           `json:"sent"`    // transmissions of octets, SYN and FIN
	Lost   int           `json:"lost"`
	Index  []bool        `json:"index"` // whether the n-th of them was lost

	order []wheel.Time // when they left
}

// Range is octets whose transmissions fared alike.
type Range struct {
	Start uint64 `json:"start"`
	End   uint64 `json:"end"`
	Tries []Try  `json:"tries"` // its transmissions, in order
}

// Try is a transmission.
type Try struct {
	Sent   wheel.Time    `json:"sent"`
	Fate   Fate          `json:"fate"`
	Delay  time.Duration `json:"delay_ns"`         // if delivered
	Exact  bool          `json:"exact,omitempty"`  // Delay was seen, and not filled in from others
	Late   bool          `json:"late,omitempty"`   // others overtook it
	Unseen bool          `json:"unseen,omitempty"` // it was not captured, but must have been
	Packet int64         `json:"packet,omitempty"`
}

// Delay is how long a packet took that was sent then.
type Delay struct {
	Sent wheel.Time    `json:"sent"`
	Took time.Duration `json:"took_ns"`
}

// Span is an interval of time, with its ends.
type Span struct {
	From wheel.Time `json:"from"`
	To   wheel.Time `json:"to"`
}

// Loss is an episode of the capture: octets that were sent again.
type Loss struct {
	Flow     int           `json:"flow"` // 0 if the first end sent them
	Start    uint64        `json:"start"`
	End      uint64        `json:"end"`
	Try      int           `json:"try"` // the transmission before the retransmission, from 1
	Kind     track.Kind    `json:"kind"`
	Verdict  track.Verdict `json:"spurious"`
	At       wheel.Time    `json:"at"` // the retransmission
	D        time.Duration `json:"d_ns"`
	TRec     time.Duration `json:"t_rec_ns"` // 0 if it was not repaired
	RTT      time.Duration `json:"rtt_ns"`
	Rexmits  int           `json:"rexmits"`
	Needless int           `json:"needless"`
	Packet   int64         `json:"packet"` // the retransmission

	// Timed says that no packet caused the retransmission, but a timer.
	Timed bool `json:"timed,omitempty"`

	// Estimated says that the transmission before was not captured, and when it was sent is a guess.
	Estimated bool `json:"estimated,omitempty"`
}

// Log returns the packets as they were captured, super-packets in segments, and without keepalives and resets.
func (s *Script) Log() []Event { return s.log }

// Refusal says why a connection cannot be replayed.
type Refusal struct{ Reason string }

// Error returns the reason.
func (r *Refusal) Error() string { return r.Reason }

func refuse(format string, args ...any) *Refusal { return &Refusal{fmt.Sprintf(format, args...)} }
