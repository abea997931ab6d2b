package link

import (
	"fmt"
	"io"
	"reflect"

	"tcpwheel/internal/record"
)

// Summary counts the packets of a direction. Packets = Delivered + Queue + Lost + TooBig.
type Summary struct {
	Direction   string `json:"direction" head:"" help:"a-to-b or b-to-a"`
	Packets     uint64 `json:"packets" help:"that entered the link: delivered, dropped by the queue, lost or too big"`
	Delivered   uint64 `json:"delivered"`
	Queue       uint64 `json:"queue_dropped" head:"queue" help:"dropped because the queue was full"`
	Lost        uint64 `json:"lost" help:"by the loss model"`
	TooBig      uint64 `json:"too_big" help:"larger than the path MTU"`
	Reordered   uint64 `json:"reordered"`
	Duplicated  uint64 `json:"duplicated"`
	Corrupted   uint64 `json:"corrupted"`
	Marked      uint64 `json:"marked" head:"marked CE" help:"CE was set"`
	Bytes       uint64 `json:"bytes" help:"of packets that arrived"`
	KernelDrops uint64 `json:"kernel_drops" head:"dropped by the sending kernel before the link" help:"dropped by the sending kernel before the link; not in packets"`
	Refused     uint64 `json:"refused" head:"refused by the receiving kernel" help:"not accepted by the receiving kernel; included in delivered"`

	LateP50 float64 `json:"late_p50_s" help:"how late packets arrived, compared with the model: median"`
	LateP99 float64 `json:"late_p99_s" head:"p99"`
	LateMax float64 `json:"late_max_s" head:"max"`
}

// CommandError is the failure of one of Commands.
type CommandError struct {
	Name string // of the program, or "b-run"
	Err  error  // mostly an *exec.ExitError
}

// Error returns the name and how it ended.
func (e *CommandError) Error() string { return "link: " + e.Name + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *CommandError) Unwrap() error { return e.Err }

var (
	layout = record.NewLayout[Summary]("%-6direction %9packets %9delivered %8queue_dropped %8lost %8too_big %9late_p50_s %8late_p99_s %8late_max_s")
	rare   = record.Select(reflect.TypeFor[Summary](), "reordered duplicated corrupted marked kernel_drops refused")
)

// WriteTable writes both directions as a table, and a line for each count of what is rare.
func WriteTable(w io.Writer, s [2]Summary) error {
	text := layout.Table(s[:])
	for i := range s {
		for _, f := range rare {
			if n, _ := f.Value(reflect.ValueOf(&s[i]).Elem()); !n.IsZero() {
				text += fmt.Sprintf("%s: %v %s\n", s[i].Direction, n, f.Head)
			}
		}
	}
	_, err := io.WriteString(w, text)
	return err
}
