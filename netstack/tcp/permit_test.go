package tcp

import (
	"testing"
	"time"
)

// TestPermits has the captured windows of a connection decide what leaves: not more than they say though the congestion window is larger, as
// much as they say though it is smaller, and by congestion control where they do not tell.
func TestPermits(t *testing.T) {
	cfg := hostileConfig()
	cfg.Permits = &Permits{All: []Permit{
		{Delivered: 0, Octets: 2000}, {Delivered: 1000, Octets: 3000}, {Delivered: 3000, Octets: 1000},
		{Delivered: 4000, Octets: 16_000}, {Delivered: 5000, Octets: 16_000, AtLeast: true},
	}}
	if err := cfg.Check(); err != nil {
		t.Fatal(err)
	}
	h := newHostile(t, cfg, EngineConfig{})
	x := h.connect(t, 65535, Options{HasMSS: true, MSS: 1000, SACKPermitted: true})
	h.e.Wrote(h.now, x.s, 100_000, 0)
	h.collect()
	want := func(when string, upTo uint32) {
		t.Helper()
		if got := x.nxt.Sub(x.iss.Add(1)); got != upTo {
			t.Errorf("%s: %d octets were sent, want %d", when, got, upTo)
		}
	}
	ack := func(n uint32) {
		h.now = h.now.Add(1e6)
		h.ack(x, x.iss.Add(1+n), 65535)
	}
	want("at first", 2000)
	ack(500)
	want("room for half a segment", 2000)
	ack(1000)
	want("1000 delivered", 4000)
	ack(3000)
	want("no more is in flight", 4000)
	ack(4000)
	want("more than the congestion window", 20_000)
	ack(5000)
	if got := x.nxt.Sub(x.iss.Add(1)); got < 21_000 || got > 40_000 {
		t.Errorf("%d octets were sent where congestion control decides, want a little more than 21000", got)
	}
}

func TestPermitsCheck(t *testing.T) {
	cfg := hostileConfig()
	cfg.Permits = &Permits{All: []Permit{{Delivered: 5}, {Delivered: 5}}}
	const want = "tcp: permit 1 at 5 octets, want more than 5"
	if err := cfg.Check(); err == nil || err.Error() != want {
		t.Errorf("Check() = %v, want %s", err, want)
	}
}

// TestResend has retransmissions that another host made counted as the connection's own: they leave once, are no round trips, and are none of
// congestion control's.
func TestResend(t *testing.T) {
	cfg := hostileConfig()
	h := newHostile(t, cfg, EngineConfig{})
	x := h.connect(t, 65535, Options{HasMSS: true, MSS: 1000, SACKPermitted: true})
	h.e.Wrote(h.now, x.s, 4000, 0)
	h.collect()
	srtt := x.s.Conn().Info(h.now).SRTT
	cwnd := x.s.Conn().Info(h.now).Cwnd
	una := x.iss.Add(1)
	for range 2 {
		h.now = h.now.Add(50 * time.Millisecond)
		h.e.Resend(h.now, x.s, Range{Start: una, End: una.Add(4000)}, 2)
		h.collect()
	}
	if n := x.s.Conn().Info(h.now).TotalRetrans; n != 4 {
		t.Errorf("%d segments were sent again, want the four of the range, once", n)
	}
	h.ack(x, una.Add(4000), 65535)
	info := x.s.Conn().Info(h.now)
	if info.SRTT > 2*srtt+time.Millisecond {
		t.Errorf("the smoothed round trip is %v after the ACK, %v before it: want none by what was sent twice", info.SRTT, srtt)
	}
	if info.Cwnd < cwnd {
		t.Errorf("cwnd %d, want %d at least", info.Cwnd, cwnd)
	}
	h.e.Resend(h.now, x.s, Range{Start: una, End: una.Add(9000)}, 9) // nothing is in flight
	h.collect()
	if n := x.s.Conn().Info(h.now).TotalRetrans; n != 4 {
		t.Errorf("%d segments were sent again though all was acknowledged", n)
	}
}
