package netstack

import (
	"strings"
	"testing"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

func TestDescribeCauses(t *testing.T) {
	const ms = wheel.Time(time.Millisecond)
	cause := Cause{Kind: tcptimers.Rexmit, PerSegment: true, Armed: 10 * ms, Deadline: 210 * ms, Segments: 1}
	part := Cause{Kind: tcptimers.Pacing, Armed: 200 * ms, Deadline: 210 * ms, Segments: 5}
	for i, test := range []struct {
		change func(a, b *Cause)
		want   string
	}{
		{func(a, b *Cause) {}, "RTO: armed 201ms ago for 200ms, left 1ms late"},
		{func(a, b *Cause) { a.Kind = tcptimers.DelAck }, "delayed ACK: armed 201ms ago for 200ms, left 1ms late"},
		{func(a, b *Cause) { a.Kind, a.Segments, a.Last = tcptimers.TLP, 2, 1 }, "TLP PTO: armed 201ms ago for 200ms, left 1ms late"},
		{func(a, b *Cause) { a.Segments, b.First, b.Last = 5, 1, 3 }, "segment 1 of 5 by RTO: armed 201ms ago for 200ms, left 1ms late; " +
			"segments 2 to 4 of 5 by pacing: armed 11ms ago for 10ms, left 1ms late"},
	} {
		a, b := cause, part
		test.change(&a, &b)
		list := []Cause{a}
		if b.Last > 0 {
			list = append(list, b)
		}
		if got := DescribeCauses(211*ms, list); got != test.want {
			t.Errorf("%d: %q, want %q", i, got, test.want)
		}
	}
	if got := DescribeCauses(0, nil); got != "" {
		t.Errorf("%q without a timer, want nothing", got)
	}
	for k := range tcptimers.Kind(tcptimers.Kinds) {
		if name := (&Cause{Kind: k}).Name(); name == "" || strings.Contains(name, "Kind(") {
			t.Errorf("%v has no name", k)
		}
	}
}
