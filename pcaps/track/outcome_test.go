package track

import (
	"net/netip"
	"strings"
	"testing"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
)

// TestOutcomes opens connections in each way that a capture can show.
func TestOutcomes(t *testing.T) {
	router := netip.MustParseAddr("203.0.113.9")
	syn := func(l *lab, at float64) { l.send(at, true, 0, 0, 0, withFlags(tcp.SYN)) }
	synack := func(l *lab, at float64) { l.send(at, false, 0, 0, 1, withFlags(tcp.SYN|tcp.ACK)) }
	icmp := func(l *lab, seq tcp.Seq) {
		l.tr.ICMP(capture.ICMPError{From: router, Src: l.a, Dst: l.b, Seq: l.isn[0] + seq})
	}
	for _, test := range []struct {
		name string
		make func(*lab)
		want Outcome
		by   netip.Addr
	}{
		{"established", func(l *lab) { l.open(0) }, Established, netip.Addr{}},
		{"the ACK of the handshake is missing", func(l *lab) { syn(l, 0); synack(l, 20) }, Established, netip.Addr{}},
		{"the SYN-ACK is missing", func(l *lab) { syn(l, 0); l.send(40, true, 1, 10, 1) }, Established, netip.Addr{}},
		{"unanswered", func(l *lab) { syn(l, 0); syn(l, 1000) }, Unanswered, netip.Addr{}},
		{"the SYN-ACK is unanswered", func(l *lab) { syn(l, 0); synack(l, 20); synack(l, 1020) }, Unanswered, netip.Addr{}},
		{"refused", func(l *lab) { syn(l, 0); l.send(20, false, 0, 0, 1, withFlags(tcp.RST|tcp.ACK)) }, Refused, netip.Addr{}},
		{"unreachable", func(l *lab) { syn(l, 0); icmp(l, 0); syn(l, 1000); icmp(l, 0) }, Unreachable, router},
		{"unreachable, and refused after all", func(l *lab) {
			syn(l, 0)
			icmp(l, 0)
			l.send(20, false, 0, 0, 1, withFlags(tcp.RST|tcp.ACK))
		}, Refused, router},
		{"unreachable once, then established", func(l *lab) { syn(l, -1000); icmp(l, 0); l.open(0) }, Established, router},
		{"an error about another sequence number", func(l *lab) { syn(l, 0); icmp(l, 1) }, Unanswered, netip.Addr{}},
		{"begun before the capture", func(l *lab) { l.send(0, true, 1, 10, 1); l.send(40, false, 1, 0, 11) }, Begun, netip.Addr{}},
	} {
		l := newLab(t, Config{})
		test.make(l)
		c := l.done(1)[0]
		if c.Outcome != test.want || c.UnreachableBy != test.by {
			t.Errorf("%s: %v by %v, want %v by %v", test.name, c.Outcome, c.UnreachableBy, test.want, test.by)
		}
		if n := len(c.Flows[0].Episodes); c.Outcome.Never() && n > 0 {
			t.Errorf("%s: %d episodes, want none", test.name, n)
		}
	}
}

// TestUnheard: the server repeats its SYN-ACK after the client's ACK and data, and acknowledges
// neither. That is one event, with who gave up.
func TestUnheard(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer int // what the server acknowledges at last
		again  bool
		want   Outcome
	}{
		{"the SYN-ACK repeated", 0, true, Unheard},
		{"the SYN-ACK repeated, then accepted", 501, true, Established},
		{"a server that is gone", 0, false, Established},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLab(t, Config{})
			l.open(0)
			l.send(60, true, 1, 500, 1)
			for at := 1050.0; test.again && at < 8000; at = 2*at + 1000 {
				l.send(at, false, 0, 0, 1, withFlags(tcp.SYN|tcp.ACK))
				l.send(at+0.1, true, 501, 0, 1)
				l.send(at+300, true, 1, 500, 1)
			}
			if test.answer > 0 {
				l.send(8500, false, 1, 0, test.answer)
			}
			l.send(9000, true, 501, 0, 1, withFlags(tcp.RST|tcp.ACK))
			c := l.done(1)[0]
			all := lossesOf(c)
			text := strings.Join(all.Sentences(), " ")
			said := strings.Contains(text, "never saw the client's data: its SYN-ACK was repeated 3 times, and the client gave up with a RST after 9.00 s.")
			if c.Outcome != test.want || said != (test.want == Unheard) || c.ResetBy != l.a || said && all.Episodes > 0 {
				t.Errorf("%v, reset by %v, want %v: %s", c.Outcome, c.ResetBy, test.want, text)
			}
		})
	}
}

// lossesOf returns the losses of a connection.
func lossesOf(c *Conn) (all Losses) {
	all.AddConn(c)
	for i := range c.Flows {
		for _, e := range c.Flows[i].Episodes {
			all.Add(e)
		}
	}
	return all
}
