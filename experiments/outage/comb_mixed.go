package outage

import (
	"fmt"
	"strings"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/tcptimers"
)

// combMixed judges and draws connections whose timeouts are 3, 4 and 5 ticks.
func combMixed(p *combPlan, c *combCell, out *experiments.Outcome) {
	slow := tcptimers.SlowTick
	var teeth []string
	at := map[time.Duration]int{}
	for _, b := range c.Comb {
		when := time.Duration(b[0]) * time.Millisecond
		if when > 5*slow {
			break
		}
		at[when] += b[1]
		teeth = append(teeth, fmt.Sprintf("%d at %v", b[1], when))
	}
	holds := c.RTOs == 3 && c.Bins == 3 && len(at) == 3
	for ticks := 3; ticks <= 5; ticks++ {
		n := at[time.Duration(ticks)*slow]
		holds = holds && n >= p.Connections/3 && n <= p.Connections/3+1
	}
	out.Claim(experiments.Claim{Name: "three-teeth", Class: experiments.Law, Text: "connections with timeouts of 3, 4 and 5 ticks make three teeth, a tick apart, of a third each",
		Source: "definition of the timers", Tag: experiments.Computed, Measured: experiments.MeasuredText("%s", strings.Join(teeth, ", ")),
		Expected: experiments.Whether(holds, "a third of %d at each of 3, 4 and 5 ticks", p.Connections), Otherwise: "a sample that crosses a tick leaves another timeout"})
	const from, to, bin = 1400, 2600, 10 // ms
	first := figure.Series{Name: "4.4BSD's sweep", Kind: figure.Bars}
	for ms := from; ms <= to; ms += bin {
		sum := 0
		for i := range bin {
			sum += at[time.Duration(ms+i)*time.Millisecond]
		}
		first.Add(float64(ms), float64(sum))
	}
	out.Figures = append(out.Figures, figure.Figure{
		Name: "three-teeth", Title: "Timeouts of 3, 4 and 5 ticks make three teeth",
		X: figure.Axis{Label: "since the outage began, ms", Lo: from, Hi: to}, Y: figure.Axis{Label: "retransmissions in 10 ms"},
		Caption: "A third of the connections has its last round trip cross a tick before the outage, which leaves 4.4BSD's timeout at 5 ticks; another third had one crossed earlier, which leaves it at 4. A sample within a tick brings it back to 3.",
		Series:  []figure.Series{first},
	})
}
