package tcp

import (
	"slices"
	"testing"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// TestSendLimits: a replay's limits decide how much new data leaves, whether the congestion window
// is larger or smaller. Congestion control decides where the limit is not known.
func TestSendLimits(t *testing.T) {
	cfg := hostileConfig()
	cfg.Replay = &ReplayConfig{Limits: []SendLimit{
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
		script ReplayConfig
		want   string
	}{
		{ReplayConfig{Limits: []SendLimit{{Delivered: 5}, {Delivered: 5}}}, "tcp: send limit 1 at 5 bytes, want more than 5"},
		{ReplayConfig{Slack: -1}, "tcp: replay with a slack of -1ns, want 0s to 1s"},
	} {
		cfg := hostileConfig()
		cfg.Replay = &test.script
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
	resend := func(n uint32, times uint8) {
		x.s.conn.snd.Resend(h.e.setNow(h.now), SeqRange{Start: una, End: una.Add(n)}, times, &h.e.out)
		h.e.apply(x.s)
		h.collect()
	}
	for range 2 {
		h.now = h.now.Add(50 * time.Millisecond)
		resend(4000, 2)
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
	resend(9000, 9) // nothing is in flight now
	if n := x.s.Conn().Info(h.now).TotalRetrans; n != 4 {
		t.Errorf("%d retransmissions, want none of what was acknowledged", n)
	}
}

// scripted is a client that has sent four segments of 1000 bytes, 10 ms apart, from 100 ms on.
func scripted(t *testing.T, cfg *Config) (*Conn, *Output) {
	t.Helper()
	if err := cfg.Check(); err != nil {
		t.Fatal(err)
	}
	c, o := new(Conn), new(Output)
	c.Init(cfg, Path{MTU: 1500}, 0, 0)
	c.Connect(0, o)
	syn := Header{Flags: SYN | ACK, Seq: 0, Ack: 1, Window: 1500, Options: Options{HasMSS: true, MSS: 1000, SACKPermitted: true}}
	c.Input(wheel.Time(50*time.Millisecond), &Inbound{Header: &syn}, o)
	for i := range 4 {
		now := wheel.Time(100+10*i) * wheel.Time(time.Millisecond)
		c.Wrote(now, 1000, 0, o)
		c.snd.SendNew(now, Seq(1001+1000*i), o)
	}
	o.Reset()
	return c, o
}

// scriptedACK hands a connection an ACK, with a SACK block up to end if that is not 0.
func scriptedACK(c *Conn, now time.Duration, ack, end Seq, o *Output) {
	h := Header{Flags: ACK, Seq: 1, Ack: ack, Window: 1500}
	if end != 0 {
		h.Options.NumSACK, h.Options.SACK[0] = 1, SeqRange{Start: ack.Add(1000), End: end}
	}
	c.Input(wheel.Time(now), &Inbound{Header: &h}, o)
}

// TestSendNew: new data leaves though the peer's window is full.
func TestSendNew(t *testing.T) {
	cfg := hostileConfig()
	cfg.Replay = &ReplayConfig{ResendOnly: true}
	c, _ := scripted(t, &cfg)
	if info := c.Info(0); info.SndNxt != 4001 {
		t.Errorf("SND.NXT is %d, want all 4000 bytes to be sent into a window of 1500", info.SndNxt)
	}
}

// TestResendOnly: SACKs of three segments make no connection retransmit that leaves it to Resend.
func TestResendOnly(t *testing.T) {
	for _, only := range []bool{false, true} {
		cfg := hostileConfig()
		cfg.Replay = &ReplayConfig{ResendOnly: only}
		c, o := scripted(t, &cfg)
		for end := Seq(2001); end <= 4001; end += 1000 {
			scriptedACK(c, 200*time.Millisecond, 1, end, o)
		}
		if n := c.Info(0).TotalRetrans; (n == 0) != only {
			t.Errorf("ResendOnly %v: %d retransmissions after three SACKs", only, n)
		}
	}
}

// TestFork: a fork goes on alone, and its timers run as if its own policy had always held.
func TestFork(t *testing.T) {
	const ms = time.Millisecond
	cfg := hostileConfig()
	cfg.Replay = &ReplayConfig{ResendOnly: true}
	c, o := scripted(t, &cfg)
	scriptedACK(c, 150*ms, 1001, 0, o)
	o.Reset()
	for _, test := range []struct {
		policy string
		want   []time.Duration // before the timers expire that retransmit
	}{
		{"per-segment", []time.Duration{110 * ms, 120 * ms, 130 * ms}}, // each since it was sent
		{"rfc6298", []time.Duration{150 * ms}},                         // one since the ACK
	} {
		forked := DefaultConfig(tcptimers.MustPolicy(test.policy))
		est := forked.Policy.NewEstimator()
		est.Sample(tcptimers.Sample{RTT: 50 * ms})
		var out Output
		f := c.Fork(wheel.Time(160*ms), &forked, est, wheel.Time(150*ms), &out)
		var from []time.Duration
		for _, op := range out.Timers {
			if op.Start && op.Slot.Kind() == tcptimers.Rexmit {
				from = append(from, time.Duration(op.At)-est.RTO())
			}
		}
		if !slices.Equal(from, test.want) {
			t.Errorf("%s: the timers run since %v, want %v", test.policy, from, test.want)
		}
		scriptedACK(f, 170*ms, 4001, 0, &out)
		if f.Acked() != 4000 || c.Acked() != 1000 {
			t.Errorf("%s: %d bytes acknowledged in the fork, %d in the original, want 4000 and 1000", test.policy, f.Acked(), c.Acked())
		}
	}
}
