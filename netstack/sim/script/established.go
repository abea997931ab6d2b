package script

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// handshake is short for the events of a passive handshake: established(name=value, …) = fd. It
// maps the names of handshakeParams, and fd, to values.
type handshake map[string]int64

// none leaves an option out of the SYN, or a field of the SYN-ACK unchecked.
const none = -1

// handshakeParams are the parameters of established, with their defaults.
var handshakeParams = []struct {
	name         string
	value, bound int64
	optional     bool // may be none
}{
	{"win", 32792, math.MaxUint16, false}, // of the arriving SYN
	{"mss", 1000, math.MaxUint16, false},
	{"sack", 1, 1, false},
	{"wscale", 7, math.MaxUint8, true},
	{"ts", none, math.MaxUint32 - 100, true},
	{"ecn", 0, 1, false},
	{"reply_win", none, math.MaxUint16, true}, // of the expected SYN-ACK
	{"reply_mss", 1460, math.MaxUint16, false},
	{"reply_wscale", 7, math.MaxUint8, false},
	{"reply_ts", 100, math.MaxUint32, false},
	{"ack_win", 257, math.MaxUint16, false}, // of the arriving ACK
}

// established reads the parameters and the descriptor.
func (s *scanner) established() handshake {
	all := handshake{}
	var names []string
	for _, param := range handshakeParams {
		all[param.name] = param.value
		names = append(names, param.name)
	}
	s.expect("(", "after established")
	var seen []string
	for !s.accept(")") {
		if seen != nil {
			s.expect(",", "or \")\" after a parameter of established")
		}
		w := s.word()
		i := slices.Index(names, w)
		if i < 0 || slices.Contains(seen, w) {
			s.want("a parameter of established, each once (%s)", strings.Join(names, ", "))
		}
		seen = append(seen, w)
		s.accept(w)
		s.expect("=", "after "+w)
		if param := handshakeParams[i]; param.optional && s.acceptWord("none") {
			all[w] = none
		} else {
			all[w] = int64(s.uint(w, uint64(param.bound)))
		}
	}
	s.expect("=", "and the descriptor of the connection")
	s.peek()
	at := s.off
	if all["fd"] = int64(s.uint("descriptor", math.MaxInt32)); all["fd"] == 3 {
		s.fail(at, "descriptor 3 is the listening socket's")
	}
	return all
}

// source returns the events of a handshake, the first one at time t.
func (v handshake) source(t string) string {
	offer, answer := fmt.Sprint("mss ", v["mss"]), fmt.Sprint("mss ", v["reply_mss"])
	padding, ackOptions := ",nop", ""
	switch sack, ts := v["sack"] == 1, v["ts"]; {
	case sack && ts != none:
		offer += fmt.Sprintf(",sackOK,TS val %d ecr 0", ts)
		answer += fmt.Sprintf(",sackOK,TS val %d ecr %d", v["reply_ts"], ts)
	case ts != none:
		offer += fmt.Sprintf(",nop,nop,TS val %d ecr 0", ts)
		answer += fmt.Sprintf(",nop,nop,TS val %d ecr %d", v["reply_ts"], ts)
	case sack:
		offer += ",sackOK"
		answer += ",nop,nop,sackOK"
		padding = ",nop,nop,nop"
	}
	if v["ts"] != none {
		ackOptions = fmt.Sprintf(" <nop,nop,TS val %d ecr %d>", v["ts"]+100, v["reply_ts"])
	}
	if v["wscale"] != none {
		offer += fmt.Sprintf("%s,wscale %d", padding, v["wscale"])
		answer += fmt.Sprintf(",nop,wscale %d", v["reply_wscale"])
	}
	syn, synAck, win := "S", "S.", ""
	if v["ecn"] == 1 {
		syn, synAck = "SEW", "SE."
	}
	if v["reply_win"] != none {
		win = fmt.Sprint(" win ", v["reply_win"])
	}
	return fmt.Sprintf(`%s socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < %s 0:0(0) win %d <%s>
+0 > %s 0:0(0) ack 1%s <%s>
+.1 < . 1:1(0) ack 1 win %d%s
+0 accept(3, ..., ...) = %d
`, t, syn, v["win"], offer, synAck, win, answer, v["ack_win"], ackOptions, v["fd"])
}
