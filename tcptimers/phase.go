package tcptimers

import (
	"math"
	"time"

	"tcpwheel/wheel"
)

// Phase is how the ticks at which timers expire relate to the start of a timer.
type Phase uint8

const (
	// PhaseShared is one tick for all timers, at Policy.Origin + k·Policy.Tick. A timer expires
	// at the first tick not before its deadline: late by less than a tick, and never early.
	PhaseShared Phase = iota

	// PhaseOwn is a tick of its own for each timer: its interval rounds up to whole ticks,
	// counted from its start. The wheel then has ticks of a microsecond and adds less than that.
	PhaseOwn

	// PhaseCountdown is 4.4BSD's sweep over all connections, at Policy.Origin + k·Policy.Tick,
	// which counts each timer down by 1. A timer of n ticks expires at the n-th sweep after its
	// start: after more than n-1 and at most n ticks. DEVIATION RFC 6298 §5, MUST: so it may be
	// early by less than a tick. 4.4BSD's estimator allows for that tick.
	PhaseCountdown

	// PhaseJiffies is Linux's timer wheel (kernel/time/timer.c since 4.8), whose jiffies are
	// shared ticks at Policy.Origin + k·Policy.Tick. A timer's interval rounds up to ticks, and
	// counts from the last tick before its start. It expires at the first tick after that. An
	// interval of 63 ticks or more expires at the first multiple after that of
	//
	//	ticks     multiple of    at HZ 250
	//	63        8              32 ms, from 252 ms on
	//	504       64             256 ms, from 2.016 s on
	//	4032      512            2.048 s, from 16.128 s on
	//
	// and so on in steps of 8. So a timer is late by at most a tick, or by at most a seventh of
	// its interval.
	PhaseJiffies

	phases
)

var phaseNames = [phases]string{"shared", "own", "countdown", "jiffies"}

// Names returns the names of the phases, in order.
func (Phase) Names() []string { return phaseNames[:] }

// String returns "shared", "own", "countdown" or "jiffies".
func (p Phase) String() string { return nameOf("Phase", phaseNames[:], p) }

// Linux's wheel: LVL_DEPTH levels, each coarser than the previous by 1<<LVL_CLK_SHIFT. Timers of
// LVL_SIZE-1 slots or more go to the next level.
const (
	jiffyLevels = 9
	jiffyStep   = 8
	jiffySlots  = 63
)

// ownTick is the tick of the wheel under PhaseOwn.
const ownTick = time.Microsecond

// Measure returns a round-trip time as the measuring clock reads it: both instants round down to
// its tick, Policy.RTTTick, so the result is the number of ticks crossed. The error is less than
// a tick either way, and 0 on average over the phases. A clock that stepped back counts as no
// time passing.
func (p *Policy) Measure(sent, acked wheel.Time) time.Duration {
	if acked.Before(sent) {
		return 0
	}
	if p.RTTTick <= 0 {
		return acked.Sub(sent)
	}
	return floorTo(acked, p.Origin, p.RTTTick).Sub(floorTo(sent, p.Origin, p.RTTTick))
}

// ReorderDeadline returns when the timer of RACK's reordering window expires.
func (p *Policy) ReorderDeadline(now wheel.Time, timeout time.Duration) wheel.Time {
	at := p.Deadline(now, timeout+p.ProbeSlack)
	if p.LateReorder {
		at = p.Deadline(at, p.Tick)
	}
	return at
}

// Deadline returns the instant at which a timer started at start for interval expires, by the
// policy's phase. It is a tick of the wheel that NewWheel makes, which rounds no further. An
// interval below 0 counts as 0, and under PhaseCountdown one below a tick counts as a tick. The
// result is clamped to the range of wheel.Time.
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

// WheelTick returns the tick of the wheel that NewWheel makes: the policy's own, or a finer one
// that also contains the deadlines of PhaseOwn and the beats of DelAck.Heartbeat.
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

// NewWheel makes a facility of the named scheme for timers under the policy, with ticks at
// Policy.Origin + k·WheelTick. Its time begins at origin, rounded down to a tick; no deadline may
// lie before that. count is wheel.Config.Count.
func (p *Policy) NewWheel(scheme string, origin wheel.Time, count bool) (wheel.Facility, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	cfg := p.WheelConfig(origin)
	cfg.Count = count
	return wheel.New(scheme, cfg)
}

// WheelConfig returns the tick and the origin of a wheel for a valid policy: the last of the
// policy's ticks not after origin.
func (p *Policy) WheelConfig(origin wheel.Time) wheel.Config {
	tick := p.WheelTick()
	return wheel.Config{Tick: tick, Origin: floorTo(origin, p.Origin, tick)}
}

// floorTo returns the last instant origin + k·tick not after at.
func floorTo(at, origin wheel.Time, tick time.Duration) wheel.Time {
	d := at.Sub(origin)
	rest := d % tick
	if rest < 0 {
		rest += tick
	}
	return at.Add(-rest)
}

// ceilTo returns the first instant origin + k·tick not before at, or the end of time.
func ceilTo(at, origin wheel.Time, tick time.Duration) wheel.Time {
	down := floorTo(at, origin, tick)
	if down == at {
		return at
	}
	return down.Add(tick)
}

// roundUp returns the first multiple of tick not below d ≥ 0, or the longest span.
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
