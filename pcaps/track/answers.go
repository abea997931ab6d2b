package track

import (
	"cmp"
	"fmt"
	"strings"

	"tcpwheel/internal/quantity"
)

// Explain returns what the report of an episode rests on, a line for each of four questions and one
// for the kind: whether Src retransmitted these bytes, whether the first transmission was lost,
// whether the capture has the end of the repair, and whether data waited for it. Where a list of
// rules decides, a line says which of them did, and which were tried before and did not. The
// connection is complete, or Config.Settled has e.
func (f *Flow) Explain(e *Episode) (all []string) {
	r := &e.Retransmissions[0]
	all = append(all, e.explainSent(r))
	all = append(all, tried(oldRules, func(rule oldRule) string { return rule.name }, "")...)
	all = append(all, e.explainLost(r))
	if r.verdict != "" {
		all = append(all, "rule that decided: "+r.verdict)
		all = append(all, tried(ackRules, func(rule verdictRule) string { return rule.name }, r.verdict)...)
	}
	all = append(all, e.explainEnd(), e.explainWait(), fmt.Sprintf("kind %s: %s", r.Kind, cmp.Or(r.rule, "the rules do not ask further")))
	return append(all, tried(rules, func(rule rule) string { return rule.name }, r.rule)...)
}

// tried returns a line with the rules that did not apply before the one with that name, or before
// the end of all if the name is "".
func tried[T any](rules []T, name func(T) string, decided string) []string {
	var not []string
	for _, rule := range rules {
		if name(rule) == decided {
			break
		}
		not = append(not, name(rule))
	}
	if len(not) == 0 || decided != "" && len(not) == len(rules) {
		return nil // another rule decided
	}
	return []string{"  not: " + strings.Join(not, "; ")}
}

// explainSent says why a packet is no copy.
func (e *Episode) explainSent(r *Retransmission) string {
	bytes := fmt.Sprintf("packet %d has %s from sequence number %d again", r.Packet, quantity.Count(r.Bytes, "byte"), r.Seq)
	if r.FirstPacket != 0 {
		bytes += fmt.Sprintf(", first seen in packet %d", r.FirstPacket)
	} else if e.Estimated {
		bytes += ", which were not captured before: a gap shows that they were sent"
	}
	switch {
	case r.tsDiffers:
		return "retransmitted: yes: " + bytes + "; its TSval is a later one"
	case r.newID:
		return "retransmitted: yes: " + bytes + "; its IP identification is a later one"
	}
	return fmt.Sprintf("retransmitted: yes: %s, %s later: too late for a copy", bytes, SpanText(e.D))
}

// explainLost says what the verdict rests on.
func (e *Episode) explainLost(r *Retransmission) string {
	if e.Doubtful {
		return fmt.Sprintf("lost: undecided: packet %d comes as soon after the copy as the ACK of a duplicate, and the ACK of the first transmission may have been delayed for up to %s", r.DelayedACK, SpanText(usualMaxAckDelay))
	}
	if r.Spurious == Undecided {
		return "lost: undecided: nothing captured shows whether an earlier transmission arrived"
	}
	answer := map[Spuriousness]string{Necessary: "lost: yes: ", Spurious: "lost: no: "}[r.Spurious]
	switch by := r.JudgedBy; r.Evidence {
	case ByTiming:
		if r.Spurious == Spurious {
			return answer + fmt.Sprintf("packet %d acknowledges them too soon to answer packet %d", by, r.Packet)
		}
		return answer + fmt.Sprintf("packet %d is the first that acknowledges them, a round trip after packet %d or later", by, r.Packet)
	case ByDupACK:
		return answer + "as many duplicate ACKs followed as retransmissions were skipped by an ACK"
	case ByEifel:
		if r.Spurious == Spurious {
			return answer + fmt.Sprintf("packet %d acknowledges them and echoes a timestamp sent before that of packet %d (RFC 3522)", by, r.Packet)
		}
		return answer + fmt.Sprintf("packet %d acknowledges them and echoes the timestamp of packet %d (RFC 3522)", by, r.Packet)
	case ByDSACK:
		if r.Spurious == Spurious {
			return answer + fmt.Sprintf("a DSACK in packet %d reports all of them as a duplicate (RFC 2883)", by)
		}
		return answer + "the receiver reports duplicates by DSACK, and reported none of them"
	}
	if r.Spurious == Spurious {
		return answer + "the capture has an earlier transmission of them at the receiver, or their ACK before the retransmission"
	}
	return answer + "the capture, behind the place of the loss, has no earlier transmission of them"
}

// explainEnd says which ACK ends the repair, or why none does.
func (e *Episode) explainEnd() string {
	switch {
	case e.Gap != NoGap:
		return fmt.Sprintf("end captured: no: packet %d acknowledges them, but is not the first ACK to do so: %s", e.GapPacket, gapWords[e.Gap])
	case e.Repaired && e.AckedPacket < e.RepairPacket:
		return fmt.Sprintf("end captured: yes: packet %d acknowledges them; it passed the point of capture before packet %d, and reached their sender %s after it", e.AckedPacket, e.RepairPacket, SpanText(e.P))
	case e.Repaired:
		return fmt.Sprintf("end captured: yes: packet %d acknowledges them, %s after packet %d, which arrived", e.AckedPacket, SpanText(e.P), e.RepairPacket)
	}
	return "end captured: no: no ACK of them was captured"
}

// explainWait says how long data waited, or why it did not.
func (e *Episode) explainWait() string {
	switch {
	case e.TimeLost > 0:
		return fmt.Sprintf("waited: yes: the receiver's application got nothing for %s that the path could have brought", SpanText(e.TimeLost))
	case e.Unrepaired > 0:
		return fmt.Sprintf("waited: yes: data was missing for %s until the end, which is counted apart", SpanText(e.Unrepaired))
	case e.onlyFIN:
		return "waited: no: a FIN alone was retransmitted, and no data was behind it"
	case e.Gap != NoGap:
		return "waited: not measurable"
	case e.Doubtful:
		return "waited: not known: a segment that arrived held nothing back"
	case e.Kind == Probe:
		return "waited: no: the receiver's window was closed"
	case e.Spurious == Spurious:
		return "waited: no: nothing was lost"
	}
	return "waited: no: other bytes held the data back, or it came within a round trip"
}
