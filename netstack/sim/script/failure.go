package script

import (
	"fmt"
	"strings"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// Failure is the first difference between a script and the engine.
type Failure struct {
	File  string
	Pos   Pos           // of the event that failed
	At    time.Duration // since the script's start
	Msg   string        // one line
	Want  string        // what the script expects, if that helps
	Got   string        // what happened instead
	Trace []string      // the latest 15 events before
}

// Error returns the place, the message, the expected and the actual event, and the trace.
func (f *Failure) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: at %s: %s", f.File, f.Pos.Line, f.Pos.Column, traceTime(f.At), f.Msg)
	if f.Want != "" {
		fmt.Fprintf(&b, "\n  expected  %s", f.Want)
	}
	if f.Got != "" {
		fmt.Fprintf(&b, "\n  got       %s", f.Got)
	}
	if len(f.Trace) > 0 {
		b.WriteString("\n  the events before:")
		for _, line := range f.Trace {
			b.WriteString("\n    " + line)
		}
	}
	return b.String()
}

// fail ends the run.
func (r *runner) fail(format string, args ...any) { r.failWith(fmt.Sprintf(format, args...), "", "") }

// failWith ends the run and shows the expected and the actual event.
func (r *runner) failWith(msg, want, got string) {
	f := &Failure{File: r.script.Name, Pos: r.pos, At: r.elapsed(), Msg: msg, Want: want, Got: got}
	for _, l := range r.trace[max(0, len(r.trace)-15):] {
		f.Trace = append(f.Trace, l.String())
	}
	panic(f)
}

// show formats a packet of the engine like a script, with ports if there are several flows.
func (r *runner) show(f *flow, p *tcp.Packet) string {
	s := f.toScript(p)
	if s.Mark == "noecn" {
		s.Mark = ""
	}
	if len(r.flows) > 1 {
		s.SrcPort, s.DstPort = p.Src.Port(), p.Dst.Port()
	}
	return s.String()
}

// at formats an instant as the time since the script's start.
func (r *runner) at(t wheel.Time) string { return traceTime(t.Sub(r.begin)) }

// traceTime formats a time in seconds with three decimals, or more if needed.
func traceTime(d time.Duration) string {
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	frac := strings.TrimRight(fmt.Sprintf("%09d", d%time.Second), "0")
	return fmt.Sprintf("%s%d.%s", sign, d/time.Second, frac+"000"[min(3, len(frac)):])
}
