package script

import (
	"fmt"
	"reflect"
	"testing"
)

// TestPacketsRoundTrip checks that Parse reads what String writes of packets.
func TestPacketsRoundTrip(t *testing.T) {
	for _, text := range []string{
		"< - 0:0(0) win 0",
		"< FSRPUEW. 5:5(0) ack 4294967295 win 65535 urg 65535 <nop>",
		"< [ce] 5000 > 8080 R 4294967295:9(10)",
		"< . 1:1(0) ack 0 <mss 0,wscale 255,TS val 4294967295 ecr 0,nop>",
		"> [noecn] SE. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 7>",
		"> [ect0] 8080 > 5000 P. 1:1001(1000) ack 1 <nop,nop,sack 1001:2001 4294967295:4>",
	} {
		s, err := Parse("p.pkt", []byte("0 "+text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := fmt.Sprint(s.Events[0].Action); got != text {
			t.Errorf("%s is written as %s", text, got)
		}
	}
}

// checkRoundTrip checks that Parse reads what String writes of the packets of a script.
func checkRoundTrip(t testing.TB, s *Script) {
	t.Helper()
	for _, e := range s.Events {
		p, ok := e.Action.(*Packet)
		if !ok {
			continue
		}
		again, err := Parse(s.Name, fmt.Append(nil, "0 ", p))
		if err != nil || len(again.Events) != 1 || !reflect.DeepEqual(again.Events[0].Action, Action(p)) {
			t.Fatalf("Parse(0 %v): %v, %v", p, again, err)
		}
	}
}

// TestEvents checks the parts of events that no packet has.
func TestEvents(t *testing.T) {
	s, err := Parse("e.pkt", []byte(`// a comment
--policy=linux // another

  .5 poll([{fd=3, events=POLLIN|POLLOUT, revents=0}], 1, -1) = 0 (a note)
+0...1.25 read(4, ..., 10) = -1 EAGAIN // nothing
*  > . 1:1(0) ack 1
`))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Option{Pos{2, 1}, "policy", "linux"}); len(s.Options) != 1 || s.Options[0] != want {
		t.Errorf("options %v, want %v", s.Options, want)
	}
	want := []*Event{
		{Pos{4, 3}, Time{At: 5e8}, &Call{Text: "poll([{fd=3, events=POLLIN|POLLOUT, revents=0}], 1, -1) = 0 (a note)", Name: "poll", Args: []Arg{
			{Text: "{fd=3, events=POLLIN|POLLOUT, revents=0}", Fields: map[string]int64{"fd": 3, "events": 5, "revents": 0}},
			{Text: "1", Value: 1}, {Text: "-1", Value: -1},
		}}},
		{Pos{5, 1}, Time{Relative: true, Blocks: true, Return: 125e7}, &Call{Text: "read(4, ..., 10) = -1 EAGAIN", Name: "read",
			Args: []Arg{{Text: "4", Value: 4}, {Text: "..."}, {Text: "10", Value: 10}}, Result: -1, Errno: "EAGAIN"}},
	}
	if len(s.Events) != 3 || !s.Events[2].Time.Any || !reflect.DeepEqual(s.Events[:2], want) {
		t.Errorf("events %+v, want %+v and a packet at any time", s.Events, want)
	}
}

// TestFlagLetters checks the letters against RFC 9293 §3.1: FIN is the lowest bit, CWR the highest.
func TestFlagLetters(t *testing.T) {
	for i, letter := range "FSRP.UEW" {
		if got := flagsText(1 << i); got != string(letter) {
			t.Errorf("flags %#x are %s, want %c", 1<<i, got, letter)
		}
	}
}
