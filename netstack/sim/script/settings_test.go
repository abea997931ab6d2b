package script

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
)

// TestEverySysctlIsTaken sets each variable to an accepted value, and to one that it must refuse.
// The settings of --name=value are tested with package setting.
func TestEverySysctlIsTaken(t *testing.T) {
	values := map[string]string{ // all others take 1
		"net.ipv4.tcp_congestion_control": "reno", "net.ipv4.tcp_rmem": "1 2 3", "net.ipv4.tcp_wmem": "1 2 3",
		"net.ipv4.tcp_fastopen": "0", "net.ipv4.tcp_mtu_probing": "0", "net.ipv4.tcp_autocorking": "0",
	}
	ignored := []string{
		"net.ipv4.tcp_limit_output_bytes", "net.ipv4.tcp_min_tso_segs", "net.ipv4.tcp_no_metrics_save",
		"net.core.rmem_max", "net.core.wmem_max", "net.core.somaxconn",
	}
	seen := map[string]bool{}
	for _, k := range sysctls() {
		if seen[k.name] {
			t.Errorf("%s is listed twice", k.name)
		}
		seen[k.name] = true
		p := &setup{}
		p.Engine.Conn = tcp.DefaultConfig(tcptimers.MustPolicy("per-segment"))
		value := cmp.Or(values[k.name], "1")
		if err := k.set(p, value); err != nil {
			t.Errorf("%s=%s: %v, want it taken", k.name, value, err)
		}
		if err := k.set(p, "-?"); (err == nil) != slices.Contains(ignored, k.name) {
			t.Errorf("%s=-?: %v, want an error, unless it is ignored", k.name, err)
		}
	}
}

// TestSettingsReachTheirFields checks the configuration that knobs of each kind produce.
func TestSettingsReachTheirFields(t *testing.T) {
	src := `--rto_min=300ms
--policy=linux
--tick=1ms
--delack=0
--control=vegas
--iw=3000
--keep_idle=10s
--tolerance_usecs=250
--ip_version=ipv6
--seed=0x10
` + "`sysctl -q net.ipv4.tcp_rmem=\"4096 20000 30000\" net.ipv4.tcp_ecn=2 net.ipv4.tcp_retries2=5; sysctl net.ipv4.tcp_syn_retries=2`\n"
	s, err := Parse("s.pkt", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	p, err := newSetup(s, Config{})
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
		{"tolerance", p.Tolerance, 250 * time.Microsecond},
		{"local", p.LocalIP.String(), "fd3d:a0b:17d6::1"},
		{"seed", p.Engine.Seed, uint64(16)},
		{"tcp_rmem", fmt.Sprint(c.RecvBuffer, c.RecvBufferMax), "20000 30000"},
		{"tcp_ecn", fmt.Sprint(c.ECN, p.passiveECN), "false true"},
		{"tcp_retries2", fmt.Sprint(c.Policy.MaxRexmits, c.Policy.R2), "5 0s"},
		{"tcp_syn_retries, of 1 + 2 + 4 s", c.Policy.SynR2, 7 * time.Second},
		{"the engine's policy", p.Engine.Conn.Policy.Name, "linux"},
	} {
		if v.got != v.want {
			t.Errorf("%v = %v, want %v", v.what, v.got, v.want)
		}
	}
	if p, err = newSetup(s, Config{Policy: "bsd"}); err != nil || p.Engine.Conn.Policy.Name != "bsd" || p.Engine.Conn.Policy.Bounds.Min != 300*time.Millisecond {
		t.Errorf("policy of the caller: %v, %+v", err, p.Engine.Conn.Policy)
	}
}

// TestScriptsThatAskForTooMuch checks the errors of scripts that cannot run.
func TestScriptsThatAskForTooMuch(t *testing.T) {
	for _, test := range []struct{ src, want string }{
		{"--speed=3", `e.pkt:1:1: setting "speed", want one of ack-evidence, ack-push, alpha, `},
		{"--tlp=maybe", `e.pkt:1:1: --tlp "maybe", want true or false`},
		{"--rto_min=5", `e.pkt:1:1: --rto_min "5", want a duration such as 20ms, 1ns to 24h`},
		{"--iw=-1", `e.pkt:1:1: --iw "-1", want a number of bytes such as 64KiB or 1e6`},
		{"--phase=none", `e.pkt:1:1: --phase "none", want one of shared, own, countdown`},
		{"--policy=none", `e.pkt:1:1: tcptimers: unknown policy "none", want one of per-segment, `},
		{"# c\n--profile=none", `e.pkt:2:1: tcptimers: unknown profile "none", want one of internet, `},
		{"--msl=3m", `e.pkt:1:1: --msl "3m", want a duration such as 20ms, 1ns to 2m`},
		{"--mtu=20", "e.pkt:1:1: tcp: MTU 20, want "},
		{"--local_ip=1.2.3", `e.pkt:1:1: --local_ip "1.2.3", ParseAddr("1.2.3"): `},
		{"--local_ip=10.0.0.1\n--ip_version=ipv6", "e.pkt:2:1: local_ip 10.0.0.1 and remote_ip fd3d:fa7b:d17d::1, want both of --ip_version"},
		{"`sysctl -q net.ipv4.tcp_fastopen=1`", "e.pkt:1:12: sysctl net.ipv4.tcp_fastopen=1: want 0"},
		{"`sysctl -q net.ipv4.tcp_speed=1`", "e.pkt:1:12: unknown sysctl net.ipv4.tcp_speed, want one of net.core.rmem_max, "},
		{"`sysctl -q net.ipv4.tcp_rmem=1`", "e.pkt:1:12: sysctl net.ipv4.tcp_rmem=1: want three numbers"},
		{"0 `sysctl -q net.ipv4.tcp_syncookies=1`", "e.pkt:1:14: sysctl net.ipv4.tcp_syncookies=1: want it before the first event"},
		{"0 `sysctl -q net.ipv4.tcp_sack=2`", "e.pkt:1:14: sysctl net.ipv4.tcp_sack=2: want a number from 0 to 1"},
		{"0 %{ assert tcpi_speed == 1 }%", "e.pkt:1:6: unknown name tcpi_speed; tcpi_ names: tcpi_advmss, "},
		{"0 %{ print(TCPSpeed) }%", "e.pkt:1:6: unknown name TCPSpeed; counters and constants: ActiveOpens, "},
		{"0 > icmp unreachable", "e.pkt:1:3: outbound icmp: the engine sends none"},
		{"0 close(3", "e.pkt:2:1: want "},
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
	src := opened + "+.1 < . 1:1001(1000) ack 1\n+0 %{ print(\"unacked\", tcpi_unacked) }%\n+.05 > . 1:1(0) ack 1001\n"
	report, err := RunSource("f.pkt", []byte(src), Config{TraceLen: 4})
	want := `f.pkt:11:1: at 0.240: packet differs: time 0.240, want 0.250
  expected  0.250 > . 1:1(0) ack 1001
  got       0.240 > . 1:1(0) ack 1001 win 8184
  the events before:
    0.100 accept(3, ..., ...) = 4
    0.200 < . 1:1001(1000) ack 1
    0.200 print unacked 0
    0.240    # timer delack, armed at 0.200`
	if err == nil || err.Error() != want {
		t.Errorf("err = %v\nwant %s", err, want)
	}
	if report.Events != 9 || report.Sent != 2 || report.Received != 3 || report.Virtual != 240*time.Millisecond ||
		fmt.Sprint(report.Output) != "[unacked 0]" || len(report.Trace) != 12 {
		t.Errorf("report = %+v", report)
	}
}
