package wheels

import (
	"fmt"
	"math"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/experiments/internal/stat"
)

// orderedlistBand is how far a measured share may be from the model's, relative to it.
const orderedlistBand = 0.01

func orderedlistJudge(p *orderedlistPlan, cells []orderedlistCell) (*experiments.Outcome, error) {
	out := &experiments.Outcome{}
	table := experiments.Table{
		Name: "passed", Title: "Records passed by a search, per timer outstanding",
		Columns: []string{"intervals", "timers, mean", "from the head", "95 % from", "to", "model", "from the rear", "model, rear"},
	}
	fig := figure.Figure{
		Name: "passed-by-n", Title: "What START passes in an ordered list, searched from the head",
		X: figure.Axis{Label: "timers outstanding, n", Log: true}, Y: figure.Axis{Label: "records passed / n", Lo: 0, Hi: 1.05},
		Marks: []figure.Mark{
			{Label: "printed for exponential: 2n/3", At: 2. / 3},
			{Label: "printed for uniform: n/2", At: 1. / 2},
		},
		Caption: "Exponential intervals pass half of the list, and uniform ones two thirds: the reverse of what is printed in " +
			"the paper. Constant intervals pass all of it from the head, and nothing from the rear.",
	}
	twoSums := true
	head, rear := map[string]stat.Interval{}, map[string]stat.Interval{}
	for i, name := range p.Intervals {
		d := orderedlistFind(name)
		s := figure.Series{Name: d.about, Kind: figure.Line, Group: i + 1}
		ofAll := [2][]float64{} // a mean over the numbers of timers, by seed
		for seed := range p.Seeds {
			for end := range ofAll {
				ofAll[end] = append(ofAll[end], 0)
				for _, c := range cells {
					if c.Intervals == name && c.Seed == seed+1 {
						ofAll[end][seed] += float64([2]uint64{c.Head, c.Rear}[end]) / float64(c.Seen)
					}
				}
				ofAll[end][seed] /= float64(len(p.Outstanding)) // last, so that what is exact stays so
			}
		}
		head[name], rear[name] = stat.BootstrapMean(ofAll[0], 1), stat.BootstrapMean(ofAll[1], 1)
		for _, n := range p.Outstanding {
			var fromHead, fromRear, seen []float64
			for _, c := range cells {
				if c.Intervals == name && c.N == n {
					fromHead = append(fromHead, float64(c.Head)/float64(c.Seen))
					fromRear = append(fromRear, float64(c.Rear)/float64(c.Seen))
					seen = append(seen, float64(c.Seen)/float64(c.Insertions))
					twoSums = twoSums && c.Head+c.Rear == c.Seen
				}
			}
			in := stat.BootstrapMean(fromHead, 1)
			table.Add(d.about, stat.Mean(seen), in.Value, in.Lo, in.Hi, d.head, stat.Mean(fromRear), 1-d.head)
			s.X, s.Y, s.Lo, s.Hi = append(s.X, float64(n)), append(s.Y, in.Value), append(s.Lo, in.Lo), append(s.Hi, in.Hi)
		}
		fig.Series = append(fig.Series, s)
	}
	out.Tables, out.Figures = append(out.Tables, table), append(out.Figures, fig)

	for _, name := range p.Intervals {
		d := orderedlistFind(name)
		for _, end := range []struct {
			name     string
			of       stat.Interval
			model    float64
			paper    float64
			paperFor string
		}{
			{"head", head[name], d.head, d.paperHead, d.paperHeadText},
			{"rear", rear[name], 1 - d.head, d.paperRear, d.paperRearText},
		} {
			tolerance := orderedlistBand * end.model
			if name == "constant" {
				tolerance = 0
			}
			out.Claim(experiments.Claim{
				Name: name + "-" + end.name, Source: "the paper's model, computed", Tag: experiments.Computed,
				Text:     fmt.Sprintf("intervals %s: a search from the %s passes %s of the list", d.about, end.name, experiments.Number(end.model)),
				Measured: experiments.MeasuredWithin(end.of, "n"), Expected: experiments.Whether(math.Abs(end.of.Value-end.model) <= tolerance, "%s ± %s", experiments.Number(end.model), experiments.Number(tolerance)),

				Otherwise: "the list does not do what the model says",
			})
			if end.paper == 0 {
				continue
			}
			out.Claim(experiments.Claim{
				Name: "printed-" + name + "-" + end.name, Source: "Varghese & Lauck, §III-B", Tag: experiments.FromSource,
				Text:      fmt.Sprintf("as printed: intervals %s, searched from the %s", d.about, end.name),
				Published: end.paperFor, Measured: experiments.MeasuredWithin(end.of, "n"),
				Expected: experiments.Whether(math.Abs(end.of.Value-end.paper) <= orderedlistBand*end.paper, "%s n ± 1 %%, beside a constant", experiments.Number(end.paper)),

				Otherwise: "the labels exponential and uniform appear to be interchanged: what is left of an exponential interval is distributed " +
					"as a new one is, so that it is the shorter one half of the time", Doubted: true,
			})
		}
	}
	e, exponential := head["exponential"]
	if u, uniform := head["uniform"]; exponential && uniform {
		ur := rear["uniform"]
		near := func(got, want float64) bool { return math.Abs(got-want) <= orderedlistBand*want }
		out.Claim(experiments.Claim{
			Name: "interchanged", Source: "Varghese & Lauck, §III-B", Tag: experiments.FromSource,
			Text: "with the labels interchanged, all three figures of the paper fit", Published: "2n/3, n/2; n/3 from the rear",
			Measured: experiments.MeasuredText("uniform %s n, exponential %s n; uniform from the rear %s n",
				experiments.Number(u.Value), experiments.Number(e.Value), experiments.Number(ur.Value)),
			Expected:  experiments.Whether(near(u.Value, 2./3) && near(e.Value, 0.5) && near(ur.Value, 1./3), "each within 1 %%"),
			Otherwise: "the figures fit no labels",
		})
	}
	out.Claim(experiments.Claim{
		Name: "both-ends", Source: "definition of an ordered list", Tag: experiments.Computed,
		Text:     "what a search from the head passes and one from the rear are the whole list together",
		Measured: experiments.MeasuredText("%v in %d runs", twoSums, len(cells)), Expected: experiments.Whether(twoSums, "in each run, exactly"),

		Otherwise: "a search passes a record twice, or stops at the wrong one",
	})
	return out, nil
}
