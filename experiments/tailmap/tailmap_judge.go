package tailmap

import (
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/pcaps/figure"
)

var words = experiments.Words{
	Question: "Which rule repairs a lost tail first: one timer, RTO restart, a timer per segment, or the probe?",
	Found: "Which repairs a lost tail first, a timer per segment or a probe, depends on RTT and loss: a probe from two " +
		"lost segments on and below 100 ms. This stack's default has both and is never later than either ({default}).",
}

// restartBelow is the least number of outstanding segments at which RTO restart subtracts no age
// (RFC 7765 §4).
const restartBelow = 4

// row is a lost tail in its setting.
type row struct {
	*Cell
	Tail
}

// law returns when a rule retransmits the first lost segment of a flight that left back to back. RFC
// 6298 §5; RFC 7765 §4: with fewer than four segments outstanding, the age of the earliest is
// subtracted; RFC 8985 §7.2: "If FlightSize is one segment: PTO += TLP.max_ack_delay", and no later
// than the timer.
func (r *row) law() time.Duration {
	switch {
	case r.Rule == perSegment || r.Rule == rtoRestart && r.Lost < restartBelow:
		return r.RTO
	case r.Rule == probe && r.Lost == 1:
		return min(3*r.RTT+maxAckDelay, r.RTT+r.RTO)
	case r.Rule == probe:
		return min(3*r.RTT, r.RTT+r.RTO)
	}
	return r.RTT + r.RTO
}

// gvisorLaw is that of gVisor: its probe timer starts at the ACK of the other segments, or at the
// transmission if there are none. It allows for a delayed ACK if one segment is in flight.
func (r *row) gvisorLaw() time.Duration {
	switch {
	case r.Lost > 1:
		return 3 * r.RTT
	case r.Segments == 1:
		return 2*r.RTT + maxAckDelay
	}
	return 3*r.RTT + maxAckDelay
}

func (r *row) late() time.Duration { return r.Retransmission - r.law() }

// rest returns the time from the first retransmission to the ACK of the whole tail, beyond so many
// round trips.
func (r *row) rest(trips int) time.Duration {
	return r.Complete - r.Retransmission - time.Duration(trips)*r.RTT
}

// rounds returns the round trips until a window has sent n segments. The window starts at one
// segment, doubles up to bound, and then grows by one. Without the bound that is ⌈log₂(n+1)⌉.
func rounds(n, bound int) (trips int) {
	for window := 1; n > 0; trips++ {
		n -= window
		if window*2 > bound {
			window = max(bound, window+1)
		} else {
			window *= 2
		}
	}
	return trips
}

// paced returns the round trips of a recovery that the SACK of a probe starts: RFC 9937 allows one
// segment for the SACK, and then twice as many in each round trip.
func paced(n int) (trips int) {
	trips = 1
	for sent := 1; sent < n; sent *= 2 {
		trips++
	}
	return trips
}

// tail is the first retransmissions of one tail under each rule.
type tail struct {
	*Cell
	lost  int
	first map[string]time.Duration
	age   time.Duration
}

func (t *tail) timers() time.Duration { return min(t.first[perSegment], t.first[probe]) }

func (t *tail) gain(rule string) time.Duration { return t.first[oneTimer] - t.first[rule] }

// probeFirst reports whether the probe should be earlier than a timer per segment.
func (t *tail) probeFirst() bool {
	switch {
	case t.Floor == floorLinux:
		return t.lost != 1 && t.RTT < 100*time.Millisecond
	case t.lost == 1:
		return t.RTT < 267*time.Millisecond
	}
	return t.RTT < 333333*time.Microsecond
}

// count is how many distances of rows from a law are off, and the farthest.
type count struct {
	off, all int
	far      time.Duration
}

// add counts a distance, which is off unless it is from 0 to less than a bound.
func (c *count) add(d, less time.Duration) {
	c.all++
	c.far = max(c.far, d.Abs())
	if d < 0 || d >= less {
		c.off++
	}
}

func (c *count) String() string {
	return fmt.Sprintf("%d of %d tails off; the farthest by %v", c.off, c.all, c.far)
}

func (c *count) none(text string) (experiments.Measure, experiments.Band) {
	return judge.Said("%v", c.String()).Judging(float64(c.off)), experiments.Exactly(0, "").Saying("%s", text)
}

// exact bounds distances that have to be 0.
const exact = time.Nanosecond

func judgeTails(_ *Plan, cells []Cell) (*experiments.Outcome, error) {
	var rows []row
	for i := range cells {
		for _, t := range cells[i].Tails {
			rows = append(rows, row{&cells[i], t})
		}
	}
	of := func(kind Kind) []row { return judge.Where(rows, func(r *row) bool { return r.Kind == kind }) }
	tails := tailsOf(slices.Concat(of(kindMap), of(kindAge)))
	out := &experiments.Outcome{}
	out.Judge(claimsOnRules(of(kindMap), of(kindTick))...)
	out.Judge(claimsOnTails(tails)...)
	out.Judge(claimOnGVisor(of(kindGVisor)))
	out.Figures = append(out.Figures, winnersFigure(tails))
	return out, nil
}

func tailsOf(rows []row) (all []tail) {
	type key struct {
		*Cell
		lost int
	}
	for _, g := range judge.By(rows, func(r *row) key { return key{r.Cell, r.Lost} }) {
		t := tail{g.Key.Cell, g.Key.lost, map[string]time.Duration{}, 0}
		for _, r := range g.Rows {
			t.first[r.Rule] = r.Retransmission
			if r.Rule == oneTimer {
				t.age = r.Age
			}
		}
		all = append(all, t)
	}
	return all
}

func claimsOnRules(rows, ticked []row) []experiments.Claim {
	var first, timers, timersBounded, probes, probesBounded, ticks count
	for _, r := range rows {
		if r.Rule == shipped {
			continue
		}
		first.add(r.late(), r.Tick)
		if r.Rule == probe {
			probes.add(r.rest(min(r.Lost, 2)), r.Tick)
			probesBounded.add(r.rest(paced(r.Lost)), r.Tick)
		} else {
			timers.add(r.rest(rounds(r.Lost, r.Lost)), r.Tick)
			timersBounded.add(r.rest(rounds(r.Lost, max(r.Lost/2, 2))), r.Tick)
		}
	}
	early := 0
	for _, r := range ticked {
		ticks.add(r.late(), r.Tick)
		if r.late() < 0 {
			early++
		}
	}
	claims := []experiments.Claim{
		{
			Name: "first-resend", Text: "each rule retransmits the first lost segment when its RFC says",
			Published: "RTT+RTO; RTO (RTO restart: below 4 lost); RTT+2·SRTT, alone +200 ms, at most RTT+RTO",
			Source:    "computed from RFC 6298 §5, RFC 7765 §4 and RFC 8985 §7.2", Tag: experiments.Computed,
		},
		{
			Name: "complete", Tag: experiments.Computed, Source: "computed from slow start (RFC 5681 §3.1)",
			Text:      "after a timeout the tail takes a round trip for each doubling of a window of one segment",
			Published: "RTT·⌈log₂(lost+1)⌉",
		},
		{
			Name: "complete-probe", Tag: experiments.Computed, Source: "computed from RFC 8985 §7",
			Text: "after a probe a tail takes two round trips, and a lone segment one", Published: "2·RTT; 1·RTT",
		},
		{
			Name: "ticks", Text: "a coarser tick makes every rule late by less than the tick, and never early",
			Source: "RFC 6298 §5", Tag: experiments.Standard,
		},
	}
	for i, c := range []struct {
		*count
		want string
	}{{&first, "none: within a tick of 1 µs, never early"}, {&timers, "none: exact within a tick"},
		{&probes, "none: exact within a tick"}, {&ticks, "none: 0 to less than a tick"}} {
		claims[i].Class = experiments.Law
		claims[i].Measured, claims[i].Expected = c.none(c.want)
	}
	claims[1].Expected = claims[1].Expected.OrDiffers(experiments.Whether(timersBounded.off == 0, "exact with ssthresh"))
	claims[2].Expected = claims[2].Expected.OrDiffers(
		experiments.Whether(probesBounded.off == 0, "exact with the rate of RFC 9937"))
	return claims
}

func claimsOnTails(tails []tail) []experiments.Claim {
	var own, ages, nothing count
	mapped, other := 0, 0
	for _, t := range tails {
		if t.Kind == kindMap {
			own.add(max(t.first[shipped]-t.timers(), 0), t.Tick)
			mapped++
			if t.first[perSegment] != t.first[probe] && t.probeFirst() != (t.first[probe] < t.first[perSegment]) {
				other++
			}
			continue
		}
		ages.add(t.gain(perSegment)-t.age, exact)
		if t.lost < restartBelow {
			ages.add(t.gain(rtoRestart)-t.age, exact)
		} else {
			nothing.add(t.gain(rtoRestart), exact)
		}
	}
	claims := []experiments.Claim{
		{
			Name: "default", Text: "this stack's default is never later than a timer per segment or a probe alone",
			Source: "design of the default policy", Tag: experiments.Computed,
		},
		{
			Name: "age", Tag: experiments.Computed,
			Text: "a timer per segment, and RTO restart below 4 segments, gain the age of the lost segment at the last " +
				"ACK", Source: "computed from RFC 6298 §5 and RFC 7765 §4",
		},
		{
			Name: "no-gain", Text: "RTO restart gains nothing from 4 lost segments on", Source: "RFC 7765 §4",
			Tag: experiments.Standard,
		},
		{
			Name: "regimes", Tag: experiments.Computed, Published: "100 ms; 333 ms; 267 ms; never",
			Text: "from two lost segments on the probe is earlier than a timer per segment below 100 ms; with a floor of 1 " +
				"s below 333 ms, and below 267 ms for a lone segment",
			Source:   "computed from RFC 6298 §2 and RFC 8985 §7.2",
			Measured: judge.Said("%d of %d on the other side", other, mapped).Judging(float64(other)),
			Expected: experiments.Exactly(0, "").Saying("none"),
		},
	}
	claims[0].Measured, claims[0].Expected = own.none("none: no tail repaired later than by both")
	claims[1].Measured, claims[1].Expected = ages.none("none: the age, to the nanosecond")
	claims[2].Measured, claims[2].Expected = nothing.none("none")
	for i := range claims {
		claims[i].Class = experiments.Law
	}
	return claims
}

func claimOnGVisor(rows []row) experiments.Claim {
	var law count
	for _, r := range rows {
		law.add(r.Retransmission-r.gvisorLaw(), time.Millisecond)
	}
	c := experiments.Claim{
		Name: "gvisor", Class: experiments.Law, Tag: experiments.FromPrint,
		Text: "gVisor's own TCP probes for a lone lost segment 2·SRTT + 200 ms after the last ACK, and 2·SRTT for " +
			"several",
		Published: "2·SRTT + 200 ms; 2·SRTT", Source: "gVisor, pkg/tcpip/transport/tcp/rack.go, schedulePTO",
	}
	c.Measured, c.Expected = law.none("none: within 1 ms")
	return c
}

// winnersFigure is the map of the rule that is first, with Linux's floor.
func winnersFigure(tails []tail) figure.Figure {
	const probeWins, bothTimers, segmentWins, alike = 0, 1, 2, 3
	m := &figure.Map{Classes: []string{"probe", "timer per segment and RTO restart", "timer per segment",
		"probe and timers alike"}}
	here := judge.Where(tails, func(t *tail) bool { return t.Kind == kindMap && t.Floor == floorLinux })
	for _, g := range judge.Along(here, func(t *tail) time.Duration { return t.RTT }) {
		m.Columns = append(m.Columns, experiments.Number(judge.Ms(g.Key)))
	}
	for _, g := range judge.Along(here, func(t *tail) int { return t.lost }) {
		m.Rows = append(m.Rows, fmt.Sprint(g.Key))
		var class []int
		var text []string
		for _, at := range judge.Along(g.Rows, func(t *tail) time.Duration { return t.RTT }) {
			f := at.Rows[0].first
			switch timer := min(f[perSegment], f[rtoRestart]); {
			case f[probe] <= timer && f[probe] == f[perSegment]:
				class = append(class, alike)
			case f[probe] <= timer:
				class = append(class, probeWins)
			case f[rtoRestart] <= f[perSegment]:
				class = append(class, bothTimers)
			default:
				class = append(class, segmentWins)
			}
			text = append(text, experiments.Number(judge.Ms(min(f[perSegment], f[rtoRestart], f[probe]))))
		}
		m.Class, m.Text = append(m.Class, class), append(m.Text, text)
	}
	return figure.Figure{
		Name: "winners-200ms", Title: "The rule that retransmits a lost tail first, floor of " + floorLinux,
		Caption: "The number in a cell is the time of the first retransmission, ms. For a lone lost segment the timer per " +
			"segment is first, because the probe allows for a delayed ACK. For more segments the probe is first while " +
			"RTT + 2·SRTT is below the timeout.",
		X: figure.Axis{Label: "round trip, ms"}, Y: figure.Axis{Label: "segments lost at the end"}, Map: m,
	}
}
