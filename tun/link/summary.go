package link

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Summary counts the packets of a direction. Packets = Delivered + Queue + Lost + TooBig.
type Summary struct {
	Direction  string `json:"direction"`
	Packets    uint64 `json:"packets"`
	Delivered  uint64 `json:"delivered"`
	Queue      uint64 `json:"queue_dropped"` // dropped because the queue was full
	Lost       uint64 `json:"lost"`
	TooBig     uint64 `json:"too_big"`
	Reordered  uint64 `json:"reordered"`
	Duplicated uint64 `json:"duplicated"`
	Corrupted  uint64 `json:"corrupted"`
	Marked     uint64 `json:"marked"`
	Bytes      uint64 `json:"bytes"` // of packets that arrived
	// dropped by the sending kernel before the link; not in Packets
	KernelDrops uint64 `json:"kernel_drops"`
	// not accepted by the receiving kernel; included in Delivered
	Refused uint64 `json:"refused"`

	// How late packets arrived, compared with the model.
	LateP50 time.Duration `json:"late_p50_ns"`
	LateP99 time.Duration `json:"late_p99_ns"`
	LateMax time.Duration `json:"late_max_ns"`
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

// WriteTable writes both directions as a table.
func WriteTable(w io.Writer, s [2]Summary) error {
	tw := tabwriter.NewWriter(w, 0, 0, 1, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "\tpackets\tdelivered\tqueue\tlost\ttoo big\tlate p50\tp99\tmax\t")
	for _, d := range s {
		fmt.Fprintf(tw, "%s\t%d\t%d\t%d\t%d\t%d\t%v\t%v\t%v\t\n", d.Direction, d.Packets, d.Delivered, d.Queue, d.Lost, d.TooBig,
			round(d.LateP50), round(d.LateP99), round(d.LateMax))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, d := range s {
		for _, more := range []struct {
			n    uint64
			what string
		}{
			{d.Reordered, "reordered"}, {d.Duplicated, "duplicated"}, {d.Corrupted, "corrupted"}, {d.Marked, "marked CE"},
			{d.KernelDrops, "dropped by the sending kernel before the link"}, {d.Refused, "refused by the receiving kernel"},
		} {
			if more.n > 0 {
				if _, err := fmt.Fprintf(w, "%s: %d %s\n", d.Direction, more.n, more.what); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// round rounds to about three digits.
func round(d time.Duration) time.Duration {
	switch {
	case d >= 100*time.Millisecond:
		return d.Round(time.Millisecond)
	case d >= 100*time.Microsecond:
		return d.Round(time.Microsecond)
	}
	return d.Round(100 * time.Nanosecond)
}
