package kerneltruth

import (
	"fmt"
	"math/rand/v2"
	"time"

	"tcpwheel/netstack/sim"
)

// Settings are what kernels can be told about their timers, by the policy of package tcptimers that
// comes nearest.
var Settings = []struct {
	Policy  string
	Sysctls map[string]string
}{
	{"linux", nil},
	{"linux-tlp", map[string]string{"tcp_early_retrans": "0"}},
	{"linux-rack", map[string]string{"tcp_recovery": "0"}},
	{"linux-tlp-rack", map[string]string{"tcp_early_retrans": "0", "tcp_recovery": "0"}},
}

// Twin draws a connection whose path loses these transmissions of a, whatever the settings are. It
// is the same for each seed.
func Twin(seed uint64, lost sim.Ranges) Scenario {
	r := rng{rand.New(rand.NewPCG(seed, 0x7477696e))}
	rtt := time.Duration(r.logUniform(4, 100) * float64(time.Millisecond))
	s := Scenario{Name: fmt.Sprintf("twin-%d", seed), Seed: seed, Limit: sim.DurationText(15 * time.Second)}
	plain := func() sim.LinkConfig { return sim.LinkConfig{Delay: rtt / 4} }
	s.Near, s.Far = Path{plain(), plain()}, &Path{plain(), plain()}
	lossy := &s.Near
	if r.chance(0.5) {
		lossy = s.Far
	}
	lossy.AToB.Loss = sim.Losses{lost}
	pause := sim.DurationText(time.Duration(r.logUniform(20, 300) * float64(time.Millisecond)))
	end := Turn{From: "b", Bytes: 1}
	switch r.IntN(3) {
	case 0:
		s.Turns, s.Rounds = []Turn{{From: "a", Bytes: int(r.logUniform(3e3, 4e4)), Pause: pause, Times: 8}, end}, 2
	case 1:
		s.Turns, s.Rounds = []Turn{{From: "a", Bytes: 200 + r.IntN(1200), Pause: pause, Times: 20}, end}, 2
	case 2:
		s.Turns, s.Rounds = []Turn{{From: "b", Bytes: 200, Pause: pause / 4}, {From: "a", Bytes: int(r.logUniform(1e3, 3e4))}}, 15
	}
	return s
}
