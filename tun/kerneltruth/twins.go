package kerneltruth

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"tcpwheel/internal/quantity"
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
// with other floors of its timeout too. Since 6.17 no setting turns RACK off.
func Settings() []Setting {
	setting := func(name string, floor time.Duration, probes bool) Setting {
		p, err := tcptimers.NewProfile("linux")
		if err != nil {
			panic("BUG: " + err.Error())
		}
		x := Setting{name, p, map[string]string{"tcp_rto_min_us": strconv.FormatInt(floor.Microseconds(), 10)}}
		x.Policy.Bounds.Min, x.Policy.TLP = floor, probes
		if !probes {
			x.Sysctls["tcp_early_retrans"] = "0"
		}
		return x
	}
	return []Setting{
		setting("linux-jiffies", 200*time.Millisecond, true),
		setting("linux-jiffies-tlp", 200*time.Millisecond, false),
		setting("linux-jiffies-tlp, floor 300ms", 300*time.Millisecond, false),
		setting("linux-jiffies-tlp, floor 500ms", 500*time.Millisecond, false),
	}
}

// Twin draws a connection whose path loses these transmissions of a, whatever the settings are. It
// is the same for each seed.
func Twin(seed uint64, lost sim.LostRanges) Scenario {
	r := rng{rand.New(rand.NewPCG(seed, 0x7477696e))}
	rtt := time.Duration(r.logUniform(4, 60) * float64(time.Millisecond))
	s := Scenario{Name: fmt.Sprintf("twin-%d", seed), Seed: seed, Limit: quantity.DurationText(15 * time.Second)}
	plain := func() sim.LinkConfig { return sim.LinkConfig{Delay: rtt / 4} }
	s.Near, s.Far = Path{plain(), plain()}, &Path{plain(), plain()}
	lossy := &s.Near
	if r.chance(0.5) {
		lossy = s.Far
	}
	lossy.AToB.Loss = sim.Losses{lost}
	// Short writes, so that most losses are at an end and wait for a timer.
	pause := quantity.DurationText(time.Duration(r.logUniform(50, 200) * float64(time.Millisecond)))
	size := int(r.logUniform(200, 6000))
	if r.chance(0.5) {
		s.Turns = []Turn{{From: "b", Bytes: 200, Pause: pause}, {From: "a", Bytes: size}}
		s.Rounds = 40
	} else {
		s.Turns = []Turn{{From: "a", Bytes: size, Pause: pause, Times: 20}, {From: "b", Bytes: 1}}
		s.Rounds = 2
	}
	return s
}
