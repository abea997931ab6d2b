package counterfactual

import (
	"fmt"
	"strings"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/stat"
	"tcpwheel/pcaps/replay"
)

// The bands are those of docs/captures.md, which were set before there were captures.
const (
	bandsSource = "bands set for this project beforehand, docs/captures.md"
	bandsText   = "95 % of detections right, recovery times 5 % off in the median and 10 % for 95 %"
)

func claims(p *Plan, cells []Cell, out *experiments.Outcome) {
	found := map[string]*replay.Validation{}
	for i := range cells {
		if cells[i].Validation != nil {
			found[cells[i].Check] = cells[i].Validation
		}
	}
	for _, c := range []struct{ name, check, text string }{
		{"as-captured", asCaptured, "a replay under the kernels' timers comes near to what the kernels did"},
		{"hold-out", holdOut, "and so it does with parameters of other connections"},
	} {
		v := found[c.check]
		if v == nil {
			continue
		}
		verdict := experiments.NotReproduced
		switch {
		case v.Passes():
			verdict = experiments.Reproduced
		case v.Median <= 0.05:
			verdict = experiments.Differs // right for most of them
		}
		out.Claim(experiments.Claim{
			Name: c.name, Text: c.text, Source: bandsSource, Tag: experiments.Computed, Measured: experiments.MeasuredText("%s", tells(v)),
			Expected:  experiments.Decided(verdict, bandsText),
			Otherwise: "congestion control in recovery, and what the kernel's timers round to, are a model's: see Replays in docs/captures.md",
		})
	}
	if v, floor, bsd := found[asCaptured], found[otherFloor], found[otherBSD]; v != nil && floor != nil && bsd != nil {
		verdict := experiments.NotReproduced
		switch worse := floor.Median > v.Median && bsd.Median > v.Median; {
		case !floor.Passes() && !bsd.Passes() && worse && v.Passes():
			verdict = experiments.Reproduced
		case !floor.Passes() && !bsd.Passes() && worse:
			verdict = experiments.Differs
		}
		out.Claim(experiments.Claim{
			Name: "negative-control", Text: "timers that the kernels do not have are told from theirs", Source: bandsSource, Tag: experiments.Computed,
			Measured:  experiments.MeasuredText("floor: %s; 4.4BSD: %s", tells(floor), tells(bsd)),
			Expected:  experiments.Decided(verdict, "both outside of the bands, where the kernels' are within"),
			Otherwise: "the others are further off, but the kernels' own timers do not keep the bands either, so that keeping them tells nothing yet",
		})
	}
	signs(p, cells, out)
}

// tells is what a validation has found, in a line.
func tells(v *replay.Validation) string {
	return fmt.Sprintf("timeouts %s, probes %s, by ACKs %s, recovery times %s %% off in the median, p95 %s %%", of(v.TimeoutsRight, v.Timeouts),
		of(v.ProbesRight, v.Probes), of(v.FastRight+v.ReordersRight, v.Fast+v.Reorders), experiments.Number(100*v.Median), experiments.Number(100*v.P95))
}

// signs claims what this project is for: that its own timers save time, and that those of 4.4BSD would have cost it.
func signs(p *Plan, cells []Cell, out *experiments.Outcome) {
	for _, c := range []struct {
		name, policy, text, expected string
		sign                         float64
	}{
		{"per-segment-saves", "per-segment@1ms", "a timer for each segment on a tick of 1 ms saves recovery time over the kernels' own", "above 0 by each key", 1},
		{"bsd-costs", "bsd", "4.4BSD's timers would have cost recovery time", "below 0 by each key", -1},
	} {
		i := p.index(c.policy)
		if i < 0 {
			continue
		}
		by, ok := savings(cells, i, atSender)
		if !ok {
			continue
		}
		sure, right := 0, 0
		var texts []string
		for k, in := range by {
			lo, hi := min(c.sign*in.Lo, c.sign*in.Hi), c.sign*in.Value
			if lo > 0 {
				sure++
			}
			if hi > 0 {
				right++
			}
			texts = append(texts, fmt.Sprintf("by %s %s", replay.Key(k), percent(in)))
		}
		verdict := experiments.NotReproduced
		switch {
		case sure == replay.Keys:
			verdict = experiments.Reproduced
		case right > 0 && c.sign*by[replay.ByRange].Value > 0:
			verdict = experiments.Differs
		}
		out.Claim(experiments.Claim{
			Name: c.name, Text: c.text, Source: "aim of this project", Tag: experiments.Computed,
			Measured: experiments.MeasuredText("%s", strings.Join(texts, ", ")), Expected: experiments.Decided(verdict, c.expected+", with its interval"),
			Otherwise: signsWhy(cells, i),
		})
	}
}

// signsWhy says on which losses of which connections the keys go, and what becomes of those that all have.
func signsWhy(cells []Cell, policy int) string {
	losses, conns, sooner, late := 0, 0, 0, 0
	var told [replay.Keys]int
	var shared [replay.Keys][]pair
	for i := range cells {
		c := &cells[i]
		if c.Check != "" || !atSender(c) {
			continue
		}
		seen := map[int]bool{}
		for _, l := range c.Losses {
			if !l.Count {
				continue
			}
			seen[l.Conn] = true
			losses++
			all := true
			for k, is := range l.By[policy] {
				if is >= 0 {
					told[k]++
				} else {
					all = false
				}
			}
			by := l.By[policy]
			if by[replay.ByRange] >= 0 && by[replay.ByRange] < l.Took && by[replay.ByTime] >= 0 {
				sooner++
				if by[replay.ByTime] >= l.Took {
					late++
				}
			}
			if all {
				for k, is := range by {
					shared[k] = append(shared[k], pair{l.Took, is})
				}
			}
		}
		conns += len(seen)
	}
	list := func(of func(k int) string) string {
		var all []string
		for k := range replay.Keys {
			all = append(all, fmt.Sprintf("%s by %s", of(k), replay.Key(k)))
		}
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("there are %d losses of %d connections, of which the captures tell %s; the others are not repaired before the first fate that had to be guessed. Of the %d that all "+
		"keys have, it saves %s. By time, what was lost stays lost until something was captured to arrive: of %d losses that are repaired sooner by range, %d are not by time",
		losses, conns, list(func(k int) string { return fmt.Sprint(told[k]) }), len(shared[0]),
		list(func(k int) string { return experiments.Number(100*saved(shared[k])) + " %" }), sooner, late)
}

func percent(in stat.Interval) string {
	return fmt.Sprintf("%s %% (%s to %s)", experiments.Number(100*in.Value), experiments.Number(100*in.Lo), experiments.Number(100*in.Hi))
}
