package tcptimers

import (
	"testing"
	"time"

	"tcpwheel/wheel"
)

func wantRTO(t *testing.T, e Estimator, want time.Duration) {
	t.Helper()
	if got := e.RTO(); got != want {
		t.Errorf("RTO %v, want %v", got, want)
	}
}

// RFC 6298 §2 (2.1): "Until a round-trip time (RTT) measurement has been made for a segment sent
// between the sender and receiver, the sender SHOULD set RTO <- 1 second, though the "backing
// off" on repeated retransmission discussed in (5.5) still applies."
func TestRFC6298Initial(t *testing.T) {
	e := NewRFC6298(StandardConfig{})
	wantRTO(t, e, time.Second)
	e.Backoff()
	wantRTO(t, e, 2*time.Second)
}

// RFC 6298 §2 (2.2): "When the first RTT measurement R is made, the host MUST set" "SRTT <- R",
// "RTTVAR <- R/2", "RTO <- SRTT + max (G, K*RTTVAR)" "where K = 4."
func TestRFC6298FirstSample(t *testing.T) {
	e := NewRFC6298(StandardConfig{})
	e.Sample(Sample{RTT: 600 * ms})
	if e.SRTT() != 600*ms || e.RTTVar() != 300*ms {
		t.Errorf("SRTT %v, RTTVAR %v, want 600ms and 300ms", e.SRTT(), e.RTTVar())
	}
	wantRTO(t, e, 1800*ms)
}

// RFC 6298 §2 (2.3): "RTTVAR <- (1 - beta) * RTTVAR + beta * |SRTT - R'|", "SRTT <- (1 - alpha) *
// SRTT + alpha * R'", and "updating RTTVAR and SRTT MUST be computed in the above order": in the
// other one, RTTVAR would be 312.5 ms here.
func TestRFC6298LaterSamples(t *testing.T) {
	e := NewRFC6298(StandardConfig{})
	e.Sample(Sample{RTT: 600 * ms})
	e.Sample(Sample{RTT: 1000 * ms})
	if e.SRTT() != 650*ms || e.RTTVar() != 325*ms {
		t.Errorf("SRTT %v, RTTVAR %v, want 650ms and 325ms", e.SRTT(), e.RTTVar())
	}
	wantRTO(t, e, 1950*ms)
}

// RFC 6298 §2 (2.3): "The above SHOULD be computed using alpha=1/8 and beta=1/4"; other values
// are parameters.
func TestRFC6298Gains(t *testing.T) {
	e := NewRFC6298(StandardConfig{AlphaInv: 4, BetaInv: 2, K: 2})
	e.Sample(Sample{RTT: 600 * ms})
	e.Sample(Sample{RTT: 1000 * ms})
	if e.SRTT() != 700*ms || e.RTTVar() != 350*ms {
		t.Errorf("SRTT %v, RTTVAR %v, want 700ms and 350ms", e.SRTT(), e.RTTVar())
	}
	wantRTO(t, e, 1400*ms)
}

// RFC 6298 §2 (2.4): "Whenever RTO is computed, if it is less than 1 second, then the RTO SHOULD
// be rounded up to 1 second."
func TestRFC6298Floor(t *testing.T) {
	e := NewRFC6298(StandardConfig{})
	e.Sample(Sample{RTT: 10 * ms})
	wantRTO(t, e, time.Second)
	// The floor applies to the timeout before it is backed off.
	e.Backoff()
	wantRTO(t, e, 2*time.Second)
}

// RFC 6298 §2 (2.5): "A maximum value MAY be placed on RTO provided it is at least 60 seconds."
func TestRFC6298Ceiling(t *testing.T) {
	e := NewRFC6298(StandardConfig{})
	e.Sample(Sample{RTT: 50 * time.Second})
	wantRTO(t, e, 60*time.Second)
	e.Backoff()
	wantRTO(t, e, 60*time.Second)
}

// RFC 6298 §3: "TCP MUST use Karn's algorithm [KP87] for taking RTT samples." The engine decides
// which samples there are. Here, without a sample, the timeout stays backed off, as §5 requires;
// only a sample collapses it.
func TestRFC6298Karn(t *testing.T) {
	e := NewRFC6298(StandardConfig{})
	e.Sample(Sample{RTT: 400 * ms})
	e.Backoff()
	e.Backoff()
	wantRTO(t, e, 4800*ms)
	// RFC 6298 §5: "once a new RTT measurement is obtained (which can only happen when new data
	// has been sent and acknowledged), the computations outlined in Section 2 are performed,
	// including the computation of RTO, which may result in "collapsing" RTO back down after it
	// has been subject to exponential back off (rule 5.5)."
	e.Sample(Sample{RTT: 400 * ms})
	if e.Backoffs() != 0 {
		t.Errorf("backed off %d times after a sample", e.Backoffs())
	}
	wantRTO(t, e, 400*ms+4*150*ms)
}

// RFC 6298 §4: "if the K*RTTVAR term in the RTO calculation equals zero, the variance term MUST
// be rounded to G seconds (i.e., use the equation given in step 2.3)."
func TestRFC6298Granularity(t *testing.T) {
	e := NewRFC6298(StandardConfig{G: 500 * ms})
	for range 20 {
		e.Sample(Sample{RTT: 0})
	}
	wantRTO(t, e, time.Second) // by the floor
	e = NewRFC6298(StandardConfig{G: 500 * ms, Bounds: Bounds{Min: 1}})
	for range 20 {
		e.Sample(Sample{RTT: 0})
	}
	wantRTO(t, e, 500*ms)
}

// RFC 6298 §5 (5.1): "Every time a packet containing data is sent (including a retransmission),
// if the timer is not running, start it running so that it will expire after RTO seconds (for the
// current value of RTO)." (5.3): "When an ACK is received that acknowledges new data, restart the
// retransmission timer so that it will expire after RTO seconds (for the current value of RTO)."
func TestRFC6298Restart(t *testing.T) {
	p := MustPolicy("rfc6298")
	for _, now := range []wheel.Time{0, wheel.Time(100 * ms), wheel.Time(time.Hour)} {
		// Neither the age nor the number of segments matters.
		f := Flight{Sent: now - 5, Earliest: now - wheel.Time(90*ms), Segments: 1}
		if got, want := p.RexmitDeadline(now, time.Second, f), now.Add(time.Second); got != want {
			t.Errorf("RexmitDeadline(%v) = %v, want %v", now, got, want)
		}
	}
}

// RFC 6298 §5: "a segment is never retransmitted too early, i.e., less than one RTO after the
// previous transmission of that segment." This holds under every policy but "bsd", at every phase
// of the tick and age of the segment.
func TestRFC6298NeverTooEarly(t *testing.T) {
	const rto = 237 * ms
	for _, name := range PolicyNames() {
		p := MustPolicy(name)
		early := false
		for sent := wheel.Time(0); sent < wheel.Time(600*ms); sent += 1234567 {
			for age := time.Duration(0); age < rto; age += 50 * ms {
				f := Flight{Sent: sent, Earliest: sent, Segments: 2}
				if p.RexmitDeadline(sent.Add(age), rto, f).Sub(sent) < rto {
					early = true
				}
			}
		}
		if want := name == "bsd"; early != want {
			t.Errorf("%s: early %t, want %t", name, early, want)
		}
	}
}

// RFC 6298 §5 (5.5): "The host MUST set RTO <- RTO * 2 ("back off the timer"). The maximum value
// discussed in (2.5) above may be used to provide an upper bound to this doubling operation."
func TestRFC6298BacksOff(t *testing.T) {
	e := NewRFC6298(StandardConfig{})
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		wantRTO(t, e, want*time.Second)
		e.Backoff()
	}
	// However low the floor, the ceiling is reached.
	e = NewRFC6298(StandardConfig{Bounds: Bounds{Min: 1}})
	e.Sample(Sample{})
	for range 100 {
		e.Backoff()
	}
	wantRTO(t, e, 60*time.Second)
}

// RFC 6298 §5 (5.6): "Start the retransmission timer, such that it expires after RTO seconds (for
// the value of RTO after the doubling operation outlined in 5.5)."
func TestRFC6298ExpiryChain(t *testing.T) {
	for _, name := range []string{"rfc6298", "rfc7765"} {
		p := MustPolicy(name)
		e := p.NewEstimator()
		now := wheel.Time(0)
		for i, want := range []time.Duration{1, 3, 7, 15, 31, 63, 123, 183} {
			// The segment was retransmitted just now, so RTO restart subtracts nothing.
			now = p.RexmitDeadline(now, e.RTO(), Flight{Sent: now, Earliest: now, Segments: 1})
			if now != at(want*time.Second) {
				t.Errorf("%s: expiry %d at %v, want %ds", name, i, now, want)
			}
			e.Backoff()
		}
	}
}

// RFC 6298 §5 (5.7): "If the timer expires awaiting the ACK of a SYN segment and the TCP
// implementation is using an RTO less than 3 seconds, the RTO MUST be re-initialized to 3 seconds
// when data transmission begins (i.e., after the three-way handshake completes)."
func TestRFC6298SynTimedOut(t *testing.T) {
	e := NewRFC6298(StandardConfig{})
	e.Backoff()
	e.SynTimedOut()
	wantRTO(t, e, 3*time.Second)
	e.Backoff()
	wantRTO(t, e, 6*time.Second)
	e.Sample(Sample{RTT: 500 * ms})
	wantRTO(t, e, 1500*ms)
	// Also if the handshake gave a sample by timestamps.
	e.SynTimedOut()
	wantRTO(t, e, 3*time.Second)
	// But not below the current timeout.
	e = NewRFC6298(StandardConfig{Bounds: Bounds{Initial: 5 * time.Second}})
	e.SynTimedOut()
	wantRTO(t, e, 5*time.Second)
}

// RFC 7323 §G divides alpha and beta by the expected number of samples in a round trip, so that
// the history is as long with n samples per round trip as with one: the same part of a step in
// the RTT remains after a round trip.
func TestRFC7323Dilution(t *testing.T) {
	one, many := NewRFC6298(StandardConfig{}), NewRFC6298(StandardConfig{})
	one.Sample(Sample{RTT: 100 * ms})
	many.Sample(Sample{RTT: 100 * ms, Expected: 50})
	for round := range 20 {
		one.Sample(Sample{RTT: 200 * ms})
		for range 50 {
			many.Sample(Sample{RTT: 200 * ms, Expected: 50})
		}
		if diff := (one.SRTT() - many.SRTT()).Abs(); diff > 3*ms {
			t.Errorf("round %d: SRTT %v with 50 samples, %v with one", round, many.SRTT(), one.SRTT())
		}
	}
}

// RFC 4015 §3: the response takes the larger of the sample and SRTT before the timeout plus 2·G,
// and the larger of RTTVAR and half the sample.
func TestEifelResponse(t *testing.T) {
	e := NewRFC6298(StandardConfig{G: 10 * ms})
	e.Sample(Sample{RTT: 400 * ms})
	e.Backoff()
	e.Spurious(3 * time.Second)
	if e.SRTT() != 3*time.Second || e.RTTVar() != 1500*ms || e.Backoffs() != 0 {
		t.Errorf("SRTT %v, RTTVAR %v, backed off %d, want 3s, 1.5s, 0", e.SRTT(), e.RTTVar(), e.Backoffs())
	}
	e.Spurious(1 * ms)
	if e.SRTT() != 3020*ms || e.RTTVar() != 1500*ms {
		t.Errorf("SRTT %v, RTTVAR %v after a short sample, want 3.02s and 1.5s", e.SRTT(), e.RTTVar())
	}
	e = NewRFC6298(StandardConfig{})
	e.Spurious(400 * ms)
	wantRTO(t, e, 1200*ms)
}
