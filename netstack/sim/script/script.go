package script

import "time"

// Pos is a place in a file: line and column, counted from 1, the column in octets. The zero Pos is no place.
type Pos struct {
	Line, Column int
}

// Span is where a node stands: from its first octet to the one after its last.
type Span struct {
	Start, End Pos
}

// span gives all items their method.
func (s Span) span() Span { return s }

// Script is a scenario as it stands in a file. It is a plain tree: who builds one by hand may leave all positions zero.
type Script struct {
	Name  string // of the file, for messages
	Items []Item // in the order of the file; options come before events
}

// Item is a *Comment, an *Option or an *Event.
type Item interface {
	span() Span
}

// Comment is one comment. One from within an event is moved before it.
type Comment struct {
	Span
	Text     string // with its marks: "// …", "# …" or "/* … */"
	Trailing bool   // it starts on the line on which the item before it ends
}

// Option is a header line: --Name=Value.
type Option struct {
	Span
	Name, Value string
}

// Event is what happens, or must happen, at a time.
type Event struct {
	Span
	Time   TimeSpec
	Action Action
}

// Action is a *Packet, an *ICMP, a *Call, a *Settings or a *Code.
type Action interface {
	action()
}

// TimeKind tells the forms of a time.
type TimeKind uint8

// The forms of a time. Those of packets that must be sent may be a range or any time; those of calls may block.
const (
	TimeUnset    TimeKind = iota // the settings before the first event need no time
	TimeAt                       // 0.1 or +0.1
	TimeRange                    // 0.1~0.2 or +0.1~+0.2
	TimeBlocking                 // 0.1...0.2 or +0.1...0.2: the call is made at Start and returns at End
	TimeAny                      // *: whenever it comes
)

// TimeSpec says when. Spans are whole nanoseconds, from 0 to 10^9 s.
type TimeSpec struct {
	Kind     TimeKind
	Relative bool          // to the event before this one, End also; otherwise to the start of the script
	Start    time.Duration // 0 for TimeUnset and TimeAny
	End      time.Duration // for TimeRange and TimeBlocking, not before Start
}

// Settings are the variables that one command sets.
type Settings struct {
	List []Setting
}

// Setting is a variable of the kernel that packetdrill would run on, for the runner to translate.
type Setting struct {
	Pos
	Name, Value string // "net.ipv4.tcp_sack", "1"
}

// Call is a system call with its result.
type Call struct {
	Pos
	Name   string
	Args   []Expr
	Result Expr   // *Int or *Wildcard
	Errno  string // "EINPROGRESS", or "" if none is named; then Result is -1
	Note   string // what stands in brackets behind it, for the reader only
}

// Code is the statements of a %{ }%, one per line or with semicolons between them.
type Code struct {
	Stmts []Stmt
}

// Stmt is an *Assert or a *Print.
type Stmt interface {
	stmt()
}

// Assert says what must hold, and which values to show if it does not.
type Assert struct {
	Pos
	Cond   Expr
	Values []Expr
}

// Print shows values.
type Print struct {
	Pos
	Values []Expr
}

func (*Packet) action()   {}
func (*ICMP) action()     {}
func (*Call) action()     {}
func (*Settings) action() {}
func (*Code) action()     {}
func (*Assert) stmt()     {}
func (*Print) stmt()      {}
