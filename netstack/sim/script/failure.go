package script

import (
	"fmt"
	"strings"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// Failure is the first difference between what a script says and what the engine did.
type Failure struct {
	File  string
	Pos   Pos           // of the event that failed
	At    time.Duration // since the beginning of the script
	Msg   string        // what is wrong, in one line
	Want  string        // what the script says, if that helps
	Got   string        // what there was in its place
	Trace []string      // what happened before
}

// Error returns the place and the message, what was expected and what came, and the trace.
func (f *Failure) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: at %s: %s", f.File, f.Pos.Line, f.Pos.Column, seconds9(f.At), f.Msg)
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
func (r *runner) fail(format string, args ...any) { r.differ(fmt.Sprintf(format, args...), "", "") }

// differ ends the run, and shows what was expected and what there was.
func (r *runner) differ(msg, want, got string) {
	f := &Failure{File: r.script.Name, Pos: r.pos, At: r.elapsed(), Msg: msg, Want: want, Got: got}
	for _, l := range r.trace[max(0, len(r.trace)-r.cfg.TraceLen):] {
		f.Trace = append(f.Trace, l.String())
	}
	panic(f)
}

// show writes a packet of the engine as a script does, with its ports if there are several flows.
func (r *runner) show(f *flow, p *tcp.Packet) string { return r.readable(f, p).String() }

// readable is what the script would say of a packet of the engine.
func (r *runner) readable(f *flow, p *tcp.Packet) *Packet {
	s := f.script(p)
	if s.ECN == NoECN {
		s.ECN = ECNUnset
	}
	if len(r.flows) > 1 {
		s.SrcPort, s.DstPort = p.Src.Port(), p.Dst.Port()
	}
	return s
}

// at writes an instant as the time since the script began.
func (r *runner) at(t wheel.Time) string { return seconds9(t.Sub(r.begin)) }

// seconds9 writes a time in seconds, with three decimals, or as many more as it has.
func seconds9(d time.Duration) string {
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	frac := strings.TrimRight(fmt.Sprintf("%09d", d%time.Second), "0")
	return fmt.Sprintf("%s%d.%s", sign, d/time.Second, frac+"000"[min(3, len(frac)):])
}
