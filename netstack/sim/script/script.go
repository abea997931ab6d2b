package script

import (
	"time"

	"tcpwheel/netstack/tcp"
)

// Pos is a place in a file. Line and column count from 1, the column in bytes.
type Pos struct {
	Line, Column int
}

// Script is a scenario.
type Script struct {
	Name    string // of the file, for messages
	Options []Option
	Events  []*Event
}

// Option is a header line: --Name=Value.
type Option struct {
	Pos
	Name, Value string
}

// Event is an action, or an expected packet, at a time.
type Event struct {
	Pos
	Time   Time
	Action Action
}

// Action is a *Packet, an *ICMP, a *Call or an *Assert.
type Action interface {
	action()
}

// Time is the time of an event, in whole nanoseconds from 0 to 10^9 s.
type Time struct {
	Relative bool          // At and Return count from the event before, otherwise from the start
	At       time.Duration // 0 with Any
	Blocks   bool          // 0.1...0.2: a call at At returns at Return
	Return   time.Duration // not before At
	Any      bool          // *: an expected packet may be sent at any time
}

// Packet is a TCP segment that arrives, or one that the engine must send. Sequence numbers count
// from 0 at the SYN of each side.
type Packet struct {
	Sent    bool   // >: the engine must send it
	Mark    string // of the IP header (RFC 3168 §5): noecn, ect0 or ce; "" is not given
	SrcPort uint16 // 0 if not given
	DstPort uint16 // 0 if not given
	Flags   tcp.Flags
	Seq     tcp.SeqRange // data bytes, without SYN and FIN
	Ack     tcp.Seq      // with the ACK flag
	HasWin  bool
	Win     uint16 // the header's field, not scaled
	Urg     uint16
	Options []TCPOption // in order
}

// TCPOption is one option of a segment.
type TCPOption struct {
	Kind   uint8
	Value  uint32         // of the options of one number; TSval of timestamps
	Ecr    uint32         // TSecr of timestamps
	Blocks []tcp.SeqRange // of SACK: 1 to 4
}

// The kinds of options (RFC 9293 §3.2, RFC 7323 §2.2 and §3.2, RFC 2018 §2 and §3).
const (
	optNOP           = 1
	optMSS           = 2
	optWindowScale   = 3
	optSACKPermitted = 4
	optSACK          = 5
	optTimestamps    = 8
)

// ICMP is an error message that arrives, about a segment.
type ICMP struct {
	Text   string // as written
	Kind   tcp.ICMPKind
	MTU    uint16
	Quoted tcp.SeqRange // the segment that the message reports
}

// Call is a system call with its result.
type Call struct {
	Text   string // as written
	Name   string
	Args   []Arg
	Result int64
	Errno  string // such as "EINPROGRESS", or ""; with a name, Result is -1
}

// Arg is an argument of a call: a number or "...", perhaps in [ ], or fields in { }.
type Arg struct {
	Text   string // as written, without [ ]
	Value  int64
	Fields map[string]int64
}

// Assert is what must hold: all comparisons.
type Assert struct {
	Text string // as written
	All  []comparison
}

func (*Packet) action() {}
func (*ICMP) action()   {}
func (*Call) action()   {}
func (*Assert) action() {}
