package script

import (
	"strings"
	"testing"
	"time"

	"tcpwheel/netstack/tcp"
)

// TestSettingsReachTheirFields checks the configuration that options produce.
func TestSettingsReachTheirFields(t *testing.T) {
	src := `--rto_min=300ms
--policy=linux
--tick=1ms
--delack=0
--control=vegas
--iw=3000
--keep_idle=10s
--ip_version=ipv6
--seed=0x10
`
	s, err := Parse("s.pkt", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	p, err := newSetup(s)
	if err != nil {
		t.Fatal(err)
	}
	c := p.Engine.Conn
	for _, v := range []struct{ what, got, want any }{
		{"policy", c.Policy.Name, "linux"},
		{"rto_min, which comes before the policy in the file", c.Policy.Bounds.Min, 300 * time.Millisecond},
		{"tick", c.Policy.Tick, time.Millisecond},
		{"delack", c.Policy.DelAck.Every, 1},
		{"control", c.Control, "vegas"},
		{"iw", c.Congestion.InitialWindow, uint32(3000)},
		{"keep_idle", c.Socket.KeepIdle, 10 * time.Second},
		{"local", p.local.String(), "fd3d:a0b:17d6::1"},
		{"seed", p.Engine.Seed, uint64(16)},
		{"the engine's policy", p.Engine.Conn.Policy.Name, "linux"},
	} {
		if v.got != v.want {
			t.Errorf("%v = %v, want %v", v.what, v.got, v.want)
		}
	}
}

// TestScriptsThatAskForTooMuch checks the errors of scripts that cannot run.
func TestScriptsThatAskForTooMuch(t *testing.T) {
	for _, test := range []struct{ src, want string }{
		{"--speed=3", `e.pkt:1:1: setting "speed", want one of ack-evidence, ack-push, alpha, `},
		{"--tlp=maybe", `e.pkt:1:1: tlp "maybe", want true or false`},
		{"--rto_min=5", `e.pkt:1:1: rto_min "5", want a duration such as 20ms, 1ns to 24h`},
		{"--iw=-1", `e.pkt:1:1: iw "-1", want a number of bytes such as 64KiB or 1e6`},
		{"--phase=none", `e.pkt:1:1: phase "none", want one of shared, own, countdown`},
		{"--policy=none", `e.pkt:1:1: tcptimers: unknown policy "none", want one of per-segment, `},
		{"// c\n--policy=none", `e.pkt:2:1: tcptimers: unknown policy "none", want one of per-segment, `},
		{"--msl=3m", `e.pkt:1:1: msl "3m", want a duration such as 20ms, 1ns to 2m`},
		{"--mtu=20", "e.pkt:1:1: tcp: MTU 20, want "},
		{"0 close(3", "e.pkt:1:10: want "},
	} {
		report, err := RunSource("e.pkt", []byte(test.src+"\n"), Config{})
		if report != nil || err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: %.300v, want %s", test.src, err, test.want)
		}
		if _, ok := err.(ErrorList); !ok {
			t.Errorf("%s: error of type %T, want ErrorList", test.src, err)
		}
	}
}

// TestStream checks the stream that mirrors the receiver.
func TestStream(t *testing.T) {
	var s stream
	for _, step := range []struct{ at, n, grown uint64 }{
		{10, 5, 0}, {20, 5, 0}, {12, 3, 0}, {0, 0, 0}, {0, 5, 5}, {3, 9, 10}, {15, 5, 10}, {24, 1, 0}, {30, 1, 0}, {25, 5, 6},
	} {
		if grown := s.insert(step.at, step.n); grown != step.grown {
			t.Errorf("insert(%d, %d) = %d, want %d", step.at, step.n, grown, step.grown)
		}
	}
	if s.next != 31 || len(s.held) != 0 {
		t.Errorf("next = %d and %d held, want 31 and 0", s.next, len(s.held))
	}
}

// TestDispositions checks that a wrong disposition is reported.
func TestDispositions(t *testing.T) {
	for _, test := range []struct {
		v    tcp.Disposition
		want string
	}{
		{tcp.Disposition{Offset: 3, Len: 3}, "disposition keeps bytes 3 to 6 of a payload of 5"},
		{tcp.Disposition{Len: 5}, "disposition makes 0 bytes readable, want 5"},
		{tcp.Disposition{Len: 5, Stream: 1, InOrder: 5}, "disposition makes 5 bytes readable, want 0"},
		{tcp.Disposition{Len: 5, InOrder: 5}, "the connection has received 0 bytes, and 5 are readable"},
	} {
		c := &engineSocket{conn: new(tcp.Socket)}
		if err := c.arrived(test.v, 5); err == nil || err.Error() != test.want {
			t.Errorf("arrived(%+v, 5) = %v, want %s", test.v, err, test.want)
		}
	}
}

// TestFailureText checks the whole text of a failure, and the report.
func TestFailureText(t *testing.T) {
	src := opened + "+.1 < . 1:1001(1000) ack 1\n+.05 > . 1:1(0) ack 1001\n"
	report, err := RunSource("f.pkt", []byte(src), Config{})
	want := `f.pkt:10:1: at 0.240: packet differs: time 0.240, want 0.250
  expected  0.250 > . 1:1(0) ack 1001
  got       0.240 > . 1:1(0) ack 1001 win 8184
  the events before:
    0.000 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
    0.000 bind(3, ..., ...) = 0
    0.000 listen(3, 1) = 0
    0.000 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>
    0.000    # SYN-RECEIVED
    0.000 > S. 0:0(0) ack 1 win 65535 <mss 1460,nop,nop,sackOK,nop,wscale 7>
    0.100 < . 1:1(0) ack 1 win 257
    0.100    # ESTABLISHED, cwnd 10000
    0.100 accept(3, ..., ...) = 4
    0.200 < . 1:1001(1000) ack 1
    0.240    # timer delack, armed at 0.200`
	if err == nil || err.Error() != want {
		t.Errorf("err = %v\nwant %s", err, want)
	}
	if report.Events != 8 || report.Sent != 2 || report.Received != 3 || report.Virtual != 240*time.Millisecond || len(report.Trace) != 11 {
		t.Errorf("report = %+v", report)
	}
}
