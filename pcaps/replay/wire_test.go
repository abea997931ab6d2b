package replay

import (
	"testing"

	"tcpwheel/netstack/sim"
	"tcpwheel/tcptimers"
)

// TestOpenLoop is V1: an engine that is fed what an end of the simulator received sends what that
// sent, at the same times.
func TestOpenLoop(t *testing.T) {
	n, first, right, again, againRight := 0, 0, 0, 0, 0
	for _, policy := range tcptimers.PolicyNames() {
		for _, rtt := range identityRTTs {
			for _, app := range apps {
				n++
				s := scenario{
					policy: policy, rtt: rtt, rate: 20_000_000, loss: sim.Losses{sim.Bernoulli{P: 0.03}}, client: app.client, server: app.server,
					seed: uint64(n), stamps: n%2 == 0,
				}
				_, all, errs := recorded(t, s.capture(t))
				if len(all) != 1 || errs[0] != nil {
					t.Fatalf("%d connections, errors %v", len(all), errs)
				}
				out, err := all[0].Wire(0, Options{Policy: tcptimers.MustPolicy(policy), Own: true})
				if err != nil {
					t.Fatal(err)
				}
				first, right = first+out.First, right+out.FirstRight
				again, againRight = again+out.Retransmissions, againRight+out.RetransmissionsRight
				if out.FirstRight*20 < out.First*19 {
					t.Errorf("%s, %v, %s: %d of %d first transmissions are right; first %v", policy, rtt, app.name, out.FirstRight, out.First, out.Divergence)
				}
			}
		}
	}
	t.Logf("%d of %d first transmissions and %d of %d retransmissions are within 1 ms", right, first, againRight, again)
	if right*20 < first*19 || againRight*20 < again*19 {
		t.Errorf("want 95 %% of each")
	}
}
