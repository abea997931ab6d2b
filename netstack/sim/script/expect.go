package script

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tcpwheel/netstack/tcp"
)

// window returns the times between which a packet must be sent, since the script's start.
func (r *runner) window(t TimeSpec) (from, to time.Duration) {
	if t.Kind == TimeAny {
		return 0, r.elapsed() + maxWait
	}
	if from, to = t.Start, t.Start; t.Kind == TimeRange {
		to = t.End
	}
	if t.Relative {
		from, to = from+r.timeBase, to+r.timeBase
	}
	return from - r.setup.Tolerance, to + r.setup.Tolerance
}

// expect waits for the engine's next packet and compares it.
func (r *runner) expect(want *Packet, t TimeSpec) {
	from, to := r.window(t)
	if to < r.timeBase {
		r.fail("the event is at %s, and the script is at %s", traceTime(to), traceTime(r.timeBase))
	}
	if len(r.queue) == 0 {
		r.advance(r.begin.Add(to), func() bool { return len(r.queue) > 0 })
	}
	if len(r.queue) == 0 {
		r.now = max(r.now, r.begin.Add(to))
		r.missing(want, from, to)
	}
	q := r.queue[0]
	r.queue = r.queue[1:]
	if want.SrcPort != 0 {
		r.current = q.flow
	}
	r.pinNumbers(q.flow, want, &q.packet)
	r.trace[q.line].text = r.show(q.flow, &q.packet)
	got := r.readable(q.flow, &q.packet)
	ect := NoECN
	if q.packet.ECT {
		ect = ECT0
	}

	sentAt := q.at.Sub(r.begin)
	diffs := r.compare(want, got, ect, q.flow)
	if sentAt < from || sentAt > to {
		diffs = append(diffs, fmt.Sprintf("time %s, want %s", traceTime(sentAt), r.span(from, to)))
	}
	if diffs != nil {
		r.trace = r.trace[:q.line]
		r.failWith("packet differs: "+strings.Join(diffs, "; "), r.span(from, to)+" "+want.String(), traceTime(sentAt)+" "+got.String())
	}
	if t.Kind == TimeAt {
		r.timeBase = (from + to) / 2
	} else {
		r.timeBase = max(r.timeBase, sentAt)
	}
}

// span formats a range of times.
func (r *runner) span(from, to time.Duration) string {
	switch {
	case from == to:
		return traceTime(from)
	case from == 0 && to >= maxWait:
		return "*"
	}
	return traceTime(max(from, 0)) + "~" + traceTime(to)
}

// pinNumbers fixes the offset between the script's numbers and the engine's, which start at random.
func (r *runner) pinNumbers(f *flow, want *Packet, p *tcp.Packet) {
	h := &p.Header
	if want.Flags&SYN != 0 && h.Flags.Has(tcp.SYN) && uint32(h.Seq) == f.rawISS {
		f.setISS(want.Seq.Start)
	}
	for _, o := range want.Options {
		if o.Kind == OptTimestamps && !o.Value.Any && h.Options.HasTimestamps {
			f.setTimestamp(h.Options.TSVal, o.Value.Value)
		}
	}
}

// lookahead is how long a failure searches for the next packet.
const lookahead = 3 * time.Hour

// missing ends the run because no packet was sent. It names the next packet.
func (r *runner) missing(want *Packet, from, to time.Duration) {
	var next string
	trace, now := r.trace, r.now
	func() {
		defer func() {
			if _, ok := recover().(*Failure); ok {
				next = ""
			}
		}()
		r.advance(r.now.Add(lookahead), func() bool { return len(r.queue) > 0 })
		next = "no packet at all"
		if len(r.queue) > 0 {
			q := r.queue[0]
			next = "no packet; the next would be " + r.at(q.at) + " " + r.show(q.flow, &q.packet)
		}
	}()
	r.trace, r.now = trace, now
	r.failWith("no packet was sent", r.span(from, to)+" "+want.String(), next)
}

// compare lists the fields that differ between the expected and the actual packet.
func (r *runner) compare(want, got *Packet, ect ECN, f *flow) (diffs []string) {
	differ := func(field string, got, want any) {
		diffs = append(diffs, fmt.Sprintf("%s %v, want %v", field, got, want))
	}
	gotPorts := fmt.Sprintf("%d > %d", f.local.Port(), f.remote.Port())
	switch {
	case want.SrcPort != 0 && (want.SrcPort != f.local.Port() || want.DstPort != f.remote.Port()):
		differ("ports", gotPorts, fmt.Sprintf("%d > %d", want.SrcPort, want.DstPort))
	case want.SrcPort == 0 && r.current != nil && r.current != f:
		differ("ports", gotPorts, fmt.Sprintf("%d > %d, the ports of the connection under test", r.current.local.Port(), r.current.remote.Port()))
	}
	if want.ECN != ECNUnset && want.ECN != ect && !(want.ECN == ECT01 && ect == ECT0) {
		differ("mark", ect, want.ECN)
	}
	if want.Flags != got.Flags {
		differ("flags", got.Flags, want.Flags)
	}
	if want.Seq.Start != got.Seq.Start {
		differ("seq", got.Seq.Start, want.Seq.Start)
	}
	if want.Seq.Len() != got.Seq.Len() {
		differ("length", got.Seq.Len(), want.Seq.Len())
	}
	if want.HasAck && got.HasAck && want.Ack != got.Ack {
		differ("ack", got.Ack, want.Ack)
	}
	if want.HasWin && want.Win != got.Win {
		differ("win", got.Win, want.Win)
	}
	if want.HasUrg && want.Urg != got.Urg {
		differ("urg", got.Urg, want.Urg)
	}
	if !sameOptions(want, got) {
		differ("options", optionsText(got), optionsText(want))
	}
	return diffs
}

// sameOptions compares options in order. A final "..." allows any further ones.
func sameOptions(want, got *Packet) bool {
	if len(got.Options) < len(want.Options) || len(got.Options) > len(want.Options) && !want.AnyOptions {
		return false
	}
	for i, w := range want.Options {
		g := got.Options[i]
		if w.Kind != g.Kind || !matches(w.Value, g.Value) || !matches(w.Ecr, g.Ecr) ||
			!w.AnyBlocks && !slices.Equal(w.Blocks, g.Blocks) {
			return false
		}
	}
	return true
}

func matches(want, got Num) bool { return want.Any || want.Value == got.Value }

func optionsText(p *Packet) string {
	if p.Options == nil && !p.AnyOptions {
		return "none"
	}
	var all []string
	for _, o := range p.Options {
		all = append(all, o.String())
	}
	if p.AnyOptions {
		all = append(all, "...")
	}
	return "<" + strings.Join(all, ",") + ">"
}
