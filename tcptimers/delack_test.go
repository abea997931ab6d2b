package tcptimers

import (
	"testing"
	"time"

	"tcpwheel/wheel"
)

// TestHeartbeat is E13 for random arrivals: ACKs that wait for a sweep of 200 ms wait for above 0
// to 200 ms, uniformly, with a mean of 100 and a 99th percentile of 198 ms, whatever delay was
// asked for.
func TestHeartbeat(t *testing.T) {
	p := MustPolicy("bsd")
	p.Origin = -17
	const n = 1000
	var sum time.Duration
	seen := map[time.Duration]bool{}
	above198 := 0
	for i := range time.Duration(n) {
		now := p.Origin.Add(5*FastTick + i*FastTick/n)
		wait := p.DelAckDeadline(now, i*ms).Sub(now)
		if wait <= 0 || wait > FastTick || seen[wait] {
			t.Fatalf("an ACK delayed at %v waits %v, want each part of (0, 200ms] once", now, wait)
		}
		seen[wait] = true
		sum += wait
		if wait > 198*ms {
			above198++
		}
	}
	if mean := sum / n; (mean - 100*ms).Abs() > FastTick/n {
		t.Errorf("mean %v, want 100ms", mean)
	}
	if above198 != n/100 {
		t.Errorf("%d of %d above 198ms, want one in a hundred", above198, n)
	}
}

// TestHeartbeatLocks is E13 for stop-and-wait: a sender that sends its next segment on each ACK
// falls into step with the heartbeat, one segment per 200 ms·⌈RTT/200 ms⌉. Fixed timers take RTT
// + delay.
func TestHeartbeatLocks(t *testing.T) {
	period := func(p *Policy, rtt time.Duration) time.Duration {
		now, first := wheel.Time(33*ms), wheel.Time(0)
		const rounds = 100
		for i := range rounds + 1 {
			if i == 1 {
				first = now
			}
			now = p.DelAckDeadline(now, p.DelAck.Delay).Add(rtt) // ACK leaves, next segment arrives
		}
		return now.Sub(first) / rounds
	}
	bsd, fixed := MustPolicy("bsd"), MustPolicy("per-segment")
	for _, c := range []struct{ rtt, beat, timer time.Duration }{
		{ms, 200 * ms, 41 * ms},
		{150 * ms, 200 * ms, 190 * ms},
		{200*ms + 1, 400 * ms, 241 * ms},
	} {
		if got := period(&bsd, c.rtt); got != c.beat {
			t.Errorf("heartbeat, RTT %v: a segment each %v, want %v", c.rtt, got, c.beat)
		}
		if got := period(&fixed, c.rtt); got != c.timer {
			t.Errorf("timer of 40ms, RTT %v: a segment each %v, want %v", c.rtt, got, c.timer)
		}
	}
}

// TestDelAckDeadline: the delay is clamped to the bounds and rounds up to the tick. RFC 5681
// §4.2: an ACK "MUST be generated within 500 ms of the arrival of the first unacknowledged
// packet", in all policies.
func TestDelAckDeadline(t *testing.T) {
	p := MustPolicy("linux")
	for _, c := range []struct{ delay, want time.Duration }{
		{0, 40 * ms}, {40 * ms, 40 * ms}, {41 * ms, 44 * ms}, {time.Second, 200 * ms},
	} {
		if got := p.DelAckDeadline(0, c.delay); got != at(c.want) {
			t.Errorf("DelAckDeadline(0, %v) = %v, want %v", c.delay, got, c.want)
		}
	}
	for _, name := range append(PolicyNames(), "datacenter") {
		p, err := NewPolicy(name)
		if err != nil {
			if p, err = NewPolicy(name); err != nil {
				t.Fatal(err)
			}
		}
		for now := wheel.Time(0); now < wheel.Time(time.Second); now += 9999991 {
			if wait := p.DelAckDeadline(now, time.Hour).Sub(now); wait <= 0 || wait > 500*ms {
				t.Errorf("%s: an ACK delayed at %v waits %v", name, now, wait)
			}
		}
		if p.DelAck.Every > 2 {
			t.Errorf("%s: an ACK for every %d segments, want at least every second", name, p.DelAck.Every)
		}
	}
}

// TestParseDelAck reads each form, and writes it back.
func TestParseDelAck(t *testing.T) {
	for text, want := range map[string]DelAckConfig{
		"off":             {Every: 1},
		"40ms":            {Every: 2, Delay: 40 * time.Millisecond, Min: 40 * time.Millisecond, Max: 40 * time.Millisecond},
		"heartbeat:200ms": {Every: 2, Heartbeat: 200 * time.Millisecond, Max: 200 * time.Millisecond},
	} {
		got, err := ParseDelAck(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("ParseDelAck(%q) = %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "on", "0s", "-1ms", "501ms", "heartbeat", "heartbeat:1h", "40"} {
		if got, err := ParseDelAck(text); err == nil {
			t.Errorf("ParseDelAck(%q) = %+v, want an error", text, got)
		}
	}
	if text := MustPolicy("linux").DelAck.String(); text != "40ms to 200ms" {
		t.Errorf("Linux's delayed ACKs are %q, want 40ms to 200ms", text)
	}
}
