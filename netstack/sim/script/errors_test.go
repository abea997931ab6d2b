package script

import (
	"strings"
	"testing"
)

var badScripts = []struct {
	src  string
	want string
}{
	// Options and times.
	{"--=3", "bad.pkt:1:1: want --name=value, without blanks"},
	{"--mtu 1500", "bad.pkt:1:1: want --name=value, without blanks"},
	{"--speed= 3", "bad.pkt:1:1: want --name=value, without blanks"},
	{"0 close(3) = 0\n--mtu=1500", "bad.pkt:2:1: options come before the first event"},
	{"close(3) = 0", `bad.pkt:1:1: want a time (0.1, +0.1, *, 0.1...0.2), found "close"`},
	{"< S 0:0(0)", `bad.pkt:1:1: want a time (0.1, +0.1, *, 0.1...0.2), found "<"`},
	{"-1 close(3) = 0", `bad.pkt:1:1: want a time (0.1, +0.1, *, 0.1...0.2), found "-"`},
	{"+ close(3) = 0", `bad.pkt:1:3: time "", want seconds of 0..1000000000 with at most 9 decimals`},
	{"0.0000000001 close(3) = 0", `bad.pkt:1:1: time "0.0000000001", want seconds of 0..1000000000 with at most 9 decimals`},
	{"1000000000.5 close(3) = 0", `bad.pkt:1:1: time "1000000000.5", want seconds of 0..1000000000 with at most 9 decimals`},
	{"0.1.2 close(3) = 0", `bad.pkt:1:1: time "0.1.2", want seconds of 0..1000000000 with at most 9 decimals`},
	{"0.2...0.1 accept(3, ..., ...) = 4", "bad.pkt:1:7: the call returns before it is made"},
	{"* < . 1:1(0) ack 1", "bad.pkt:1:1: the time * is for packets to send (>)"},
	{"* close(3) = 0", "bad.pkt:1:1: the time * is for packets to send (>)"},
	{"0.1...0.2 > . 1:1(0) ack 1", "bad.pkt:1:1: a time with ... is for system calls that block"},
	{"0", "bad.pkt:1:2: want a packet (< or >), a system call or %{ assert … }%, found the end of the line"},
	{"0 `sysctl -q net.ipv4.tcp_sack=1`", "bad.pkt:1:3: want a packet (< or >), a system call or %{ assert … }%, found \"`\""},
	// Packets.
	{"0 < X 0:0(0)", `bad.pkt:1:5: want flags (F S R P U E W, a dot for ACK, each once, or a dash for none), found "X"`},
	{"0 < SS 0:0(0)", `bad.pkt:1:6: want flags (F S R P U E W, a dot for ACK, each once, or a dash for none), found "S"`},
	{"0 <", "bad.pkt:1:4: want flags (F S R P U E W, a dot for ACK, each once, or a dash for none), found the end of the line"},
	{"0 < S", "bad.pkt:1:6: want start of the range: a number of 0..4294967295, found the end of the line"},
	{"0 < S 0", `bad.pkt:1:8: want ":" in start:end, found the end of the line`},
	{"0 < P. 1:1001(999) ack 1", "bad.pkt:1:8: range 1:1001(999): from 1, 999 bytes end at 1000"},
	{"0 < P. 1:70001(70000) ack 1", "bad.pkt:1:16: length 70000, want 0..65535"},
	{"0 < S 4294967296:0(0)", "bad.pkt:1:7: start of the range 4294967296, want 0..4294967295"},
	{"0 < . 1:1(0)", `bad.pkt:1:13: want "ack" of a packet with the ACK flag (.), found the end of the line`},
	{"0 < S 0:0(0) ack 1", `bad.pkt:1:14: want the end of the event, found "ack"`},
	{"0 < . 1:1(0) ack 1 win 65536", "bad.pkt:1:24: win 65536, want 0..65535"},
	{"0 < [ect1] S 0:0(0)", `bad.pkt:1:6: want a mark (ect0, ce), found "ect1"`},
	{"0 > [ce] S 0:0(0)", `bad.pkt:1:6: want a mark (ect0, noecn), found "ce"`},
	{"0 < [ce S 0:0(0)", `bad.pkt:1:9: want "]" after a mark, found "S"`},
	{"0 < 5000 S 0:0(0)", `bad.pkt:1:10: want ">" between the ports of a packet, found "S"`},
	{"0 < 5000 > 0 S 0:0(0)", "bad.pkt:1:12: port 0, want 1..65535"},
	{"0 > icmp unreachable", `bad.pkt:1:5: want flags (F S R P U E W, a dot for ACK, each once, or a dash for none), found "icmp"`},
	// Options of TCP.
	{"0 < S 0:0(0) <mss 65536>", "bad.pkt:1:19: mss 65536, want 0..65535"},
	{"0 < S 0:0(0) <wscale 256>", "bad.pkt:1:22: wscale 256, want 0..255"},
	{"0 > S 0:0(0) <...>", `bad.pkt:1:15: want a TCP option (mss n, wscale n, sackOK, sack a:b …, TS val n ecr n, nop), found "."`},
	{"0 < S 0:0(0) <FO abcd>", `bad.pkt:1:15: want a TCP option (mss n, wscale n, sackOK, sack a:b …, TS val n ecr n, nop), found "FO"`},
	{"0 < S 0:0(0) <nop nop>", `bad.pkt:1:19: want ">" or "," after a TCP option, found "nop"`},
	{"0 < S 0:0(0) <TS 1 ecr 0>", `bad.pkt:1:18: want "val" in TS val n ecr n, found "1"`},
	{"0 < . 1:1(0) ack 1 <sack 1>", `bad.pkt:1:27: want ":" in start:end, found ">"`},
	{"0 < . 1:1(0) ack 1 <sack 1:2 3:4 5:6 7:8 9:10>", "bad.pkt:1:21: options of 42 bytes, want at most 40"},
	// ICMP.
	{"0 < icmp unreachable far_away", `bad.pkt:1:10: icmp "unreachable far_away", want one of parameter_problem, source_quench, ` +
		"time_exceeded ttl_exceeded, unreachable frag_needed, unreachable host_unreachable, unreachable net_unreachable, " +
		"unreachable port_unreachable, unreachable protocol_unreachable"},
	{"0 < icmp unreachable port_unreachable mtu 1400", `bad.pkt:1:39: want "[" before the range that an icmp message quotes, found "mtu"`},
	{"0 < icmp unreachable frag_needed mtu 70000", "bad.pkt:1:38: mtu 70000, want 0..65535"},
	{"0 < icmp source_quench [1:2(1)", `bad.pkt:1:31: want "]" after the quoted range, found the end of the line`},
	// System calls.
	{"0 epoll_create(1) = 3", `bad.pkt:1:3: system call "epoll_create", want one of accept, bind, close, connect, fcntl, getsockopt, ` +
		"ioctl, listen, poll, read, recv, send, setsockopt, shutdown, socket, write"},
	{"0 accept(3, ...) = 4", "bad.pkt:1:3: accept has 2 arguments, want 3"},
	{"0 listen(3, 1)", `bad.pkt:1:15: want "=" and the result of listen, found the end of the line`},
	{"0 listen(3, 1) = zero", `bad.pkt:1:18: want result: a number of 0..2147483647, found "zero"`},
	{"0 listen(3 1) = 0", `bad.pkt:1:12: want ")" or "," after an argument, found "1"`},
	{"0 listen(3, ) = 0", `bad.pkt:1:13: want an argument (integer, NAME, ..., [value], {field=value}), found ")"`},
	{"0 shutdown(3, SHUT_ALL) = 0", `bad.pkt:1:15: want an argument (integer, NAME, ..., [value], {field=value}), found "SHUT_ALL"`},
	{"0 poll([{fd=3, 4=5}], 1, 0) = 0", `bad.pkt:1:16: want a field such as fd=3, found "4"`},
	{"0 poll([{fd=3], 1, 0) = 0", `bad.pkt:1:14: want "}" or "," after a field, found "]"`},
	{"0 ioctl(3, SIOCINQ, [1) = 0", `bad.pkt:1:23: want "]" to close the bracket, found ")"`},
	{"0 connect(3, ..., ...) = -1 failed", "bad.pkt:1:35: want an errno such as EAGAIN, found the end of the line"},
	{"0 close(3) = 0 0", `bad.pkt:1:16: want the end of the event, found "0"`},
	{"0 close(3) = 0 (a note", `bad.pkt:1:16: want the end of the event, found "("`},
	// Handshakes.
	{"* established() = 4", "bad.pkt:1:1: the time * is for packets to send (>)"},
	{"0...1 established() = 4", `bad.pkt:1:1: a time with ... is for system calls that block`},
	{"0 established(rtt=1) = 4", "bad.pkt:1:15: want a parameter of established, each once (win, mss, sack, wscale, ts, ecn, " +
		`reply_win, reply_mss, reply_wscale, reply_ts, ack_win), found "rtt"`},
	{"0 established(win=1 mss=2) = 4", `bad.pkt:1:21: want "," or ")" after a parameter of established, found "mss"`},
	{"0 established(win=1, win=2) = 4", "bad.pkt:1:22: want a parameter of established, each once (win, mss, sack, wscale, ts, ecn, " +
		`reply_win, reply_mss, reply_wscale, reply_ts, ack_win), found "win"`},
	{"0 established(win=none) = 4", `bad.pkt:1:19: want win: a number of 0..65535, found "none"`},
	{"0 established(sack=2) = 4", "bad.pkt:1:20: sack 2, want 0..1"},
	{"0 established() = 3", "bad.pkt:1:19: descriptor 3 is the listening socket's"},
	// Asserts.
	{"0 %{ assert tcpi_rto == 1", `bad.pkt:1:26: want "}%" after assert, found the end of the line`},
	{"0 %{ print(tcpi_rto) }%", `bad.pkt:1:6: want assert, found "print"`},
	{"0 %{ assert }%", `bad.pkt:1:13: want a number, or a name that netstack/tcp/testdata/README.md lists, found "}"`},
	{"0 %{ assert tcpi_speed == 1 }%", `bad.pkt:1:13: want a number, or a name that netstack/tcp/testdata/README.md lists, found "tcpi_speed"`},
	{"0 %{ assert TCPSpeed == 1 }%", `bad.pkt:1:13: want a number, or a name that netstack/tcp/testdata/README.md lists, found "TCPSpeed"`},
	{"0 %{ assert tcpi_rto }%", `bad.pkt:1:22: want one of == <= >= < >, found "}"`},
	{"0 %{ assert tcpi_rto = 1 }%", `bad.pkt:1:22: want one of == <= >= < >, found "="`},
	{"0 %{ assert 1 < tcpi_rto < 2 }%", `bad.pkt:1:26: want "}%" after assert, found "<"`},
	// Limits.
	{strings.Repeat(" ", maxSize+1), "bad.pkt:1:1: script has more than 1 MiB"},
}

// TestErrors checks the exact message of each kind of fault.
func TestErrors(t *testing.T) {
	for _, test := range badScripts {
		s, err := Parse("bad.pkt", []byte(test.src))
		if err == nil {
			t.Errorf("Parse(%.60q) = %d events and no error, want %q", test.src, len(s.Events), test.want)
			continue
		}
		checkErrors(t, err, test.src)
		if got := err.Error(); got != test.want {
			t.Errorf("Parse(%.60q): %s\nwant: %s", test.src, got, test.want)
		}
	}
}

// TestErrorsAreBounded checks that a faulty line does not hide the next one, and that Parse reports
// the first ten faults of a file.
func TestErrorsAreBounded(t *testing.T) {
	_, err := Parse("many.pkt", []byte(strings.Repeat("0 nothing\n", 1000)))
	list, _ := err.(ErrorList)
	if len(list) != maxErrors || list[9].Pos.Line != 10 {
		t.Errorf("Parse of 1000 faulty lines gives %d faults, want %d, the last in line 10", len(list), maxErrors)
	}
}
