package events

import (
	"encoding/json"
	"testing"

	"tcpwheel/netstack/tcp"
)

// TestNames: an engine's trace names what it shares with other events as they do.
func TestNames(t *testing.T) {
	for kind, want := range map[tcp.TraceKind]string{
		tcp.TraceReceived: SegmentReceived, tcp.TraceSent: SegmentSent, tcp.TraceArmed: TimerStarted, tcp.TraceStopped: TimerStopped, tcp.TraceExpired: TimerExpired,
	} {
		if kind.String() != want {
			t.Errorf("trace %v, want %s", kind, want)
		}
	}
}

// TestLines are the lines of docs/up.md, and a packet of a link.
func TestLines(t *testing.T) {
	h := tcp.Header{Seq: 100, Ack: 200, Flags: tcp.PSH | tcp.ACK, Window: 512}
	head := func(name string) Head { return Head{7, name, "10.7.0.2:80-10.7.0.1:51234"} }
	plain := SegmentOf(&h, 1448)
	h.Options = tcp.Options{HasTimestamps: true, TSVal: 1, TSEcr: 2, NumSACK: 1}
	h.Options.SACK[0].Start, h.Options.SACK[0].End = 400, 500
	late := Seconds(-3)
	for _, c := range []struct {
		record any
		want   string
	}{
		{Passed{head(SegmentSent), plain, 2, "rexmit"}, `{"t_s":0.000000007,"event":"segment_sent","conn":"10.7.0.2:80-10.7.0.1:51234","flags":"P.","seq":100,"ack":200,"len":1448,` +
			`"window":512,"transmission":2,"by":"rexmit"}`},
		{Timer{Head: head(TimerExpired), Timer: "tlp", Late: &late}, `{"t_s":0.000000007,"event":"timer_expired","conn":"10.7.0.2:80-10.7.0.1:51234","timer":"tlp","segment":0,"late_s":-0.000000003}`},
		{Repair{head(Recovered), 9, 34, 2}, `{"t_s":0.000000007,"event":"recovered","conn":"10.7.0.2:80-10.7.0.1:51234","seq":9,"took_s":0.000000034,"transmissions":2}`},
		{Packet{Record: "packet", TCP: &OnWire{SegmentOf(&h, 8), 3, 1, 9}}, `{"record":"packet","direction":"","n":0,"sent_s":0,"size":0,"fate":"",` +
			`"tcp":{"flags":"P.","seq":100,"ack":200,"len":8,"window":512,"tsval":1,"tsecr":2,"sack":[[400,500]],"attempt":3,"start":1,"end":9}}`},
	} {
		if got, err := json.Marshal(c.record); err != nil || string(got) != c.want {
			t.Errorf("%s, %v\nwant %s", got, err, c.want)
		}
	}
}
