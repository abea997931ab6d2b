package tcp

import (
	"net/netip"
	"testing"
)

// TestBacklogSegment: LISTEN's rules, by flags and by how full the queues are.
func TestBacklogSegment(t *testing.T) {
	local, remote := netip.MustParseAddrPort("192.0.2.1:80"), netip.MustParseAddrPort("192.0.2.2:5000")
	for _, test := range []struct {
		name   string
		b      Backlog
		flags  Flags
		remote netip.AddrPort
		want   ListenAction
	}{
		{"RST", Backlog{Max: 1}, RST, remote, ListenIgnore},
		{"RST and ACK", Backlog{Max: 1}, RST | ACK, remote, ListenIgnore},
		{"no flags", Backlog{Max: 1}, 0, remote, ListenIgnore},
		{"FIN", Backlog{Max: 1}, FIN, remote, ListenIgnore},
		{"ACK", Backlog{Max: 1}, ACK, remote, ListenRefuse},
		{"ACK while a cookie is outstanding", Backlog{Max: 1, cookieSent: true}, ACK, remote, ListenTakeCookie},
		{"SYN-ACK while a cookie is outstanding", Backlog{Max: 1, cookieSent: true}, SYN | ACK, remote, ListenRefuse},
		{"ACK behind a lost one", Backlog{Max: 1, ackLost: true}, ACK, remote, ListenDropBehindCookie},
		{"SYN", Backlog{Max: 1, MaxHalfOpen: 1}, SYN, remote, ListenOpen},
		{"SYN from ourselves", Backlog{Max: 1, MaxHalfOpen: 1}, SYN, local, ListenDropBadSYN},
		{"SYN from port 0", Backlog{Max: 1, MaxHalfOpen: 1}, SYN, netip.AddrPortFrom(remote.Addr(), 0), ListenDropBadSYN},
		{"SYN, accept queue full", Backlog{Max: 1, MaxHalfOpen: 1, Queued: 1}, SYN, remote, ListenDropFull},
		{"SYN, half-open full", Backlog{Max: 1, MaxHalfOpen: 1, HalfOpen: 1}, SYN, remote, ListenSendCookie},
		{"SYN, both full", Backlog{Max: 1, MaxHalfOpen: 1, HalfOpen: 1, Queued: 1}, SYN, remote, ListenDropFull},
		{"SYN, half-open full, no cookies", Backlog{Max: 1, MaxHalfOpen: 1, HalfOpen: 1, Cookies: CookiesNever}, SYN, remote, ListenDropHalfOpen},
		{"SYN, always cookies", Backlog{Max: 1, MaxHalfOpen: 1, Cookies: CookiesAlways}, SYN, remote, ListenSendCookie},
	} {
		if got := test.b.Segment(0, local, test.remote, &Header{Flags: test.flags}); got != test.want {
			t.Errorf("%s: action %d, want %d", test.name, got, test.want)
		}
	}
}

// TestStrayReset: RFC 9293 §3.10.7.1, for each combination of SYN, ACK, FIN and RST.
func TestStrayReset(t *testing.T) {
	for _, test := range []struct {
		flags Flags
		n     uint32
		want  Header
		ok    bool
	}{
		{RST, 0, Header{}, false},
		{RST | ACK, 0, Header{}, false},
		{ACK, 5, Header{Seq: 70, Flags: RST}, true},
		{SYN | ACK, 0, Header{Seq: 70, Flags: RST}, true},
		{SYN, 0, Header{Ack: 101, Flags: RST | ACK}, true},
		{SYN | FIN, 10, Header{Ack: 112, Flags: RST | ACK}, true},
		{0, 10, Header{Ack: 110, Flags: RST | ACK}, true},
	} {
		in := Inbound{Header: &Header{Seq: 100, Ack: 70, Flags: test.flags}, Len: test.n}
		if got, ok := StrayReset(&in); got != test.want || ok != test.ok {
			t.Errorf("StrayReset(%v, %d bytes) = %+v, %v, want %+v, %v", test.flags, test.n, got, ok, test.want, test.ok)
		}
	}
}
