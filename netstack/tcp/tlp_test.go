package tcp

import (
	"testing"
	"time"

	"tcpwheel/wheel"
)

// RFC 8985 §7.2: "PTO = 2 * SRTT", "If FlightSize is one segment: PTO += TLP.max_ack_delay", and no
// later than the RTO.
func TestProbeTimeout(t *testing.T) {
	now := wheel.Time(time.Second)
	for _, c := range []struct {
		in   ptoInput
		want time.Duration
	}{
		{ptoInput{SRTT: 50 * ms, HasSRTT: true, Flight: 2, MaxAckDelay: 200 * ms, RTOExpiry: now.Add(time.Hour)}, 100 * ms},
		{ptoInput{SRTT: 50 * ms, HasSRTT: true, Flight: 1, MaxAckDelay: 200 * ms, RTOExpiry: now.Add(time.Hour)}, 300 * ms},
		{ptoInput{Flight: 1, MaxAckDelay: 200 * ms, RTOExpiry: now.Add(time.Hour)}, time.Second},
		{ptoInput{SRTT: 50 * ms, HasSRTT: true, Flight: 1, MaxAckDelay: 200 * ms, RTOExpiry: now.Add(250 * ms)}, 250 * ms},
		{ptoInput{SRTT: 50 * ms, HasSRTT: true, Flight: 2, RTOExpiry: now.Add(-ms)}, 0},
	} {
		if got, early := probeTimeout(now, &c.in); got != c.want || early {
			t.Errorf("PTO(%+v) = %v, want %v", c.in, got, c.want)
		}
	}
}

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

// No probe is early after an early one was spurious.
func TestTLPEarlyOnlyUntilSpurious(t *testing.T) {
	for _, c := range []struct {
		early bool
		ack   tlpAck
		may   bool
	}{
		{true, tlpAck{Ack: 100, DSACKProbe: true}, false},
		{true, tlpAck{Ack: 100, DupNoSACK: true}, false},
		{true, tlpAck{Ack: 101}, true},
		{false, tlpAck{Ack: 100, DSACKProbe: true}, true},
	} {
		var p tlpState
		p.Probed(100, true, c.early)
		p.Acked(c.ack)
		p.Reset()
		p.Sampled()
		p.Probed(200, true, false)
		p.Acked(tlpAck{Ack: 200, DSACKProbe: true})
		if got := p.MayBeEarly(); got != c.may {
			t.Errorf("early %v, %+v: may be early again %v, want %v", c.early, c.ack, got, c.may)
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

// RFC 8985 §7.4.2: a loss repaired by a probe is reported once the ACK is past it, unless a DSACK
// or a duplicate ACK without SACK says that the original arrived.
func TestTLPAcked(t *testing.T) {
	for _, c := range []struct {
		name           string
		retrans        bool
		ack            tlpAck
		repaired, open bool
	}{
		{"below", true, tlpAck{Ack: 99, DSACKProbe: true}, false, true},
		{"new data", false, tlpAck{Ack: 100}, false, false},
		{"new data, past it", false, tlpAck{Ack: 101}, false, false},
		{"DSACK", true, tlpAck{Ack: 100, DSACKProbe: true}, false, false},
		{"DSACK past it", true, tlpAck{Ack: 101, DSACKProbe: true}, false, false},
		{"at it", true, tlpAck{Ack: 100}, false, true},
		{"duplicate", true, tlpAck{Ack: 100, DupNoSACK: true}, false, false},
		{"past it", true, tlpAck{Ack: 101}, true, false},
	} {
		var p tlpState
		p.Probed(100, c.retrans, false)
		if got := p.Acked(c.ack); got != c.repaired || p.inFlight != c.open {
			t.Errorf("%s: repaired %v, open %v, want %v, %v", c.name, got, p.inFlight, c.repaired, c.open)
		}
	}
}
