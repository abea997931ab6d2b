package wheels

import (
	"fmt"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/experiments/internal/stat"
)

// orderedlistPercent is the band around the model and the printed figures.
const orderedlistPercent = 1

// fromHead and fromRear return the records that a search passes, per timer outstanding.
func (c *orderedlistCell) fromHead() float64 { return float64(c.Head) / float64(c.Seen) }
func (c *orderedlistCell) fromRear() float64 { return float64(c.Rear) / float64(c.Seen) }

// orderedlistEnds are the means over seeds and numbers of timers.
type orderedlistEnds struct{ head, rear stat.Interval }

func orderedlistJudge(p *orderedlistPlan, cells []orderedlistCell) (*experiments.Outcome, error) {
	out := &experiments.Outcome{}
	ends := map[string]orderedlistEnds{}
	for _, g := range experiments.GroupBy(cells, func(c *orderedlistCell) string { return c.Intervals }) {
		seeds := experiments.GroupBy(g.Items, func(c *orderedlistCell) int { return c.Seed })
		mean := func(share func(*orderedlistCell) float64) stat.Interval {
			return experiments.MeanOf(seeds, func(s *experiments.Group[int, orderedlistCell]) float64 {
				return stat.Mean(experiments.Values(s.Items, share))
			})
		}
		ends[g.Key] = orderedlistEnds{mean((*orderedlistCell).fromHead), mean((*orderedlistCell).fromRear)}
	}
	orderedlistShow(p, cells, out)
	for _, name := range p.Intervals {
		orderedlistFind(name).claims(ends[name], out)
	}
	orderedlistInterchanged(ends, out)
	whole := true
	for _, c := range cells {
		whole = whole && c.Head+c.Rear == c.Seen
	}
	out.Claim(experiments.Claim{Name: "both-ends", Source: "definition of an ordered list", Tag: experiments.Computed,
		Text:     "a search from the head and one from the rear together pass the whole list",
		Measured: experiments.MeasuredText("%v in %d runs", whole, len(cells)), Expected: experiments.Whether(whole, "in each run, exactly"),
		Otherwise: "a search passes a record twice, or stops at the wrong one"})
	return out, nil
}

func orderedlistShow(p *orderedlistPlan, cells []orderedlistCell, out *experiments.Outcome) {
	table := experiments.Table{
		Name: "passed", Title: "Records that a search passes, per timer outstanding",
		Columns: []string{"intervals", "timers outstanding, mean", "from the head", "95 % from", "to", "model, head", "from the rear", "model, rear"},
	}
	fig := figure.Figure{
		Name: "passed-by-n", Title: "Records that START passes in an ordered list, searched from the head",
		X: figure.Axis{Label: "timers outstanding, n", Log: true}, Y: figure.Axis{Label: "records passed / n", Lo: 0, Hi: 1.05},
		Marks: []figure.Mark{
			{Label: "printed for exponential: 2n/3", At: 2. / 3},
			{Label: "printed for uniform: n/2", At: 1. / 2},
		},
		Caption: "Exponential intervals pass half of the list, and uniform ones two thirds: the reverse of what the paper prints. " +
			"Constant intervals pass the whole list from the head, and nothing from the rear.",
	}
	for i, name := range p.Intervals {
		d := orderedlistFind(name)
		s := figure.Series{Name: d.about, Kind: figure.Line, Group: i + 1}
		for _, n := range p.Outstanding {
			of := experiments.Select(cells, func(c *orderedlistCell) bool { return c.Intervals == name && c.N == n })
			head := experiments.MeanOf(of, (*orderedlistCell).fromHead)
			rear := stat.Mean(experiments.Values(of, (*orderedlistCell).fromRear))
			seen := stat.Mean(experiments.Values(of, func(c *orderedlistCell) float64 { return float64(c.Seen) / float64(c.Insertions) }))
			table.Add(d.about, seen, head.Value, head.Lo, head.Hi, d.head, rear, 1-d.head)
			s.AddInterval(float64(n), head)
		}
		fig.Series = append(fig.Series, s)
	}
	out.Tables, out.Figures = append(out.Tables, table), append(out.Figures, fig)
}

// claims compares both ends with the model, and with what the paper prints.
func (d *orderedlistDistribution) claims(ends orderedlistEnds, out *experiments.Outcome) {
	for _, end := range []struct {
		name           string
		of             stat.Interval
		model, printed float64
		published      string
	}{
		{"head", ends.head, d.head, d.paperHead, d.paperHeadText},
		{"rear", ends.rear, 1 - d.head, d.paperRear, d.paperRearText},
	} {
		expected := experiments.WithinPercent(end.model, orderedlistPercent, "n")
		if d.name == "constant" {
			expected = experiments.Exactly(end.model, "n")
		}
		out.Claim(experiments.Claim{Name: d.name + "-" + end.name, Source: "the paper's model, computed", Tag: experiments.Computed,
			Text:     fmt.Sprintf("intervals %s: a search from the %s passes %s of the list", d.about, end.name, experiments.Number(end.model)),
			Measured: experiments.MeasuredWithin(end.of, "n"), Expected: expected, Otherwise: "the list does not do what the model says"})
		if end.printed == 0 {
			continue
		}
		out.Claim(experiments.Claim{Name: "printed-" + d.name + "-" + end.name, Source: "Varghese & Lauck, §III-B", Tag: experiments.FromSource,
			Text:      fmt.Sprintf("as printed: intervals %s, searched from the %s", d.about, end.name),
			Published: end.published, Measured: experiments.MeasuredWithin(end.of, "n"),
			Expected: experiments.WithinPercent(end.printed, orderedlistPercent, "n, plus a constant"), Doubted: true,
			Otherwise: "the labels exponential and uniform appear to be interchanged: the rest of an exponential interval is distributed like a new " +
				"one, so it is the shorter one half of the time"})
	}
}

func orderedlistInterchanged(ends map[string]orderedlistEnds, out *experiments.Outcome) {
	e, exponential := ends["exponential"]
	u, uniform := ends["uniform"]
	if !exponential || !uniform {
		return
	}
	near := func(got stat.Interval, want float64) bool {
		return experiments.WithinPercent(want, orderedlistPercent, "").Has(got.Value)
	}
	out.Claim(experiments.Claim{Name: "interchanged", Source: "Varghese & Lauck, §III-B", Tag: experiments.FromSource,
		Text: "with the labels interchanged, all three figures of the paper fit", Published: "2n/3, n/2; n/3 from the rear",
		Measured: experiments.MeasuredText("uniform %s n, exponential %s n; uniform from the rear %s n",
			experiments.Number(u.head.Value), experiments.Number(e.head.Value), experiments.Number(u.rear.Value)),
		Expected:  experiments.Whether(near(u.head, 2./3) && near(e.head, 0.5) && near(u.rear, 1./3), "each within %d %%", orderedlistPercent),
		Otherwise: "the figures fit neither labels"})
}
