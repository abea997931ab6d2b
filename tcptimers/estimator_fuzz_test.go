package tcptimers

import (
	"encoding/binary"
	"math"
	"testing"
	"time"
)

// FuzzEstimator drives every estimator by any sequence of calls. No value becomes negative or
// overflows, and the RTO stays within its bounds. Each call is 9 bytes: its kind and the
// round-trip time.
func FuzzEstimator(f *testing.F) {
	op := func(what byte, rtt time.Duration) []byte {
		return binary.BigEndian.AppendUint64([]byte{what}, uint64(rtt))
	}
	var long []byte
	for i := range byte(100) {
		long = append(long, op(i, math.MaxInt64>>(i%64))...)
	}
	f.Add(long)
	f.Add(op(0, 0))
	f.Add(append(op(0, math.MaxInt64), op(1, math.MinInt64)...))
	f.Add(append(op(0, time.Second), op(5, time.Minute)...))
	f.Fuzz(func(t *testing.T, calls []byte) {
		policies := []Policy{MustPolicy("rfc6298"), MustPolicy("per-segment"), MustPolicy("linux"), MustPolicy("bsd"), MustPolicy("lwip")}
		fine := MustPolicy("bsd")
		fine.RTTTick = time.Microsecond
		tight := MustPolicy("rfc6298")
		tight.Bounds = Bounds{Initial: 1, Min: 1, Max: 1}
		wide := MustPolicy("rfc6298")
		wide.Bounds = Bounds{Initial: maxTimeout, Min: 1, Max: maxTimeout}
		for _, p := range append(policies, fine, tight, wide) {
			e := p.NewEstimator()
			for rest := calls; len(rest) >= 9; rest = rest[9:] {
				rtt := time.Duration(binary.BigEndian.Uint64(rest[1:]))
				before, backoffs := e.RTO(), e.Backoffs()
				switch rest[0] % 6 {
				case 0:
					e.Sample(Sample{RTT: rtt, Round: true})
				case 1:
					e.Sample(Sample{RTT: rtt, Expected: int(rest[0]) << (rest[8] % 40)})
				case 2:
					e.Backoff()
					if e.RTO() < before {
						t.Fatalf("%s: backing off shortens the RTO from %v to %v", p.Name, before, e.RTO())
					}
					if e.Backoffs() != min(backoffs+1, maxBackoffs) {
						t.Fatalf("%s: backed off %d times, want one more than %d", p.Name, e.Backoffs(), backoffs)
					}
				case 4:
					e.SynTimedOut()
				case 5:
					e.Spurious(rtt)
				}
				if rto := e.RTO(); rto < p.Bounds.Min || rto > p.Bounds.Max {
					t.Fatalf("%s: RTO %v, want %v to %v", p.Name, rto, p.Bounds.Min, p.Bounds.Max)
				}
				if srtt := e.SRTT(); srtt < 0 || srtt > 2*maxRTT {
					t.Fatalf("%s: SRTT %v", p.Name, srtt)
				}
				if v := e.RTTVar(); v < 0 || v > 2*maxRTT {
					t.Fatalf("%s: RTTVAR %v", p.Name, v)
				}
			}
		}
	})
}
