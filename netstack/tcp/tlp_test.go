package tcp

import (
	"testing"
	"time"

	"tcpwheel/wheel"
)

// If the last segment's ACK should follow the others closely, the probe counts from its
// transmission.
func TestProbeTimeoutAfterPromptAcks(t *testing.T) {
	sent := wheel.Time(time.Second)
	for _, c := range []struct {
		name  string
		now   wheel.Time
		in    ptoInput
		want  time.Duration // from the transmission
		early bool
	}{
		{"two round trips", sent.Add(50 * ms), ptoInput{SRTT: 50 * ms, Flight: 1, MaxAckDelay: 200 * ms}, 100 * ms, true},
		{"also of two segments", sent.Add(50 * ms), ptoInput{SRTT: 50 * ms, Flight: 2, MaxAckDelay: 200 * ms}, 100 * ms, true},
		{"the variation", sent.Add(50 * ms), ptoInput{SRTT: 50 * ms, RTTVar: 20 * ms, Flight: 1, MaxAckDelay: 200 * ms}, 130 * ms, true},
		{"one behind the ACK", sent.Add(70 * ms), ptoInput{SRTT: 50 * ms, Flight: 1, MaxAckDelay: 200 * ms}, 120 * ms, true},
		{"some ms behind the ACK", sent.Add(1 * ms), ptoInput{SRTT: 1 * ms, Flight: 1, MaxAckDelay: 200 * ms}, 6 * ms, true},
		{"no later than without", sent.Add(50 * ms), ptoInput{SRTT: 50 * ms, RTTVar: 100 * ms, Flight: 2, MaxAckDelay: 200 * ms}, 150 * ms, false},
		{"no later than the RTO", sent.Add(50 * ms), ptoInput{SRTT: 50 * ms, Flight: 1, MaxAckDelay: 200 * ms, RTOExpiry: sent.Add(90 * ms)}, 90 * ms, false},
	} {
		c.in.HasSRTT, c.in.Prompt, c.in.LastSent = true, true, sent
		if c.in.RTOExpiry == 0 {
			c.in.RTOExpiry = sent.Add(time.Hour)
		}
		pto, early := probeTimeout(c.now, &c.in)
		if got := c.now.Add(pto).Sub(sent); got != c.want || early != c.early {
			t.Errorf("%s: %v, early %v, want %v, %v", c.name, got, early, c.want, c.early)
		}
	}
}

// RFC 8985 §7.3: one probe at a time, with an RTT sample between two.
func TestTLPMayProbe(t *testing.T) {
	var p tlpState
	want := func(what string, may bool) {
		t.Helper()
		if p.MayProbe() != may {
			t.Errorf("%s: may probe %v, want %v", what, !may, may)
		}
	}
	want("at first", true)
	p.Probed(100, false, false)
	want("in flight", false)
	p.Acked(tlpAck{Ack: 100})
	want("without a measurement", false)
	p.Sampled()
	want("with one", true)
	p.Probed(200, true, false)
	p.Sampled()
	want("in flight, measured", false)
	p.Reset() // RFC 8985 §7.1
	want("after the start of a recovery", true)
}
