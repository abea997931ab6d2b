package netstack

import (
	"fmt"
	"strings"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// DescribeCauses names the timers that made a packet leave, or is "" if none did. For each it says
// how long before the packet's stamp it was armed, for how long, and how late the packet left:
//
//	RTO: armed 203.107ms ago for 203ms, left 107µs late
//	segments 2 to 3 of 5 by pacing: armed 12µs ago for 10µs, left 2µs late
func DescribeCauses(at wheel.Time, causes []Cause) string {
	var all []string
	for i := range causes {
		c := &causes[i]
		text := c.Name()
		switch {
		case c.First == c.Last && c.Segments > 1:
			text = fmt.Sprintf("segment %d of %d by %s", c.First+1, c.Segments, text)
		case c.Last-c.First+1 < c.Segments:
			text = fmt.Sprintf("segments %d to %d of %d by %s", c.First+1, c.Last+1, c.Segments, text)
		}
		late := max(0, at.Sub(c.Deadline)) // the stamp may be of another clock
		all = append(all, fmt.Sprintf("%s: armed %v ago for %v, left %v late", text, at.Sub(c.Armed), c.Deadline.Sub(c.Armed), late))
	}
	return strings.Join(all, "; ")
}

// timerNames are the RFCs' names of timers.
var timerNames = map[tcptimers.Kind]string{
	tcptimers.Rexmit: "RTO", tcptimers.DelAck: "delayed ACK", tcptimers.TLP: "TLP PTO", tcptimers.Reorder: "RACK reordering",
	tcptimers.UserTimeout: "user timeout", tcptimers.FinWait2: "FIN-WAIT-2", tcptimers.TimeWait: "TIME-WAIT",
}

// Name returns the RFCs' name of the timer, such as "RTO" or "SYN RTO".
func (c *Cause) Name() string {
	name := timerNames[c.Kind]
	if name == "" {
		name = c.Kind.String()
	}
	if c.SYN {
		name = "SYN " + name
	}
	return name
}
