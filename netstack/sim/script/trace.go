package script

import (
	"fmt"
	"strings"
	"time"

	"tcpwheel/netstack/tcp"
)

// traced is one thing that happened.
type traced struct {
	at   time.Duration
	text string
}

func (t traced) String() string { return seconds9(t.at) + " " + t.text }

// note writes into the trace.
func (r *runner) note(format string, args ...any) {
	r.trace = append(r.trace, traced{r.elapsed(), fmt.Sprintf(format, args...)})
}

// Trace takes an event of the engine: it notes the timers that expire, and the states that change. Packets are noted by step.
func (r *runner) Trace(ev *tcp.TraceEvent) {
	r.stirred = true
	switch ev.Kind {
	case tcp.TraceExpired:
		seq := ""
		if f := r.flowByID(ev.Conn); f != nil && ev.Slot.IsSegment() {
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

// flowByID returns the flow of the engine's connection of that number, nil if there is none yet.
func (r *runner) flowByID(id uint64) *flow {
	for _, f := range r.flows {
		if f.socket != nil && f.socket.ID() == id {
			return f
		}
	}
	return nil
}
