package script

import "time"

// Pos is a place in a file. Line and column count from 1, the column in bytes. The zero Pos is
// none.
type Pos struct {
	Line, Column int
}

// Span is the place of a node, from its first byte to the one after its last.
type Span struct {
	Start, End Pos
}

// span implements Item.
func (s Span) span() Span { return s }

// Script is the syntax tree of a scenario. A tree made by hand may have zero positions.
type Script struct {
	Name  string // of the file, for messages
	Items []Item // in the file's order; options come before events
}

// Item is a *Comment, an *Option or an *Event.
type Item interface {
	span() Span
}

// Comment is one comment. A comment inside an event is moved before it.
type Comment struct {
	Span
	Text string // with its marks: "// …", "# …" or "/* … */"
}

// Option is a header line: --Name=Value.
type Option struct {
	Span
	Name, Value string
}

// Event is an action, or an expected packet, at a time.
type Event struct {
	Span
	Time   TimeSpec
	Action Action
}

// Action is a *Packet, an *ICMP, a *Call, a *Settings or a *Code.
type Action interface {
	action()
}

// TimeKind is the form of a time.
type TimeKind uint8

// The forms of a time. Expected packets may have a range or any time; calls may block.
const (
	TimeUnset    TimeKind = iota // settings before the first event
	TimeAt                       // 0.1 or +0.1
	TimeRange                    // 0.1~0.2 or +0.1~+0.2
	TimeBlocking                 // 0.1...0.2 or +0.1...0.2: called at Start, returns at End
	TimeAny                      // *: any time
)

// TimeSpec is the time of an event, in whole nanoseconds from 0 to 10^9 s.
type TimeSpec struct {
	Kind     TimeKind
	Relative bool          // both times count from the event before, otherwise from the script's start
	Start    time.Duration // 0 for TimeUnset and TimeAny
	End      time.Duration // for TimeRange and TimeBlocking, not before Start
}

// Settings are the variables set by one command.
type Settings struct {
	List []Setting
}

// Setting is a variable of the kernel. Run translates it to the engine's configuration.
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
	Errno  string // such as "EINPROGRESS", or ""; with a name, Result is -1
	Note   string // text in brackets after it, for readers
}

// Code is the statements of a %{ }%, one per line or separated by semicolons.
type Code struct {
	Stmts []Stmt
}

// Stmt is an *Assert or a *Print.
type Stmt interface {
	stmt()
}

// Assert is a condition, and the values to show if it is false.
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
