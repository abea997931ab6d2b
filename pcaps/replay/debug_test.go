package replay

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"tcpwheel/netstack/sim"
	"tcpwheel/tcptimers"
)

func TestDebug(t *testing.T) {
	want := os.Getenv("CASE")
	if want == "" {
		t.Skip()
	}
	around, _ := strconv.Atoi(os.Getenv("AROUND"))
	n := 0
	for _, policy := range tcptimers.PolicyNames() {
		for _, rtt := range identityRTTs {
			for _, app := range apps {
				n++
				name := fmt.Sprintf("%s/%v/%s", policy, rtt.Round(1e6), app.name)
				if name != want {
					continue
				}
				s := scenario{
					policy: policy, rtt: rtt, loss: sim.Losses{sim.Bernoulli{P: 0.03}}, client: app.client, server: app.server,
					seed: uint64(n), stamps: n%2 == 0,
				}
				_, all, _ := scripts(t, s.capture(t))
				out, _ := all[0].Run(Options{Policy: tcptimers.MustPolicy(policy), OwnACKs: true})
				for _, e := range all[0].Ends {
					t.Logf("%+v", e)
				}
				t.Logf("%+v %+v", all[0].Loss, out)
				a, b := inOrder(all[0].Log()), inOrder(out.Log())
				for i := max(around-12, 0); i < around+8; i++ {
					var x, y *Event
					if i < len(a) {
						x = &a[i]
					}
					if i < len(b) {
						y = &b[i]
					}
					t.Logf("%d %-50v %v", i+1, x, y)
				}
			}
		}
	}
}

func TestTries(t *testing.T) {
	s := scenario{policy: "rfc7765", rtt: identityRTTs[0], loss: sim.Losses{sim.Bernoulli{P: 0.03}}, client: apps[0].client, server: apps[0].server, seed: 25}
	c, all, _ := scripts(t, s.capture(t))
	for _, r := range all[0].Ways[0].Ranges {
		if len(r.Tries) > 1 {
			t.Log(r)
		}
	}
	for _, e := range c[0].Flows[0].Episodes {
		for _, r := range e.Rexmits {
			t.Log(r)
		}
	}
}
