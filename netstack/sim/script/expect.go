package script

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"tcpwheel/netstack/tcp"
)

// expect waits for the engine's next packet and compares it.
func (r *runner) expect(want *Packet, t Time) {
	due, wantAt := r.due(t), "*"
	if t.Any {
		due = r.elapsed() + maxWait
	} else {
		wantAt = traceTime(due)
		r.checkOrder(due)
	}
	if len(r.queue) == 0 {
		r.advance(r.begin.Add(due), func() bool { return len(r.queue) > 0 })
	}
	if len(r.queue) == 0 {
		r.now = max(r.now, r.begin.Add(due))
		r.missing(wantAt + " " + want.String())
	}
	q := r.queue[0]
	r.queue = r.queue[1:]
	if want.SrcPort != 0 {
		r.current = q.flow
	}
	r.pinNumbers(q.flow, want, &q.packet)
	r.trace[q.line].text = r.show(q.flow, &q.packet)
	got := q.flow.toScript(&q.packet)

	sentAt := q.at.Sub(r.begin)
	diffs := r.compare(want, got, q.flow)
	if !t.Any && sentAt != due {
		diffs = append(diffs, fmt.Sprintf("time %s, want %s", traceTime(sentAt), wantAt))
	}
	if diffs != nil {
		r.trace = r.trace[:q.line]
		r.failWith("packet differs: "+strings.Join(diffs, "; "), wantAt+" "+want.String(), traceTime(sentAt)+" "+r.show(q.flow, &q.packet))
	}
	r.timeBase = max(r.timeBase, sentAt)
}

// pinNumbers fixes the offset between the script's numbers and the engine's, which start at random.
func (r *runner) pinNumbers(f *flow, want *Packet, p *tcp.Packet) {
	h := &p.Header
	if want.Flags.Has(tcp.SYN) && h.Flags.Has(tcp.SYN) && uint32(h.Seq) == f.rawISS {
		f.setISS(want.Seq.Start)
	}
	for _, o := range want.Options {
		if o.Kind == optTimestamps && h.Options.HasTimestamps {
			f.setTimestamp(h.Options.TSVal, o.Value)
		}
	}
}

// lookahead is how long a failure searches for the next packet.
const lookahead = 3 * time.Hour

// missing ends the run because no packet was sent. It names the next packet.
func (r *runner) missing(want string) {
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
	r.failWith("no packet was sent", want, next)
}

// compare lists the fields that differ between the expected and the actual packet.
func (r *runner) compare(want, got *Packet, f *flow) (diffs []string) {
	differ := func(differs bool, field string, got, want any) {
		if differs {
			diffs = append(diffs, fmt.Sprintf("%s %v, want %v", field, got, want))
		}
	}
	ports := func(from, to uint16) string { return fmt.Sprintf("%d > %d", from, to) }
	gotPorts := ports(f.local.Port(), f.remote.Port())
	switch {
	case want.SrcPort != 0:
		wantPorts := ports(want.SrcPort, want.DstPort)
		differ(gotPorts != wantPorts, "ports", gotPorts, wantPorts)
	case r.current != nil:
		differ(r.current != f, "ports", gotPorts, ports(r.current.local.Port(), r.current.remote.Port())+", the ports of the connection under test")
	}
	differ(want.Mark != "" && want.Mark != got.Mark, "mark", got.Mark, want.Mark)
	differ(want.Flags != got.Flags, "flags", flagsText(got.Flags), flagsText(want.Flags))
	differ(want.Seq.Start != got.Seq.Start, "seq", got.Seq.Start, want.Seq.Start)
	differ(want.Seq.Len() != got.Seq.Len(), "length", got.Seq.Len(), want.Seq.Len())
	differ(want.Ack != got.Ack && want.Flags == got.Flags, "ack", got.Ack, want.Ack)
	differ(want.HasWin && want.Win != got.Win, "win", got.Win, want.Win)
	differ(want.Urg != got.Urg, "urg", got.Urg, want.Urg)
	differ(!reflect.DeepEqual(want.Options, got.Options), "options", optionsText(got.Options), optionsText(want.Options))
	return diffs
}
