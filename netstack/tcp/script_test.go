package tcp

import (
	"testing"
	"time"
)

// TestSendLimits: a script's limits decide how much new data leaves, whether the congestion window
// is larger or smaller. Congestion control decides where the limit is not known.
func TestSendLimits(t *testing.T) {
	cfg := hostileConfig()
	cfg.Script = &Script{Limits: []SendLimit{
		{Delivered: 0, Bytes: 2000}, {Delivered: 1000, Bytes: 3000}, {Delivered: 3000, Bytes: 1000},
		{Delivered: 4000, Bytes: 16_000}, {Delivered: 5000, Bytes: 16_000, AtLeast: true},
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
			t.Errorf("%s: %d bytes were sent, want %d", when, got, upTo)
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
		t.Errorf("%d bytes were sent where congestion control decides, want a little more than 21000", got)
	}
}

func TestScriptCheck(t *testing.T) {
	for _, test := range []struct {
		script Script
		want   string
	}{
		{Script{Limits: []SendLimit{{Delivered: 5}, {Delivered: 5}}}, "tcp: send limit 1 at 5 bytes, want more than 5"},
		{Script{Slack: -1}, "tcp: script with a slack of -1ns, want 0s to 1s"},
	} {
		cfg := hostileConfig()
		cfg.Script = &test.script
		if err := cfg.Check(); err == nil || err.Error() != test.want {
			t.Errorf("Check() = %v, want %s", err, test.want)
		}
	}
}

// TestResend: Resend retransmits each segment of a range once. The ACK gives no round-trip sample,
// and the congestion window stays.
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
		t.Errorf("%d retransmissions, want the four segments of the range once each", n)
	}
	h.ack(x, una.Add(4000), 65535)
	info := x.s.Conn().Info(h.now)
	if info.SRTT > 2*srtt+time.Millisecond {
		t.Errorf("the smoothed round trip is %v after the ACK, %v before it: want no sample of a retransmitted segment", info.SRTT, srtt)
	}
	if info.Cwnd < cwnd {
		t.Errorf("cwnd %d, want %d at least", info.Cwnd, cwnd)
	}
	h.e.Resend(h.now, x.s, Range{Start: una, End: una.Add(9000)}, 9) // nothing is in flight now
	h.collect()
	if n := x.s.Conn().Info(h.now).TotalRetrans; n != 4 {
		t.Errorf("%d retransmissions, want none of what was acknowledged", n)
	}
}
