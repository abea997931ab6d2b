package tcp

import (
	"testing"
	"time"

	"tcpwheel/wheel"
)

func TestPAWSCheck(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		why   string
		after time.Duration
		has   bool
		tsval uint32
		rst   bool
		want  pawsResult
	}{
		{"same", 0, true, 1000, false, pawsFresh},
		{"newer", time.Second, true, 1001, false, pawsFresh},
		// RFC 7323 §5.3, R1: an older timestamp makes the segment not acceptable "if the RST bit is
		// not set".
		{"older", time.Second, true, 999, false, pawsOld},
		{"older, but a reset", time.Second, true, 999, true, pawsFresh},
		{"the furthest ahead", time.Second, true, 1000 + 1<<31 - 1, false, pawsFresh},
		{"beyond half the circle", time.Second, true, 1000 + 1<<31 + 1, false, pawsOld},
		// RFC 7323 §3.2: "If a non-<RST> segment is received without a TSopt, a TCP SHOULD silently
		// drop the segment."
		{"none", time.Second, false, 0, false, pawsMissing},
		{"none in a reset", time.Second, false, 0, true, pawsFresh},
		// RFC 7323 §5.5: "We therefore require that an implementation of PAWS include a mechanism
		// to "invalidate" the TS.Recent value when a connection is idle for more than 24 days."
		{"idle for 24 days", 24 * day, true, 999, false, pawsOld},
		{"and a moment", 24*day + 1, true, 999, false, pawsFresh},
		{"a clock that steps back", -25 * day, true, 999, false, pawsOld},
	} {
		var p pawsState
		now := wheel.Time(30 * day)
		p.Start(now, 1000)
		if got := p.Check(now.Add(c.after), c.has, c.tsval, c.rst); got != c.want {
			t.Errorf("%s: Check(+%v, %v, %d, %v) = %d, want %d", c.why, c.after, c.has, c.tsval, c.rst, got, c.want)
		}
	}
	var p pawsState
	if got := p.Check(0, true, 1<<31+5, false); got != pawsFresh {
		t.Errorf("without TS.Recent: %d", got)
	}
}

func TestPAWSRecord(t *testing.T) {
	// RFC 7323 §5.3, R3: "If an arriving segment satisfies SEG.TSval >= TS.Recent and SEG.SEQ <=
	// Last.ACK.sent (see Section 4.3), then record its timestamp in TS.Recent."
	for _, c := range []struct {
		tsval     uint32
		seq, last Seq
		want      pawsState
	}{
		{5, 100, 100, pawsState{7, 5, true}},
		{6, 99, 100, pawsState{7, 6, true}},
		{4, 100, 100, pawsState{0, 5, true}},
		// Above a hole, or after a delayed ACK.
		{6, 101, 100, pawsState{0, 5, true}},
		{5 + 1<<31 - 1, 0, 1 << 30, pawsState{7, 5 + 1<<31 - 1, true}}, // wrapped
		{6, 1<<32 - 1, 3, pawsState{7, 6, true}},
	} {
		var p pawsState
		p.Start(0, 5)
		if p.Record(7, c.tsval, c.seq, c.last); p != c.want {
			t.Errorf("Record(7, %d, %v, %v) gives %+v, want %+v", c.tsval, c.seq, c.last, p, c.want)
		}
	}
	// After 24 idle days an old timestamp passes and is recorded, and protects from then on.
	var p pawsState
	p.Start(0, 1000)
	now := wheel.Time(25 * 24 * time.Hour)
	if v := p.Check(now, true, 10, false); v != pawsFresh {
		t.Errorf("after 25 days: %d", v)
	}
	p.Record(now, 10, 1, 1)
	if v := p.Check(now, true, 9, false); v != pawsOld {
		t.Errorf("older than the new one: %d", v)
	}
}
