package tail

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

func TestConfigErrorsNameFieldValueAndBound(t *testing.T) {
	for _, test := range []struct {
		spoil func(c *Config)
		want  string
	}{
		{func(c *Config) { c.RTT = time.Microsecond }, "round-trip time 1µs, want 1ms"},
		{func(c *Config) { c.Count = 0 }, "count 0, want 1 to 1000"},
		{func(c *Config) { c.Segments = nil }, "no size"},
		{func(c *Config) { c.Segments = []int{11} }, "11 segments, want 1 to 10"},
		{func(c *Config) { c.Senders = nil }, "no sender"},
		{func(c *Config) { c.Senders = []string{GVisor, GVisor} }, `"gvisor" twice`},
		{func(c *Config) { c.Senders = []string{"bsd"} }, `sender "bsd", want gvisor, linux or`},
		{func(c *Config) { c.Senders, c.Virtual = []string{Linux}, true }, "linux in virtual time"},
		{func(c *Config) { c.Senders = []string{Ours("linus")} }, `unknown policy "linus"`},
		{func(c *Config) { c.Senders = []string{Ours("linux:20ms")} }, `policy "linux:20ms", want linux+rto-floor=20ms`},
		{func(c *Config) { c.Senders = []string{Ours("linux+rto-floor=200h")} },
			`rto-floor "200h", want a duration such as 20ms, 1us to 24h`},
	} {
		c := Config{RTT: 10 * time.Millisecond, Count: 1, Segments: []int{1},
			Senders: []string{Ours("datacenter+rto-floor=1ms")}}
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		test.spoil(&c)
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want one with %q", err, test.want)
		}
	}
}

// watchISS is the server's initial sequence number in TestWatch: numbers wrap around soon.
const watchISS = 0xfffff000

// data returns a segment of the server with those bytes of its stream.
func data(start, n uint64) segment {
	h := tcp.Header{SrcPort: port, DstPort: 5000, Seq: tcp.Seq(watchISS + 1).Add(uint32(start)), Flags: tcp.ACK}
	return segment{h, start, start + n}
}

// ack returns a segment of the client that acknowledges the server's stream up to an offset.
func ack(to uint64) segment {
	return segment{header: tcp.Header{SrcPort: 5000, DstPort: port, Ack: tcp.Seq(watchISS + 1).Add(uint32(to)),
		Flags: tcp.ACK}}
}

// TestWatch feeds it a connection whose sequence numbers wrap around, with one loss, one spurious
// retransmission, and one delayed ACK.
func TestWatch(t *testing.T) {
	w := newWatch(1)
	now := wheel.Time(0)
	pass := func(fromServer bool, s segment, lost bool) {
		w.sent(now, fromServer, s, lost)
		if !lost {
			w.arrived(now+5, fromServer, s)
		}
		now += 100
	}
	pass(true, segment{header: tcp.Header{SrcPort: port, DstPort: 5000, Seq: watchISS, Flags: tcp.SYN | tcp.ACK}},
		false)
	for i := range uint64(warm) {
		pass(true, data(i*segmentBytes, segmentBytes), false)
		pass(false, ack((i+1)*segmentBytes), false)
	}
	pass(true, data(7*segmentBytes, segmentBytes), false) // spurious
	if !w.loses(data(warm*segmentBytes, segmentBytes)) || w.loses(data(warm*segmentBytes, segmentBytes-1)) {
		t.Error("loses does not know the last byte")
	}
	first := now
	pass(true, data(warm*segmentBytes, segmentBytes), true)
	now += 1000
	again := now
	pass(true, data(warm*segmentBytes, segmentBytes), false)
	now += 1000
	acked := now
	pass(false, ack((warm+1)*segmentBytes), false)

	f := w.flows[5000]
	if f.dropped.at != first || f.first.at != first || f.resent.at != again || f.complete.at != again+5 ||
		f.retransmitted != 2 || f.lost != 1 {
		t.Errorf("%+v, want it lost at %v and retransmitted at %v", f, first, again)
	}
	if len(f.delays) != 1 || f.delays[0] != acked.Sub(again+5) {
		t.Errorf("delays %v, want %v", f.delays, acked.Sub(again+5))
	}
	r := Result{Sender: "x", Segments: 1, RTT: 550, Count: 1}
	if err := r.fill(w, w, nil); err != nil || r.Spurious != 1 || r.ControlSpurious != 2 || r.RetransmitRTTs != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	r.Count = 2
	if err := r.fill(w, w, nil); err == nil {
		t.Error("no error, though a connection is missing")
	}
}

func TestTable(t *testing.T) {
	var b bytes.Buffer
	results := []Result{
		{Sender: "ours per-segment", Segments: 1, RTT: 10 * time.Millisecond, Count: 20,
			RetransmitP50: 60 * time.Millisecond, RetransmitP95: 61 * time.Millisecond,
			RetransmitRTTs: 6, CompleteP50: 65 * time.Millisecond, Causes: Causes{Probes: 20},
			ControlDelayP50: 42 * time.Millisecond},
		{Sender: Linux, Segments: 10, RTT: 10 * time.Millisecond, Count: 20, Causes: Causes{FastRetransmits: 1},
			Spurious: 3, ControlSpurious: 4},
	}
	if err := WriteTable(&b, results); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"lone segment lost, RTT 10ms, 20 times\n", "last of 10 segments lost", " probe ",
		"3/4"} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("no %q in\n%s", line, b.String())
		}
	}
	for line := range strings.Lines(b.String()) {
		if len(strings.TrimRight(line, " \n")) > 80 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}

func TestCauses(t *testing.T) {
	for _, test := range []struct {
		c    Causes
		want string
	}{{Causes{}, ""}, {Causes{Timeouts: 3}, "RTO"}, {Causes{Timeouts: 2, Probes: 18}, "18 probe, 2 RTO"},
		{Causes{1, 2, 3}, "3 ACKs, 2 probe, 1 RTO"}} {
		if got := test.c.String(); got != test.want {
			t.Errorf("%+v is %q, want %q", test.c, got, test.want)
		}
	}
}
