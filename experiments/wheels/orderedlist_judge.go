package wheels

import (
	"fmt"
	"math"
	"strings"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/wheel/stat"
)

// orderedlistBand is the band around the model and the printed figures, in parts of the list.
const orderedlistBand = 0.01

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
	orderedlistModelClaim(p, ends, out)
	orderedlistPrintedClaim(p, ends, out)
	orderedlistInterchanged(ends, out)
	whole := true
	for _, c := range cells {
		whole = whole && c.Head+c.Rear == c.Seen
	}
	out.Claim(experiments.Claim{Name: "both-ends", Class: experiments.Check, Source: "definition of an ordered list", Tag: experiments.Computed,
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

// orderedlistModelClaim compares both ends of all distributions with the paper's model.
func orderedlistModelClaim(p *orderedlistPlan, ends map[string]orderedlistEnds, out *experiments.Outcome) {
	worst, where := 0.0, ""
	for _, name := range p.Intervals {
		d := orderedlistFind(name)
		for _, end := range []struct {
			name       string
			got, model float64
		}{{"head", ends[name].head.Value, d.head}, {"rear", ends[name].rear.Value, 1 - d.head}} {
			if off := math.Abs(end.got - end.model); off >= worst {
				worst, where = off, fmt.Sprintf("%s n for %s intervals from the %s, model %s n", experiments.Number(end.got), d.name, end.name, experiments.Number(end.model))
			}
		}
	}
	out.Claim(experiments.Claim{Name: "model", Class: experiments.Law, Source: "the paper's model, computed", Tag: experiments.Computed,
		Text:     "a search passes the share of the list that the model gives for the distribution of intervals, from either end",
		Measured: experiments.MeasuredText("farthest: %s", where).Judging(worst), Expected: experiments.AtMost(orderedlistBand, "").Saying("each within %v n", orderedlistBand),
		Basis: "1 % of a whole list", Otherwise: "the list does not do what the model says"})
}

// orderedlistPrintedClaim compares three means with the figures that the paper prints for them.
func orderedlistPrintedClaim(p *orderedlistPlan, ends map[string]orderedlistEnds, out *experiments.Outcome) {
	var texts, printed []string
	fits := true
	for _, name := range p.Intervals {
		d := orderedlistFind(name)
		for _, end := range []struct {
			name    string
			of      stat.Interval
			printed float64
			text    string
		}{{"head", ends[name].head, d.paperHead, d.paperHeadText}, {"rear", ends[name].rear, d.paperRear, d.paperRearText}} {
			if end.printed != 0 {
				fits = fits && math.Abs(end.of.Value-end.printed) <= orderedlistBand
				printed = append(printed, fmt.Sprintf("%s from the %s %s", d.name, end.name, end.text))
				texts = append(texts, fmt.Sprintf("%s from the %s %s n", d.name, end.name, experiments.Number(end.of.Value)))
			}
		}
	}
	if len(printed) == 0 {
		return
	}
	out.Claim(experiments.Claim{Name: "printed", Class: experiments.OfOthers, Source: "Varghese & Lauck, §III-B", Tag: experiments.FromSource,
		Text: "the mean cost of an insertion is that printed for the distribution of intervals", Published: strings.Join(printed, ", "),
		Measured: experiments.MeasuredText("%s", strings.Join(texts, ", ")),
		Expected: experiments.Whether(fits, "each within %v n, besides a constant", orderedlistBand), Basis: "the printed formulas", Doubted: true,
		Otherwise: "the labels exponential and uniform appear to be interchanged: the rest of an exponential interval is distributed like a new " +
			"one, so it is the shorter one half of the time"})
}

func orderedlistInterchanged(ends map[string]orderedlistEnds, out *experiments.Outcome) {
	e, exponential := ends["exponential"]
	u, uniform := ends["uniform"]
	if !exponential || !uniform {
		return
	}
	near := func(got stat.Interval, want float64) bool {
		return math.Abs(got.Value-want) <= orderedlistBand
	}
	out.Claim(experiments.Claim{Name: "interchanged", Class: experiments.Law, Source: "Varghese & Lauck, §III-B", Tag: experiments.FromSource,
		Text: "with the labels interchanged, all three figures of the paper fit", Published: "2n/3, n/2; n/3 from the rear",
		Measured: experiments.MeasuredText("uniform %s n, exponential %s n; uniform from the rear %s n",
			experiments.Number(u.head.Value), experiments.Number(e.head.Value), experiments.Number(u.rear.Value)),
		Expected:  experiments.Whether(near(u.head, 2./3) && near(e.head, 0.5) && near(u.rear, 1./3), "each within %v n", orderedlistBand),
		Otherwise: "the figures fit neither labels"})
}
