package replay

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/tcptimers"
)

// identityRTTs are odd, so that no two things happen at one instant by chance.
var identityRTTs = []time.Duration{4_020_304, 40_302_010, 180_706_050}

// lostDuplicate is the scenario of TestIdentity that cannot be replayed exactly: the network loses
// a spurious retransmission, and no ACK in the capture shows that it did.
const lostDuplicate = "per-segment/4ms/bursts"

// TestIdentity is V0: a capture of the simulator, replayed under the timers that it was made with,
// gives the same packets at the same nanoseconds.
func TestIdentity(t *testing.T) {
	n, same := 0, 0
	for _, policy := range tcptimers.PolicyNames() {
		for _, rtt := range identityRTTs {
			for _, app := range apps {
				n++
				s := scenario{
					policy: policy, rtt: rtt, loss: sim.Losses{sim.Bernoulli{P: 0.03}}, client: app.client, server: app.server,
					seed: uint64(n), stamps: n%2 == 0,
				}
				name := fmt.Sprintf("%s/%v/%s", policy, rtt.Round(time.Millisecond), app.name)
				_, all, errs := recorded(t, s.capture(t))
				if len(all) != 1 || errs[0] != nil {
					t.Errorf("%s: %d connections, errors %v", name, len(all), errs)
					continue
				}
				out, err := all[0].Run(Options{Policy: tcptimers.MustPolicy(policy), Own: true, log: true})
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				if d := diverge(slices.Collect(all[0].captured()), out.log); d == nil {
					same++
				} else if name != lostDuplicate {
					t.Errorf("%s: %v", name, d)
				}
			}
		}
	}
	t.Logf("%d of %d captures are replayed to the nanosecond", same, n)
}
