package counterfactual

import (
	"fmt"
	"slices"
	"strings"

	"tcpwheel/experiments"
	"tcpwheel/pcaps/replay"
	"tcpwheel/wheel/stat"
)

// The bands of docs/captures.md were set before there were captures.
const (
	bandsSource = "bands set for this project beforehand, docs/captures.md"
	bandsText   = "95 % of detections right, recovery times 5 % off in the median and 10 % for 95 %"
)

func claims(p *Plan, cells []Cell) []experiments.Claim {
	found := map[string]*replay.Validation{}
	for i := range cells {
		if cells[i].Validation != nil {
			found[cells[i].Check] = cells[i].Validation
		}
	}
	return slices.Concat(fidelityClaims(found), controlClaims(found), signClaims(p, cells))
}

// fidelityClaims judges how well replays under the kernels' own timers match the captures.
func fidelityClaims(found map[string]*replay.Validation) (all []experiments.Claim) {
	for _, c := range []struct{ name, check, text string }{
		{"as-captured", asCaptured, "a replay under the kernels' timers matches the capture"},
		{"hold-out", holdOut, "so does a replay with parameters of other connections"},
	} {
		if v := found[c.check]; v != nil {
			all = append(all, experiments.Claim{Name: c.name, Class: experiments.Check, Text: c.text,
				Source: bandsSource, Tag: experiments.Computed, Measured: experiments.MeasuredText("%s", summary(v)),
				Expected: experiments.Whether(v.Passes(), "%s", bandsText).OrDiffersIf(v.Median <= 0.05,
					"median within 5 %%"),
				Otherwise: "congestion control in recovery, and the rounding of the kernel's timers, are models: " +
					"see Replays in docs/captures.md"})
		}
	}
	return all
}

// controlClaims judges replays under timers that the kernels do not have.
func controlClaims(found map[string]*replay.Validation) []experiments.Claim {
	v, floor, bsd := found[asCaptured], found[otherFloor], found[otherBSD]
	if v == nil || floor == nil || bsd == nil {
		return nil
	}
	outside := !floor.Passes() && !bsd.Passes() && floor.Median > v.Median && bsd.Median > v.Median
	return []experiments.Claim{{Name: "negative-control", Class: experiments.Check,
		Text: "replays under timers that the kernels do not have fail", Source: bandsSource, Tag: experiments.Computed,
		Measured: experiments.MeasuredText("floor: %s; 4.4BSD: %s", summary(floor), summary(bsd)),
		Expected: experiments.Whether(outside && v.Passes(),
			"both outside the bands, and the kernels' own within").OrDiffersIf(outside,
			"both outside and further off than the kernels' own"),
		Otherwise: "the others are further off, but the kernels' own timers are outside the bands too, so being " +
			"within them shows nothing yet"}}
}

// summary returns the results of a validation in a line.
func summary(v *replay.Validation) string {
	return fmt.Sprintf("timeouts %s, probes %s, by ACKs %s, recovery times %s %% off in the median, p95 %s %%",
		of(v.TimeoutsRight, v.Timeouts),
		of(v.ProbesRight, v.Probes), of(v.FastRight+v.ReordersRight, v.Fast+v.Reorders),
		experiments.Number(100*v.Median), experiments.Number(100*v.P95))
}

// signClaims judges the aim of this project: its own timers save time, and those of 4.4BSD cost
// time.
func signClaims(p *Plan, cells []Cell) (all []experiments.Claim) {
	for _, c := range []struct {
		name, policy, text, expected string
		sign                         float64
	}{
		{"per-segment-saves", "per-segment@1ms", "a timer for each segment on a tick of 1 ms saves recovery time " +
			"over the kernels' own", "above 0", 1},
		{"bsd-costs", "bsd", "4.4BSD's timers would have cost recovery time", "below 0", -1},
	} {
		i := p.index(c.policy)
		if i < 0 {
			continue
		}
		by, ok := savings(cells, i, atSender)
		if !ok {
			continue
		}
		sure, right := true, false // with each key's interval, with any key's value
		var texts []string
		for k, in := range by {
			sure = sure && min(c.sign*in.Lo, c.sign*in.Hi) > 0
			right = right || c.sign*in.Value > 0
			texts = append(texts, fmt.Sprintf("by %s %s", replay.Key(k), percent(in)))
		}
		all = append(all, experiments.Claim{Name: c.name, Class: experiments.Law, Text: c.text,
			Source: "aim of this project", Tag: experiments.Computed,
			Measured: experiments.MeasuredText("%s", strings.Join(texts, ", ")),
			Expected: experiments.Whether(sure, "%s by each key, with its interval", c.expected).
				OrDiffersIf(right && c.sign*by[replay.ByRange].Value > 0, "%s by range", c.expected),
			Otherwise: signsWhy(cells, i)})
	}
	return all
}

// signsWhy explains which losses each key covers, and the savings on the losses that all keys
// cover.
func signsWhy(cells []Cell, policy int) string {
	losses, conns, sooner, late := 0, 0, 0, 0
	var covered [replay.Keys]int
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
			by, all := l.By[policy], true
			for k, is := range by {
				if is >= 0 {
					covered[k]++
				} else {
					all = false
				}
			}
			if by[replay.ByRange] >= 0 && by[replay.ByRange] < l.Took && by[replay.ByTime] >= 0 {
				sooner++
				if by[replay.ByTime] >= l.Took {
					late++
				}
			}
			for k, is := range by {
				if all {
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
	return fmt.Sprintf("there are %d losses of %d connections. The captures determine %s; the others are not "+
		"repaired before the first fate that had to be guessed. On the %d losses that all "+
		"keys cover, the saving is %s. By time, a lost range stays lost until the capture shows an arrival: of %d "+
		"losses that are repaired sooner by range, %d are not by time",
		losses, conns, list(func(k int) string { return fmt.Sprint(covered[k]) }), len(shared[0]),
		list(func(k int) string { return experiments.Number(100*saved(shared[k])) + " %" }), sooner, late)
}

func percent(in stat.Interval) string {
	return fmt.Sprintf("%s %% (%s to %s)", experiments.Number(100*in.Value), experiments.Number(100*in.Lo),
		experiments.Number(100*in.Hi))
}
