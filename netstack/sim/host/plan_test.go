package host

import (
	"testing"
	"time"

	"tcpwheel/netstack/sim"
)

func testPlan() FlowsConfig {
	return FlowsConfig{
		Seed: 3, Flows: 4, Bytes: 200_000, Stagger: 10 * time.Millisecond, Duration: 20 * time.Second,
		Link: sim.LinkConfig{
			Rate: 10_000_000, Delay: 10 * time.Millisecond, Queue: sim.Limit{Packets: 50}, Loss: sim.Losses{sim.Bernoulli{P: 0.02}},
		},
		Policy: "per-segment", Control: "newreno", Verify: true,
	}
}

func TestPlanCheck(t *testing.T) {
	for _, test := range []struct {
		change func(*FlowsConfig)
		want   string
	}{
		{func(*FlowsConfig) {}, ""},
		{func(p *FlowsConfig) { p.Flows = 0 }, "host: flows 0, want 1 to 1000000"},
		{func(p *FlowsConfig) { p.Flows = 30000 }, "host: flows 30000, want 28231 at most for each of 1 pairs"},
		{func(p *FlowsConfig) { p.Pairs = -1 }, "host: pairs -1, want 0 to 4096"},
		{func(p *FlowsConfig) { p.Duration = 0; p.Stagger = 0 }, "host: duration 0s, want more than 0s to 8760h"},
		{func(p *FlowsConfig) { p.Stagger = time.Hour }, "host: stagger 1h0m0s, want 0s to the duration, 20s"},
		{func(p *FlowsConfig) { p.Rexmit = "none" }, `tcptimers: policy "per-segment": rexmit "none", want one of per-segment, restart, rto-restart`},
		{func(p *FlowsConfig) { p.Control = "none" }, `tcp: policy "per-segment": control "none", want one of newreno, cubic, vegas`},
		{func(p *FlowsConfig) { p.MTU = 50 }, "tcp: MTU 50, want 88..131072"},
		{func(p *FlowsConfig) { p.Buffer = -1 }, "tcp: recv-buffer 0, want 1 to 1073725440"},
		{func(p *FlowsConfig) { p.Link.Delay = -1 }, "link: sim: delay -1ns, want 0s to 24h"},
	} {
		p := testPlan()
		test.change(&p)
		got := ""
		if err := p.Check(); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%+v: %q, want %q", p, got, test.want)
		}
	}
}
