package track

import (
	"math"
	"testing"
	"time"

	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// A sample gives back what it was made of. On a clock that jumps by centuries its RTT is 36 years.
func TestSampleInSixteenBytes(t *testing.T) {
	const most = math.MaxInt64 >> 3
	for rtt, want := range map[time.Duration]time.Duration{-1: 0, 1: 1, time.Second: time.Second, most: most, math.MaxInt64 - 5: most} {
		for expected := 1; expected <= 4; expected++ {
			for _, round := range []bool{false, true} {
				s := newSample(5, wheel.Time(5).Add(rtt), expected, round)
				if s.rtt() != want || s.acked() != wheel.Time(5).Add(want) || s.expected() != expected || s.round() != round {
					t.Errorf("a sample of %v with %d expected, %v, has %v until %v, %d, %v", rtt, expected, round, s.rtt(), s.acked(), s.expected(), s.round())
				}
			}
		}
	}
}

// TestRTTAtReceiver: at the receiver's host, without a handshake, nothing shows how far the sender
// is. The delay of the ACKs is no round trip.
func TestRTTAtReceiver(t *testing.T) {
	for _, handshake := range []bool{false, true} {
		l := newLab(t, Config{})
		if handshake {
			l.open(0)
		}
		far := func(p *capture.Packet) { // the capture's host is the receiver
			if p.TTL = 52; p.Src == l.b {
				p.TTL = 64
			}
		}
		for i := range 7 {
			if i == 3 {
				continue // it is lost
			}
			at, seq := 1000+100*float64(i), 1+1000*i
			l.send(at, true, seq, 1000, 1, far)
			l.send(at+0.1, false, 1, 0, min(seq+1000, 3001), far)
		}
		l.send(2000, true, 3001, 1000, 1, far)
		l.send(2000.1, false, 1, 0, 7001, far)
		c := l.done(1)[0]
		f := &c.Flows[0]
		if r := c.Record("x").Flows[0].RTT; len(f.Episodes) != 1 || f.MeasuresRTT() != handshake || (r != nil) != handshake {
			t.Fatalf("handshake %v: %v, %d episodes, RTT %+v", handshake, f.Vantage, len(f.Episodes), r)
		}
		e := f.Episodes[0]
		if (e.RTT > 0) != handshake || (e.W > 0) != handshake || e.HasIdealD != handshake {
			t.Errorf("handshake %v: RTT %v, tax %v", handshake, e.RTT, e.TimerTax)
		}
	}
}
