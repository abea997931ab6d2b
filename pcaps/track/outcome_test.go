package track

import (
	"net/netip"
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
