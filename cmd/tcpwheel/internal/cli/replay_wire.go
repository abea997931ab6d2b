package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tcpwheel/internal/quantity"
	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/replay"
	pages "tcpwheel/pcaps/report"
	"tcpwheel/pcaps/track"
)

// wireEnd is an end of a captured connection, and what an engine sent that was fed what this end
// received.
type wireEnd struct {
	of     *replay.Result
	end    int // 0 for the client
	policy string
	*replay.WireOutcome
}

// printWires compares two senders: the captured one, and an engine that receives the same packets.
func (r *replaying) printWires() error {
	ends, err := r.runWires()
	if err != nil {
		return err
	}
	var b strings.Builder
	r.writeHead(&b, quantity.Count(len(ends), "open loop"))
	if len(ends) > 0 {
		r.wireTable(&b, ends)
	}
	if _, err := r.stdout.Write([]byte(b.String())); err != nil {
		return err
	}
	if r.Lossy > 0 && len(ends) == 0 {
		return fmt.Errorf("replay: none of %s with losses has an open loop", quantity.Count(r.Lossy, "connection"))
	}
	return nil
}

// runWires runs the open loop of each end that had losses under each policy. The results are in the
// order of files, and in a file by the number of the connection.
func (r *replaying) runWires() (all []wireEnd, err error) {
	order := map[string]int{}
	for _, x := range r.Results {
		if _, ok := order[x.File]; !ok {
			order[x.File] = len(order)
		}
	}
	slices.SortStableFunc(r.Results, func(a, b *replay.Result) int { return cmp.Or(order[a.File]-order[b.File], a.ID-b.ID) })
	for _, x := range r.Results {
		if err := x.Captured.CanWire(); err != nil {
			r.Refuse(pages.KeyOf(x), err.Error())
			continue
		}
		for c := range r.study.Choices {
			ends, err := r.study.Wire(x, c)
			if err != nil {
				return nil, err
			}
			for i, o := range ends {
				if o != nil {
					all = append(all, wireEnd{x, i, r.study.Choices[c].Text, o})
				}
			}
		}
	}
	return all, nil
}

// wireTable prints how many transmissions of the engines are as captured, within 1 ms, and the
// first that is not.
func (r *replaying) wireTable(b *strings.Builder, ends []wireEnd) {
	var results []*replay.Result
	for i := range ends {
		results = append(results, ends[i].of)
	}
	b.WriteByte('\n')
	name := namesOf(b, results)
	const row = "%5s %-6s %-20s%14s%11s%6v%8s%8s\n"
	fmt.Fprintf(b, row, "conn", "end", "policy", "first <= 1 ms", "again", "more", "median", "p95")
	for _, e := range ends {
		median, p95 := "-", "-"
		if e.First > 0 {
			median, p95 = track.SpanText(e.Median), track.SpanText(e.P95)
		}
		b.WriteString(longCell(&e.policy, 20, 13))
		fmt.Fprintf(b, row, name(e.of), [2]string{"client", "server"}[e.end], e.policy, fmt.Sprintf("%d/%d", e.FirstRight, e.First),
			fmt.Sprintf("%d/%d", e.RetransmissionsRight, e.Retransmissions), e.More, median, p95)
		if d := e.Divergence; d != nil {
			fmt.Fprintf(b, "      captured %s\n      sent     %s\n", r.eventText(e.of, d.Want), r.eventText(e.of, d.Got))
		}
	}
	b.WriteString("\nfirst: first transmissions no more than 1 ms off; again: retransmissions\n" +
		"more: retransmissions of the engine that were not captured\n" +
		"median, p95: how far all are off; captured, sent: the first that differs\n")
}

// eventText describes a packet of a captured connection. It is "nothing" for no packet.
func (r *replaying) eventText(x *replay.Result, e *replay.Event) string {
	if e == nil {
		return "nothing"
	}
	text := fmt.Sprintf("%.6f s %v %d:%d", x.Captured.Seconds(e.At, r.First(x)), e.Flags, e.Start, e.End)
	if e.Flags.Has(tcp.ACK) {
		text += fmt.Sprintf(" ack %d", e.Ack)
	}
	return text
}
