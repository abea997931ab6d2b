package tcptimers

import (
	"fmt"
	"math"
	"time"

	"tcpwheel/wheel"
)

// Phase is how the tick at which timers expire lies to their start.
type Phase uint8

const (
	// PhaseShared is one tick for all timers, at Policy.Origin + k·Policy.Tick. A timer expires at the first that is not
	// before its deadline: late by less than a tick, and never early.
	PhaseShared Phase = iota

	// PhaseOwn is a tick of its own for each timer: its interval is rounded up to whole ticks, and counts from its start.
	// The wheel, whose ticks are of a microsecond then, adds less than that.
	PhaseOwn

	// PhaseCountdown is 4.4BSD's sweep over all connections, at Policy.Origin + k·Policy.Tick, which counts each timer down
	// by 1: a timer of n ticks expires at the n-th sweep after its start, in more than (n-1) and up to n ticks.
	// DEVIATION RFC 6298 §5, MUST: so it may be early by less than a tick. 4.4BSD's estimator has that tick to spare.
	PhaseCountdown

	// PhaseJiffies is Linux's wheel of timers (kernel/time/timer.c since 4.8), with ticks that all share at Policy.Origin + k·Policy.Tick,
	// its jiffies. A timer's interval is rounded up to ticks, and counts from the last tick before its start. It expires at the first
	// tick after that, or if it is of 63 ticks and more, at the first multiple after that of
	//
	//	ticks     multiple of    at HZ 250
	//	63        8              32 ms, from 252 ms on
	//	504       64             256 ms, from 2.016 s on
	//	4032      512            2.048 s, from 16.128 s on
	//
	// and so on in steps of 8: late by more than nothing and up to a tick, or up to a seventh of the interval.
	PhaseJiffies

	phases
)

var phaseNames = [phases]string{"shared", "own", "countdown", "jiffies"}

// String returns "shared", "own", "countdown" or "jiffies".
func (p Phase) String() string {
	if p >= phases {
		return fmt.Sprintf("Phase(%d)", uint8(p))
	}
	return phaseNames[p]
}

// Linux's wheel: LVL_DEPTH levels, each coarser than the one before by 1<<LVL_CLK_SHIFT, and timers of LVL_SIZE-1 slots and more go to
// the next.
const (
	jiffyLevels = 9
	jiffyStep   = 8
	jiffySlots  = 63
)

// ownTick is the tick of the wheel under PhaseOwn.
const ownTick = time.Microsecond

// Measure returns what the clock that measures round-trip times makes of one: both instants are rounded down to its tick,
// Policy.RTTTick, as reading a clock does, so that the result is the number of ticks crossed. It is off by less than a
// tick either way, and right on average over the phases. A clock that stepped back counts as no time passing.
func (p *Policy) Measure(sent, acked wheel.Time) time.Duration {
	if acked.Before(sent) {
		return 0
	}
	if p.RTTTick <= 0 {
		return acked.Sub(sent)
	}
	return floorTo(acked, p.Origin, p.RTTTick).Sub(floorTo(sent, p.Origin, p.RTTTick))
}

// Deadline returns the instant at which a timer expires that is started now for the interval, as the phase has it. It is
// an instant of the wheel that NewWheel makes, which rounds no further. An interval below 0 counts as 0, and under
// PhaseCountdown one below a tick as a tick. Instants past the range of wheel.Time are held at its end.
func (p *Policy) Deadline(start wheel.Time, interval time.Duration) wheel.Time {
	interval = max(interval, 0)
	switch p.Phase {
	case PhaseOwn:
		return ceilTo(start.Add(roundUp(interval, p.Tick)), p.Origin, ownTick)
	case PhaseCountdown:
		return floorTo(start, p.Origin, p.Tick).Add(max(roundUp(interval, p.Tick), p.Tick))
	case PhaseJiffies:
		interval = roundUp(interval, p.Tick)
		multiple := p.Tick
		for level := 1; level < jiffyLevels && interval >= jiffySlots*multiple; level++ {
			multiple *= jiffyStep
		}
		return floorTo(floorTo(start, p.Origin, p.Tick).Add(interval), p.Origin, multiple).Add(multiple)
	}
	return ceilTo(start.Add(interval), p.Origin, p.Tick)
}

// WheelTick returns the tick of the wheel that NewWheel makes: the policy's own, or a finer one that the deadlines of
// PhaseOwn, or those of the sweep that sends delayed ACKs, fall on too.
func (p *Policy) WheelTick() time.Duration {
	tick := p.Tick
	if p.Phase == PhaseOwn {
		tick = min(tick, ownTick)
	}
	if p.DelAck.Heartbeat > 0 {
		tick = gcd(tick, p.DelAck.Heartbeat)
	}
	return tick
}

// NewWheel makes a facility of the named scheme for timers under the policy, with ticks at Policy.Origin + k·WheelTick.
// origin is the instant at which its time begins: no deadline lies before it. count makes it count its operations.
func (p *Policy) NewWheel(scheme string, origin wheel.Time, count bool) (wheel.Facility, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	tick := p.WheelTick()
	return wheel.New(scheme, wheel.Config{Tick: tick, Origin: floorTo(origin, p.Origin, tick), Count: count})
}

// floorTo returns the last instant origin + k·tick that is not after at.
func floorTo(at, origin wheel.Time, tick time.Duration) wheel.Time {
	d := at.Sub(origin)
	rest := d % tick
	if rest < 0 {
		rest += tick
	}
	return at.Add(-rest)
}

// ceilTo returns the first instant origin + k·tick that is not before at, or the end of time.
func ceilTo(at, origin wheel.Time, tick time.Duration) wheel.Time {
	down := floorTo(at, origin, tick)
	if down == at {
		return at
	}
	return down.Add(tick)
}

// roundUp returns the first multiple of tick that is not below d ≥ 0, or the longest span.
func roundUp(d, tick time.Duration) time.Duration {
	rest := d % tick
	if rest == 0 {
		return d
	}
	if d > math.MaxInt64-tick {
		return math.MaxInt64
	}
	return d - rest + tick
}

func gcd(a, b time.Duration) time.Duration {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
