package script

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

var badScripts = []struct {
	src  string
	want string
}{
	// Options and times.
	{"--=3", `bad.pkt:1:3: want the name of an option after --, found "="`},
	{"--speed", `bad.pkt:1:8: want "=" after --speed, found the end of the file`},
	{"--speed= 3", `bad.pkt:1:9: want the value of --speed, without space, found " "`},
	{"--mtu 1500", `bad.pkt:1:7: want "=" after --mtu, found "1500"`},
	{"--mtu=65536", "bad.pkt:1:7: mtu 65536, want 0..65535"},
	{"--mtu=big", `bad.pkt:1:7: mtu: want a number of 0..65535, found "big"`},
	{"--ip_version=ipv5", `bad.pkt:1:14: ip_version "ipv5" not supported; supported: ipv4, ipv6`},
	{"0 close(3) = 0\n--mtu=1500", "bad.pkt:2:1: option --mtu: options come before the first event"},
	{"close(3) = 0", `bad.pkt:1:1: want a time (0.1, +0.1, 0.1~0.2, +0.1~+0.2, *, 0.1...0.2), found "close"`},
	{"< S 0:0(0)", `bad.pkt:1:1: want a time (0.1, +0.1, 0.1~0.2, +0.1~+0.2, *, 0.1...0.2), found "<"`},
	{"-1 close(3) = 0", `bad.pkt:1:1: want a time (0.1, +0.1, 0.1~0.2, +0.1~+0.2, *, 0.1...0.2), found "-"`},
	{"+ close(3) = 0", `bad.pkt:1:3: want a number of seconds, found "close"`},
	{"0.0000000001 close(3) = 0", "bad.pkt:1:1: time 0.0000000001 has 10 decimals, want at most 9"},
	{"1000000000.5 close(3) = 0", "bad.pkt:1:1: time 1000000000.5 s, want 0..1000000000"},
	{"0.2~0.1 > . 1:1(0) ack 1", "bad.pkt:1:1: time range is backwards: 0.1 is before 0.2"},
	{"0.1~+0.2 > . 1:1(0) ack 1", "bad.pkt:1:1: range of times: want both ends relative (+0.1~+0.2) or none (0.1~0.2)"},
	{"+0.1~0.2 > . 1:1(0) ack 1", "bad.pkt:1:1: range of times: want both ends relative (+0.1~+0.2) or none (0.1~0.2)"},
	{"+0.1...+0.2 accept(3, ..., ...) = 4", "bad.pkt:1:8: time after ... has no sign: both count from the same instant"},
	{"0.1~0.2 < . 1:1(0) ack 1", "bad.pkt:1:1: a range of times, or *, is for packets to send (>)"},
	{"* close(3) = 0", "bad.pkt:1:1: a range of times, or *, is for packets to send (>)"},
	{"0.1...0.2 > . 1:1(0) ack 1", "bad.pkt:1:1: a time with ... is for system calls that block"},
	{"0", "bad.pkt:1:2: want a packet (< or >), a system call, `sysctl …` or %{ code }%, found the end of the file"},
	{"0 & close(3) = 0", "bad.pkt:1:3: want a packet (< or >), a system call, `sysctl …` or %{ code }%, found \"&\""},
	{"/* open", "bad.pkt:1:1: comment is not closed: want */"},
	// Packets.
	{"0 < X 0:0(0)", "bad.pkt:1:5: flag 'X' not supported; supported: F S R P U E W, a dot for ACK, a dash for none"},
	{"0 < SA. 0:0(0) ack 1", "bad.pkt:1:6: flag 'A' not supported; supported: F S R P U E W, a dot for ACK, a dash for none"},
	{"0 < SS 0:0(0)", "bad.pkt:1:6: flag 'S' is repeated"},
	{"0 < ? 0:0(0)", `bad.pkt:1:5: want flags (F S R P U E W, a dot for ACK, a dash for none), found "?"`},
	{"0 <", "bad.pkt:1:4: want flags (F S R P U E W, a dot for ACK, a dash for none), found the end of the file"},
	{"0 < S", "bad.pkt:1:6: sequence range: want a number of 0..4294967295, found the end of the file"},
	{"0 < S 0", `bad.pkt:1:8: want ":" in start:end(length), found the end of the file`},
	{"0 < P. 1:1001(999) ack 1", "bad.pkt:1:8: sequence range 1:1001(999): from 1, 999 bytes end at 1000"},
	{"0 < P. 1:70001(70000) ack 1", "bad.pkt:1:16: length 70000, want 0..65535"},
	{"0 < S 4294967296:0(0)", "bad.pkt:1:7: sequence range 4294967296, want 0..4294967295"},
	{"0 < . 1:1(0)", "bad.pkt:1:3: packet has the ACK flag (.) and no ack number: write ack n"},
	{"0 < S 0:0(0) ack 1", "bad.pkt:1:3: packet has ack 1 and no ACK flag: write the flags with a dot"},
	{"0 < . 1:1(0) ack 1 win 65536", "bad.pkt:1:24: win 65536, want 0..65535"},
	{"0 < . 1:1(0) ack 1 win", "bad.pkt:1:23: win: want a number of 0..65535, found the end of the file"},
	{"0 < . 1:1(0) win 10 ack 1", "bad.pkt:1:21: ack is out of order: want ack n, win n, urg n, <options>, each once"},
	{"0 < S 0:0(0) wim 10", `bad.pkt:1:14: want ack n, win n, urg n, <options> in this order, or the next event, found "wim"`},
	{"0 < [ect2] S 0:0(0)", `bad.pkt:1:6: IP mark "ect2" not supported; supported: noecn, ect0, ect1, ect01, ce`},
	{"0 < [tos 0x10] S 0:0(0)", `bad.pkt:1:6: IP mark "tos" not supported; supported: noecn, ect0, ect1, ect01, ce`},
	{"0 < [ect01] S 0:0(0)", "bad.pkt:1:6: [ect01] is for packets to send (>); an arriving one has ect0 or ect1"},
	{"0 < [ce S 0:0(0)", `bad.pkt:1:9: want "]" after the IP mark ce, found "S"`},
	{"0 < 5000 S 0:0(0)", `bad.pkt:1:10: want ">" between the ports of a packet, found "S"`},
	{"0 < 5000 > 0 S 0:0(0)", "bad.pkt:1:12: destination port 0, want 1..65535"},
	{"0 < 65536 > 80 S 0:0(0)", "bad.pkt:1:5: source port 65536, want 0..65535"},
	{"0 < udp (100)", "bad.pkt:1:5: udp packet not supported; supported: TCP segments (flags first) and icmp"},
	{"0 < S 0:0(0) {mut tcp mss}", "bad.pkt:1:14: fuzz annotation {…} not supported; supported: packets as they are"},
	// Options of TCP.
	{"0 < S 0:0(0) <mss>", `bad.pkt:1:18: mss: want a number of 0..65535, found ">"`},
	{"0 < S 0:0(0) <mss 65536>", "bad.pkt:1:19: mss 65536, want 0..65535"},
	{"0 < S 0:0(0) <wscale 256>", "bad.pkt:1:22: wscale 256, want 0..255"},
	{"0 < S 0:0(0) <FO abcd>", `bad.pkt:1:15: TCP option "FO" not supported; supported: mss n, wscale n, sackOK, sack a:b …, TS val n ecr n, nop, eol, ...`},
	{"0 < S 0:0(0) <sackok>", `bad.pkt:1:15: TCP option "sackok" not supported; supported: mss n, wscale n, sackOK, sack a:b …, TS val n ecr n, nop, eol, ...`},
	{"0 < S 0:0(0) <>", `bad.pkt:1:15: want a TCP option (mss n, wscale n, sackOK, sack a:b …, TS val n ecr n, nop, eol, ...), found ">"`},
	{"0 < S 0:0(0) <nop nop>", `bad.pkt:1:19: want "," or ">" after a TCP option, found "nop"`},
	{"0 < S 0:0(0) <...>", "bad.pkt:1:15: ... in options is for packets to send (>)"},
	{"0 > S 0:0(0) <...,nop>", `bad.pkt:1:18: want ">" after ..., which matches all further options, found ","`},
	{"0 < S 0:0(0) <mss ...>", `bad.pkt:1:19: mss: want a number of 0..65535, found "."`},
	{"0 < S 0:0(0) <TS 1 ecr 0>", `bad.pkt:1:18: want "val" in TS val n ecr n, found "1"`},
	{"0 < S 0:0(0) <TS val 1>", `bad.pkt:1:23: want "ecr" in TS val n ecr n, found ">"`},
	{"0 < . 1:1(0) ack 1 <sack 1>", `bad.pkt:1:27: want ":" in a SACK block, found ">"`},
	{"0 < . 1:1(0) ack 1 <sack 1:2 3:4 5:6 7:8 9:10>", `bad.pkt:1:42: want at most 4 SACK blocks, found "9"`},
	{"0 < . 1:1(0) ack 1 <TS val 1 ecr 1,sack 1:2 3:4 5:6 7:8>", "bad.pkt:1:20: options exceed the 40 bytes of a header"},
	// ICMP.
	{"0 < icmp echo_request", `bad.pkt:1:10: icmp type "echo_request" not supported; supported: parameter_problem, source_quench, time_exceeded, unreachable`},
	{"0 < icmp unreachable far_away", `bad.pkt:1:22: code "far_away" of icmp unreachable not supported; supported: net_unreachable, host_unreachable, protocol_unreachable, port_unreachable, frag_needed, source_route_failed, net_unknown, host_unknown, source_host_isolated, net_prohibited, host_prohibited, net_unreachable_for_tos, host_unreachable_for_tos`},
	{"0 < icmp source_quench soon", `bad.pkt:1:24: code "soon" of icmp source_quench not supported; supported: no code`},
	{"0 < icmp unreachable port_unreachable mtu 1400", "bad.pkt:1:38: mtu is for icmp unreachable frag_needed"},
	{"0 < icmp unreachable frag_needed mtu 70000", "bad.pkt:1:38: mtu 70000, want 0..65535"},
	{"0 < icmp unreachable [udp (8)]", `bad.pkt:1:23: icmp about "udp" not supported; supported: a TCP segment, [start:end(length)]`},
	{"0 < icmp unreachable [1:2(1)", `bad.pkt:1:29: want "]" after the quoted range, found the end of the file`},
	// System calls.
	{"0 epoll_create(1) = 3", `bad.pkt:1:3: system call "epoll_create" not supported; supported: accept, bind, close, connect, fcntl, getsockopt, ioctl, listen, poll, read, readv, recv, recvfrom, recvmsg, send, sendmsg, sendto, setsockopt, shutdown, socket, write, writev`},
	{"0 socket = 3", `bad.pkt:1:10: want "(" after socket, found "="`},
	{"0 accept(3, ...) = 4", "bad.pkt:1:3: accept has 2 arguments, want 3"},
	{"0 fcntl(3) = 0", "bad.pkt:1:3: fcntl has 1 arguments, want 2..3"},
	{"0 listen(3, 1)", `bad.pkt:1:15: want "=" and the result of listen, found the end of the file`},
	{"0 listen(3, 1) = zero", "bad.pkt:1:18: result of listen: want an integer or ..."},
	{"0 listen(3 1) = 0", `bad.pkt:1:12: want "," or ")", found "1"`},
	{"0 listen(3, ) = 0", `bad.pkt:1:13: want an expression (integer, NAME, "string", ..., [list], {fields}, function(…)), found ")"`},
	{"0 listen(3, 12x) = 0", `bad.pkt:1:13: integer "12x", want a decimal or 0x… of 64 bits with sign`},
	{"0 listen(3, 0x8000000000000000) = 0", `bad.pkt:1:13: integer "0x8000000000000000", want a decimal or 0x… of 64 bits with sign`},
	{"0 listen(3, backlog = 1) = 0", "bad.pkt:1:21: field = value is allowed only between braces, with a name on the left"},
	{"0 poll([{fd=3, 4=5}], 1, 0) = 0", "bad.pkt:1:17: field = value is allowed only between braces, with a name on the left"},
	{"0 write(3, \"abc, 3) = 3", `bad.pkt:1:12: string is not closed on its line: want "`},
	{"0 connect(3, ..., ...) = -1 failed", `bad.pkt:1:29: errno "failed", want a name such as EAGAIN`},
	{"0 connect(3, ..., ...) = 0 EINPROGRESS (in progress)", "bad.pkt:1:26: result of connect with errno EINPROGRESS: want -1"},
	{"0 connect(3, ..., ...) = -1 EINPROGRESS (in progress\n", "bad.pkt:1:41: note is not closed on its line: want )"},
	{"0 close(3) = 0 0", "bad.pkt:1:17: want a packet (< or >), a system call, `sysctl …` or %{ code }%, found the end of the file"},
	{"0 close(3) = 0 ;", `bad.pkt:1:16: want an errno, a note in brackets, or the next event, found ";"`},
	// Handshakes.
	{"* established() = 4", "bad.pkt:1:1: a range of times, or *, is for packets to send (>)"},
	{"0...1 established() = 4", "bad.pkt:1:1: a time with ... is for system calls that block"},
	{"established() = 4", `bad.pkt:1:1: want a time (0.1, +0.1, 0.1~0.2, +0.1~+0.2, *, 0.1...0.2), found "established"`},
	{"0 established = 4", `bad.pkt:1:15: want "(" after established, found "="`},
	{"0 established(rtt=1) = 4", "bad.pkt:1:15: want a parameter of established (win, mss, sack, wscale, ts, ecn, " +
		`reply_win, reply_mss, reply_wscale, reply_ts, ack_win), found "rtt"`},
	{"0 established(win=1 mss=2) = 4", `bad.pkt:1:21: want "," or ")" after a parameter of established, found "mss"`},
	{"0 established(win=1, win=2) = 4", "bad.pkt:1:22: parameter win is repeated"},
	{"0 established(win) = 4", `bad.pkt:1:18: want "=" after win, found ")"`},
	{"0 established(win=none) = 4", `bad.pkt:1:19: win: want a number of 0..65535, found "none"`},
	{"0 established(sack=2) = 4", "bad.pkt:1:20: sack 2, want 0..1"},
	{"0 established()", `bad.pkt:1:16: want "=" and the descriptor of the connection, found the end of the file`},
	{"0 established() = -1", `bad.pkt:1:19: descriptor: want a number of 0..2147483647, found "-"`},
	{"0 established() = 3", "bad.pkt:1:19: descriptor 3 is the listening socket's"},
	// Commands.
	{"`tc qdisc add dev eth0`", "bad.pkt:1:2: command \"tc\" not supported; supported: `sysctl [-q] [-w] name=value …`"},
	{"0 `sysctl -q net.ipv4.tcp_sack=1; ip link`", "bad.pkt:1:35: command \"ip\" not supported; supported: `sysctl [-q] [-w] name=value …`"},
	{"`sysctl -q`", "bad.pkt:1:1: command sets nothing: want `sysctl [-q] [-w] name=value …`"},
	{"`sysctl -a net.ipv4.tcp_sack=1`", `bad.pkt:1:9: sysctl "-a" not supported; supported: -q, -w`},
	{"`sysctl -q net.ipv4.tcp_sack`", `bad.pkt:1:12: setting "net.ipv4.tcp_sack": want name=value`},
	{"`sysctl -q TCP_SACK=1`", `bad.pkt:1:12: setting "TCP_SACK": want a name in lower case with dots, such as net.ipv4.tcp_sack`},
	{"`sysctl -q net.ipv4.tcp_sack=$X`", "bad.pkt:1:30: character '$' in a command not supported; supported: `sysctl [-q] [-w] name=value …`"},
	{"`sysctl -q net.ipv4.tcp_rmem=\"1 2\n 3\"`", "bad.pkt:1:12: quote is not closed on its line"},
	{"`sysctl", "bad.pkt:1:1: command is not closed: want `"},
	{"0 close(3) = 0\n`sysctl -q net.ipv4.tcp_sack=1`", "bad.pkt:2:1: settings after the first event need a time"},
	// Code.
	{"0 %{ assert tcpi_rto == 1", "bad.pkt:1:3: code is not closed: want }%"},
	{"0 %{ }%", "bad.pkt:1:3: code is empty, want assert condition, value… and print(value, …)"},
	{"0 %{ import os }%", `bad.pkt:1:6: statement "import" not supported; supported: assert condition, value… and print(value, …)`},
	{"0 %{ x = 1 }%", `bad.pkt:1:6: statement "x" not supported; supported: assert condition, value… and print(value, …)`},
	{"0 %{ assert }%", `bad.pkt:1:13: want an expression (integer, tcpi_…, "string", not, -, brackets), found "}%"`},
	{"0 %{ assert cwnd == 1 }%", `bad.pkt:1:13: name "cwnd" not supported; supported: tcpi_…, names in capitals such as TCP_CA_Open or TCPTimeouts, True, False`},
	{"0 %{ assert tcpi_rto = 1 }%", `bad.pkt:1:22: operator "=" not supported; supported: or and == != <= >= < > + - * // %`},
	{"0 %{ assert 1 < tcpi_rto < 2 }%", "bad.pkt:1:26: a chain of comparisons not supported; supported: a < b and b < c"},
	{"0 %{ assert tcpi_rto / 2 == 1 }%", `bad.pkt:1:22: operator "/" not supported; supported: or and == != <= >= < > + - * // %`},
	{"0 %{ assert tcpi_rto ** 2 == 1 }%", `bad.pkt:1:22: operator "**" not supported; supported: or and == != <= >= < > + - * // %`},
	{"0 %{ assert tcpi_rto == not 1 }%", "bad.pkt:1:25: not after an operator of higher precedence: put it in brackets"},
	{"0 %{ assert tcpi_max(1) }%", `bad.pkt:1:13: function "tcpi_max" not supported; supported: operators only`},
	{"0 %{ assert (tcpi_rto == 1 }%", `bad.pkt:1:28: want ")" to close the bracket, found "}%"`},
	{"0 %{ assert tcpi_rto 1 }%", `bad.pkt:1:22: want an operator, "," or the end of the statement, found "1"`},
	{"0 %{ print tcpi_rto }%", `bad.pkt:1:12: want "(" after print, found "tcpi_rto"`},
	{"0 %{ print(tcpi_rto tcpi_rtt) }%", `bad.pkt:1:21: want "," or ")", found "tcpi_rtt"`},
	// Limits.
	{"0 close(" + strings.Repeat("[", 300) + ") = 0", "bad.pkt:1:265: expression has more than 256 operators and brackets"},
	{"0 %{ assert " + strings.Repeat("- ", 300) + "1 }%", "bad.pkt:1:525: expression has more than 256 operators and brackets"},
	{strings.Repeat(" ", maxSize+1), "bad.pkt:1:1: script has 1048577 bytes, want at most 1048576"},
}

// TestErrors checks the exact message of each kind of fault.
func TestErrors(t *testing.T) {
	for _, test := range badScripts {
		s, err := Parse("bad.pkt", []byte(test.src))
		if err == nil {
			t.Errorf("Parse(%.60q) = %d items and no error, want %q", test.src, len(s.Items), test.want)
			continue
		}
		checkErrors(t, err, test.src)
		if got := err.Error(); got != test.want {
			t.Errorf("Parse(%.60q): %s\nwant: %s", test.src, got, test.want)
		}
	}
}

// TestErrorsGoOn checks that a faulty event does not hide the next one, that code and commands are
// skipped as a whole, and that unsupported constructs differ from faults.
func TestErrorsGoOn(t *testing.T) {
	src := `--ip_version=ipv5
` + "`ip link set lo up\nsysctl -q net.ipv4.tcp_sack=1`" + `
0 socket(..., SOCK_STREAM) = 3
+0 listen(3, 1) = 0
+0 < S 0:0(0)
   <md5 1>
+0 %{ x = 1
0 < S
}%
+0 < S 0:0(0) ack 1
`
	want := `go-on.pkt:1:14: ip_version "ipv5" not supported; supported: ipv4, ipv6
go-on.pkt:2:2: command "ip" not supported; supported: ` + "`sysctl [-q] [-w] name=value …`" + `
go-on.pkt:4:3: socket has 2 arguments, want 3
go-on.pkt:7:5: TCP option "md5" not supported; supported: mss n, wscale n, sackOK, sack a:b …, TS val n ecr n, nop, eol, ...
go-on.pkt:8:7: statement "x" not supported; supported: assert condition, value… and print(value, …)
go-on.pkt:11:4: packet has ack 1 and no ACK flag: write the flags with a dot`
	_, err := Parse("go-on.pkt", []byte(src))
	if err == nil || err.Error() != want {
		t.Fatalf("Parse: %v\nwant: %s", err, want)
	}
	var got []bool
	for _, e := range err.(ErrorList) {
		got = append(got, e.Unsupported)
	}
	if want := []bool{true, true, false, true, true, false}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("Unsupported of the faults = %v, want %v", got, want)
	}
	var first *Error
	if !errors.As(err, &first) || first.Pos != (Pos{1, 14}) {
		t.Errorf("errors.As gives %v, want the fault at 1:14", first)
	}
}

// TestErrorsAreBounded checks that Parse reports the first ten faults of a file.
func TestErrorsAreBounded(t *testing.T) {
	_, err := Parse("many.pkt", []byte(strings.Repeat("0 nothing\n", 1000)))
	list, _ := err.(ErrorList)
	if len(list) != maxErrors || list[9].Pos.Line != 10 {
		t.Errorf("Parse of 1000 faulty lines gives %d faults, want %d, the last in line 10", len(list), maxErrors)
	}
}
