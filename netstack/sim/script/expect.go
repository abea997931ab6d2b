package script

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tcpwheel/netstack/tcp"
)

// window returns between which times a packet must be sent, since the beginning.
func (r *runner) window(t TimeSpec) (from, to time.Duration) {
	if t.Kind == TimeAny {
		return 0, r.elapsed() + patience
	}
	if from, to = t.Start, t.Start; t.Kind == TimeRange {
		to = t.End
	}
	if t.Relative {
		from, to = from+r.base, to+r.base
	}
	return from - r.plan.tolerance, to + r.plan.tolerance
}

// expect waits for the next packet of the engine, and compares it.
func (r *runner) expect(want *Packet, t TimeSpec) {
	from, to := r.window(t)
	if to < r.base {
		r.fail("the event is at %s, and the script has come to %s", seconds9(to), seconds9(r.base))
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
	r.pin(q.flow, want, &q.packet)
	r.trace[q.line].text = r.show(q.flow, &q.packet)
	got := r.readable(q.flow, &q.packet)
	ect := NoECN
	if q.packet.ECT {
		ect = ECT0
	}

	sentAt := q.at.Sub(r.begin)
	diffs := r.compare(want, got, ect, q.flow)
	if sentAt < from || sentAt > to {
		diffs = append(diffs, fmt.Sprintf("time %s, want %s", seconds9(sentAt), r.span(from, to)))
	}
	if diffs != nil {
		r.trace = r.trace[:q.line]
		r.differ("packet differs: "+strings.Join(diffs, "; "), r.span(from, to)+" "+want.String(), seconds9(sentAt)+" "+got.String())
	}
	if t.Kind == TimeAt {
		r.base = (from + to) / 2
	} else {
		r.base = max(r.base, sentAt)
	}
}

// span writes a range of times.
func (r *runner) span(from, to time.Duration) string {
	switch {
	case from == to:
		return seconds9(from)
	case from == 0 && to >= patience:
		return "*"
	}
	return seconds9(max(from, 0)) + "~" + seconds9(to)
}

// pin takes over the numbers that the script gives to what counts from an unknown beginning.
func (r *runner) pin(f *flow, want *Packet, p *tcp.Packet) {
	h := &p.Header
	if want.Flags&SYN != 0 && h.Flags.Has(tcp.SYN) && uint32(h.Seq) == f.rawISS {
		f.named(want.Seq.Start)
	}
	for _, o := range want.Options {
		if o.Kind == OptTimestamps && !o.Value.Any && h.Options.HasTimestamps {
			f.namedTS(h.Options.TSVal, o.Value.Value)
		}
	}
}

// lookahead is how far a failure looks for the packet that would be next.
const lookahead = 3 * time.Hour

// missing ends the run: no packet was sent. It tells which would be the next.
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
	r.differ("no packet was sent", r.span(from, to)+" "+want.String(), next)
}

// compare returns in which fields a packet is not what the script says.
func (r *runner) compare(want, got *Packet, ect ECN, f *flow) (diffs []string) {
	differ := func(field string, got, want any) {
		diffs = append(diffs, fmt.Sprintf("%s %v, want %v", field, got, want))
	}
	gotPorts := fmt.Sprintf("%d > %d", f.local.Port(), f.remote.Port())
	switch {
	case want.SrcPort != 0 && (want.SrcPort != f.local.Port() || want.DstPort != f.remote.Port()):
		differ("ports", gotPorts, fmt.Sprintf("%d > %d", want.SrcPort, want.DstPort))
	case want.SrcPort == 0 && r.current != nil && r.current != f:
		differ("ports", gotPorts, fmt.Sprintf("%d > %d, those of the connection under test", r.current.local.Port(), r.current.remote.Port()))
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

// sameOptions compares options in their order. What follows those that the script lists is free after "...".
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
