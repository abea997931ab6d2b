package kerneltruth

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/tcptimers"
)

// Setting is what kernels are told about their timers.
type Setting struct {
	Name    string
	Policy  tcptimers.Policy // the nearest one
	Sysctls map[string]string
}

// Settings returns the settings that twins run under: Linux as it is, without tail loss probes, and
// with other floors of its timeout. Since 6.17 no setting turns RACK off.
func Settings() []Setting {
	linux := func(change func(p *tcptimers.Policy)) tcptimers.Policy {
		p, err := tcptimers.NewProfile("linux-jiffies")
		if err != nil {
			panic("BUG: " + err.Error())
		}
		change(&p)
		return p
	}
	floor := func(d time.Duration) Setting {
		return Setting{"linux-jiffies, floor " + d.String(), linux(func(p *tcptimers.Policy) {
			p.Bounds.Min, p.MaxAckDelay = d, d // tcp_schedule_loss_probe adds it for a lone segment
		}), map[string]string{"tcp_rto_min_us": strconv.FormatInt(d.Microseconds(), 10)}}
	}
	return []Setting{
		{"linux-jiffies", linux(func(*tcptimers.Policy) {}), nil},
		{"linux-jiffies-tlp", linux(func(p *tcptimers.Policy) { p.TLP = false }), map[string]string{"tcp_early_retrans": "0"}},
		floor(300 * time.Millisecond),
		floor(500 * time.Millisecond),
	}
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
