package script

import (
	"fmt"
	"strings"
	"time"

	"tcpwheel/netstack/tcp"
)

// traced is an entry of the trace.
type traced struct {
	at   time.Duration
	text string
}

func (t traced) String() string { return traceTime(t.at) + " " + t.text }

// note adds an entry to the trace.
func (r *runner) note(format string, args ...any) {
	r.trace = append(r.trace, traced{r.elapsed(), fmt.Sprintf(format, args...)})
}

// Trace implements the engine's tracer: it notes expired timers and changed states. step notes
// packets.
func (r *runner) Trace(ev *tcp.TraceEvent) {
	switch ev.Kind {
	case tcp.TraceOpened:
		r.ids[ev.Conn] = r.flow(ev.Local, ev.Remote)
	case tcp.TraceExpired:
		seq := ""
		if f := r.ids[ev.Conn]; f != nil && ev.Slot.IsSegment() {
			seq = fmt.Sprintf(" of %d", f.scriptSeq(ev.Seq))
		}
		r.note("   # timer %v%s, armed at %s", ev.Timer, seq, r.at(ev.Armed))
	case tcp.TraceUpdated:
		var all []string
		if ev.Changed&tcp.TraceState != 0 {
			all = append(all, ev.Vars.State.String())
		}
		if ev.Changed&tcp.TraceCAState != 0 {
			all = append(all, "ca_state "+ev.Vars.CAState.String())
		}
		if ev.Changed&tcp.TraceSsthresh != 0 && ev.Changed&tcp.TraceState == 0 {
			all = append(all, fmt.Sprintf("ssthresh %d", ev.Vars.Ssthresh))
		}
		if ev.Changed&tcp.TraceCwnd != 0 {
			all = append(all, fmt.Sprintf("cwnd %d", ev.Vars.Cwnd))
		}
		if all != nil {
			r.note("   # %s", strings.Join(all, ", "))
		}
	case tcp.TraceClosed:
		if ev.Err != nil {
			r.note("   # %v", ev.Err)
		}
	}
}
