package damage

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tcpwheel/wheel"
)

// stepEvery is the mean number of packets between two steps of a clock.
const stepEvery = 100

// stepClock steps the clock forward and back, in turn.
func stepClock(j *job, p *Packet) error {
	ahead, _ := j.state.(bool)
	if j.rng.IntN(stepEvery) == 0 {
		ahead = !ahead
		j.state = ahead
	}
	if ahead {
		p = j.shift(p, p.Time.Add(j.value.span))
	}
	return j.out(p)
}

// driftParam reads a drift in millionths.
func driftParam(text string) (p param, err error) {
	const most = 10_000
	number, ok := strings.CutSuffix(text, "ppm")
	if p.share, err = strconv.ParseFloat(number, 64); err != nil || !ok || !(p.share >= -most && p.share <= most) {
		return p, errWant(fmt.Sprintf("-%dppm to %dppm", most, most))
	}
	p.share /= 1e6
	return p, nil
}

// driftClock has the clock run fast since the first packet.
func driftClock(j *job, p *Packet) error {
	if j.state == nil {
		j.state = p.Time
	}
	since := p.Time.Sub(j.state.(wheel.Time))
	return j.out(j.shift(p, p.Time.Add(time.Duration(j.value.share*float64(since)))))
}

// coarseClock rounds stamps down.
func coarseClock(j *job, p *Packet) error {
	return j.out(j.shift(p, p.Time-p.Time%wheel.Time(j.value.span)))
}

// delaySide captures one direction late.
func delaySide(j *job, p *Packet) error {
	if p.Segment == nil || p.side() == 0 {
		return j.pass(p)
	}
	j.later(j.shift(p, p.Time.Add(j.value.span)))
	return j.release(p.Time)
}
