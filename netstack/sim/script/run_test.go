package script

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestScripts runs testdata/run/*.pkt, which use every feature.
func TestScripts(t *testing.T) {
	files, _ := filepath.Glob("testdata/run/*.pkt")
	if len(files) == 0 {
		t.Fatal("testdata has no scripts")
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := RunSource(file, src, Config{}); err != nil {
			t.Error(err)
		}
	}
}

// TestDeterminism runs all scenarios of the engine twice.
func TestDeterminism(t *testing.T) {
	files, _ := filepath.Glob("../../tcp/testdata/*.pkt")
	if len(files) < 10 {
		t.Fatalf("%d scenarios, want 10 at least", len(files))
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		first, err1 := RunSource(file, src, Config{})
		second, err2 := RunSource(file, src, Config{})
		if err1 != nil || err2 != nil {
			continue // TestScenarios reports it
		}
		if !slices.Equal(first.Trace, second.Trace) {
			t.Errorf("%s runs differently the second time:\n%s\nand:\n%s", file,
				strings.Join(first.Trace, "\n"), strings.Join(second.Trace, "\n"))
		}
	}
}

// opened is the start of these tests' scripts: 8 lines and 0.1 s.
const opened = "--timestamps=0\n--delack_quick=0\n\n\n\n\n\n0.000 established() = 4\n"

// TestEstablished checks that a handshake by name runs like its events, and that its failures name
// its place.
func TestEstablished(t *testing.T) {
	const (
		header = "--ecn=1\n"
		first  = "0.2 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n"
		last   = "\n+0 accept(3, ..., ...) = "
	)
	for _, test := range []struct{ params, fd, packets string }{
		{"", "4", `+0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 7>
+.1 < . 1:1(0) ack 1 win 257`},
		{"win=5000, mss=900, wscale=none, ecn=1, reply_win=65535, ack_win=16", "5", `+0 < SEW 0:0(0) win 5000 <mss 900,sackOK>
+0 > SE. 0:0(0) ack 1 win 65535 <mss 1460,nop,nop,sackOK>
+.1 < . 1:1(0) ack 1 win 16`},
		{"sack=0, wscale=9, ts=700, reply_ts=3", "4", `+0 < S 0:0(0) win 32792 <mss 1000,nop,nop,TS val 700 ecr 0,nop,wscale 9>
+0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,TS val 3 ecr 700,nop,wscale 7>
+.1 < . 1:1(0) ack 1 win 257 <nop,nop,TS val 800 ecr 3>`},
		{"ts=0", "4", `+0 < S 0:0(0) win 32792 <mss 1000,sackOK,TS val 0 ecr 0,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <mss 1460,sackOK,TS val 100 ecr 0,nop,wscale 7>
+.1 < . 1:1(0) ack 1 win 257 <nop,nop,TS val 100 ecr 100>`},
	} {
		long, err1 := RunSource("d.pkt", []byte(header+first+test.packets+last+test.fd), Config{})
		short, err2 := RunSource("d.pkt", []byte(header+"0.2 established("+test.params+") = "+test.fd), Config{})
		if err1 != nil || err2 != nil {
			t.Errorf("established(%s): %v, and as events: %v", test.params, err2, err1)
		} else if !reflect.DeepEqual(short, long) {
			t.Errorf("established(%s) gives %+v, want %+v", test.params, short, long)
		}
	}
	_, err := RunSource("d.pkt", []byte(header+"0 established(reply_win=5000) = 4"), Config{})
	if want := "d.pkt:2:1: at 0.000: packet differs: win 65535, want 5000"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("err = %v, want %s", err, want)
	}
}

// TestFirstDifference checks the report of scripts with one wrong expectation.
func TestFirstDifference(t *testing.T) {
	for _, test := range []struct {
		src            string
		line           int
		msg, want, got string
	}{
		{"+0 write(4, ..., 100) = 100\n+0 > . 1:101(100) ack 1", 10,
			"packet differs: flags P., want .", "0.100 > . 1:101(100) ack 1", "0.100 > P. 1:101(100) ack 1 win 8192"},
		{"+0 write(4, ..., 100) = 100\n+0 > P. 2:101(99) ack 2", 10,
			"packet differs: seq 1, want 2; length 100, want 99; ack 1, want 2",
			"0.100 > P. 2:101(99) ack 2", "0.100 > P. 1:101(100) ack 1 win 8192"},
		{"+0 write(4, ..., 100) = 100\n+0 > P. 1:101(100) ack 1 win 8000 urg 5", 10,
			"packet differs: win 8192, want 8000; urg 0, want 5",
			"0.100 > P. 1:101(100) ack 1 win 8000 urg 5", "0.100 > P. 1:101(100) ack 1 win 8192"},
		{"+0 write(4, ..., 100) = 100\n+0 > [ect0] P. 1:101(100) ack 1", 10,
			"packet differs: mark noecn, want ect0", "0.100 > [ect0] P. 1:101(100) ack 1", "0.100 > P. 1:101(100) ack 1 win 8192"},
		{"+0 write(4, ..., 100) = 100\n+0 > P. 1:101(100) ack 1 <nop,nop,TS val 1 ecr 1>", 10,
			"packet differs: options none, want <nop,nop,TS val 1 ecr 1>",
			"0.100 > P. 1:101(100) ack 1 <nop,nop,TS val 1 ecr 1>", "0.100 > P. 1:101(100) ack 1 win 8192"},
		{"+.1 < . 1001:2001(1000) ack 1\n+0 > . 1:1(0) ack 1 <nop,nop,sack 1002:2001>", 10,
			"packet differs: options <nop,nop,sack 1001:2001>, want <nop,nop,sack 1002:2001>",
			"0.200 > . 1:1(0) ack 1 <nop,nop,sack 1002:2001>", "0.200 > . 1:1(0) ack 1 win 8192 <nop,nop,sack 1001:2001>"},
		{"+.1 < . 1001:2001(1000) ack 1\n+0 > . 1:1(0) ack 1", 10,
			"packet differs: options <nop,nop,sack 1001:2001>, want none",
			"0.200 > . 1:1(0) ack 1", "0.200 > . 1:1(0) ack 1 win 8192 <nop,nop,sack 1001:2001>"},
		{"+.1 < . 1:1001(1000) ack 1\n+.039 > . 1:1(0) ack 1001", 10,
			"no packet was sent", "0.239 > . 1:1(0) ack 1001", "no packet; the next would be 0.240 > . 1:1(0) ack 1001 win 8184"},
		{"+.1 < . 1:1001(1000) ack 1\n+.041 > . 1:1(0) ack 1001", 10,
			"packet differs: time 0.240, want 0.241", "0.241 > . 1:1(0) ack 1001", "0.240 > . 1:1(0) ack 1001 win 8184"},
		{"* > . 1:1(0) ack 1", 9, "no packet was sent", "* > . 1:1(0) ack 1", "no packet at all"},
		{"+0 write(4, ..., 100) = 100\n+.1 close(4) = 0", 10,
			"the script ends with an unexpected packet (of 2)", "", "0.100 > P. 1:101(100) ack 1 win 8192"},
		{"+.1 < R. 1:1(0) ack 1", 9, "the script ends, and has not noticed that descriptor 4 failed: ECONNRESET " +
			"(a call that returns the error, or an assert on tcpi_state, does)", "", ""},
		{"+0 < 7 > 8080 . 1:1(0) ack 1\n+0 > 8080 > 50000 R 1:1(0)", 10,
			"packet differs: ports 8080 > 7, want 8080 > 50000",
			"0.100 > 8080 > 50000 R 1:1(0)", "0.100 > 8080 > 7 R 1:1(0) win 0"},
		{"+0 < 7 > 8080 . 1:1(0) ack 1\n+0 > R 1:1(0)\n+0 write(4, ..., 5) = 5\n+0 > P. 1:6(5) ack 1", 12,
			"packet differs: ports 8080 > 50000, want 8080 > 7, the ports of the connection under test",
			"0.100 > P. 1:6(5) ack 1", "0.100 > 8080 > 50000 P. 1:6(5) ack 1 win 8192"},
		{"+0 read(4, ..., 100) = 1", 9,
			"read would block: give it a time such as +0...0.2, or make the descriptor non-blocking by fcntl(fd, F_SETFL, O_RDWR|O_NONBLOCK)", "", ""},
		{"+0 recv(4, ..., 100, MSG_DONTWAIT) = 1", 9, "recv returns -1 EAGAIN", "recv(4, ..., 100, MSG_DONTWAIT) = 1", ""},
		{"+0 recv(4, ..., 100, MSG_DONTWAIT) = -1 EPIPE", 9, "recv returns -1 EAGAIN", "recv(4, ..., 100, MSG_DONTWAIT) = -1 EPIPE", ""},
		{"+0...0.2 read(4, ..., 100) = 1\n+.1 < P. 1:2(1) ack 1", 9,
			"the call returned 1, want a return at 0.300", "read(4, ..., 100) = 1", ""},
		{"+0...0.2 read(4, ..., 100) = 1\n+.3 < P. 1:2(1) ack 1", 9,
			"the call has not returned, want a return at 0.300", "read(4, ..., 100) = 1", ""},
		{"+0...0.2 read(4, ..., 100) = 1", 9, "the call has not returned at 0.300", "read(4, ..., 100) = 1", ""},
		{"+.1 < P. 1:2(1) ack 1\n+0...0.2 read(4, ..., 100) = 1", 10,
			"the call returned 1 at once, want it to wait until 0.400", "", ""},
		{"+0 ioctl(4, SIOCINQ, [5]) = 0", 9, "ioctl gives 0, want 5", "", ""},
		{"+0 getsockopt(4, SOL_SOCKET, SO_ERROR, [ETIMEDOUT], [4]) = 0", 9, "getsockopt gives 0, want 110", "", ""},
		{"+0 getsockopt(4, SOL_TCP, TCP_NODELAY, [1], [4]) = 0", 9, "getsockopt: want SO_ERROR", "", ""},
		{"+0 setsockopt(4, SOL_SOCKET, TCP_NODELAY, [1], 4) = 0", 9, "TCP_NODELAY is an option of SOL_TCP", "", ""},
		{"+0 setsockopt(4, SOL_SOCKET, SO_ERROR, [1], 4) = 0", 9,
			"setsockopt SO_ERROR: want an option that netstack/tcp/testdata/README.md lists", "", ""},
		{"+0 setsockopt(4, SOL_TCP, TCP_MAXSEG, [65536], 4) = 0", 9, "setsockopt TCP_MAXSEG: value 65536, want 0..65535", "", ""},
		{"+0 setsockopt(4, SOL_SOCKET, SO_RCVBUF, [1000], 4) = 0", 9, "setsockopt SO_RCVBUF: want it before listen or connect", "", ""},
		{"+0 poll([{fd=4, events=POLLOUT, revents=0}], 1, 0) = 1", 9, "poll gives revents 0x4, want 0x0", "", ""},
		{"+0 poll([{fd=4, events=POLLOUT, revents=0}], 1, 9) = 1", 9, "poll: want [{fd=3, events=POLLIN, revents=POLLIN}], 1, and 0 or -1", "", ""},
		{"+0 send(4, ..., 100, POLLIN|POLLOUT) = 1", 9, "send: flags 0x4, want MSG_DONTWAIT, MSG_MORE, MSG_OOB and MSG_EOR at most", "", ""},
		{"+0 close(5) = 0", 9, "close returns -1 EBADF", "close(5) = 0", ""},
		{"+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 4", 9, "socket: descriptor 4 is open", "", ""},
		{"+0 %{ assert tcpi_snd_cwnd - 2 * 3 >= 4 and tcpi_unacked + 1 > 1 }%", 9, "assert does not hold",
			"tcpi_snd_cwnd - 2 * 3 >= 4 and tcpi_unacked + 1 > 1", "tcpi_snd_cwnd = 10, tcpi_unacked = 0"},
		{"+0 %{ assert tcpi_unacked <= 0 and tcpi_snd_cwnd < 10 }%", 9, "assert does not hold",
			"tcpi_unacked <= 0 and tcpi_snd_cwnd < 10", "tcpi_unacked = 0, tcpi_snd_cwnd = 10"},
		{"0.05 < . 1:1(0) ack 1", 9, "the event is at 0.050, and the script is at 0.100", "", ""},
	} {
		_, err := RunSource("d.pkt", []byte(opened+test.src+"\n"), Config{})
		f, ok := errors.AsType[*Failure](err)
		if !ok {
			t.Errorf("%s\nerr = %v, want %q", test.src, err, test.msg)
			continue
		}
		if f.Pos.Line != test.line || f.Msg != test.msg || f.Want != test.want || f.Got != test.got {
			t.Errorf("%s\ngot  line %d: %s\n     want %q\n     got  %q\nwant line %d: %s\n     want %q\n     got  %q", test.src,
				f.Pos.Line, f.Msg, f.Want, f.Got, test.line, test.msg, test.want, test.got)
		}
	}
}
