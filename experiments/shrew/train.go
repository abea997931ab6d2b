package shrew

import (
	"time"

	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/wheel"
)

// train is the packets of the pulses.
type train struct {
	begin  wheel.Time
	period time.Duration // 0 is no pulses
	gap    float64       // ns from one packet of a pulse to the next
	burst  int           // packets of a pulse
	size   uint32        // of a packet, in bytes
}

// train returns the pulses of a cell. The first begins within a period after the flow has settled,
// at a phase that depends on the seed.
func (p *Plan) train(c *Cell) train {
	t := train{
		begin:  wheel.Time(p.Settle).Add(time.Duration(testbed.Uniform(uint64(c.Seed), 0xe20) * float64(c.Period))),
		period: c.Period, gap: 8e9 * float64(p.Packet) / float64(p.PulseRate), burst: 1, size: uint32(p.Packet),
	}
	for t.since(t.burst) < c.Pulse {
		t.burst++
	}
	return t
}

// since returns the time from the begin of a pulse to its i-th packet, from 0.
func (t *train) since(i int) time.Duration { return time.Duration(float64(i) * t.gap) }

// at returns the time of the n-th packet of all, from 0.
func (t *train) at(n int) wheel.Time {
	return t.begin.Add(time.Duration(n/t.burst)*t.period + t.since(n%t.burst))
}
