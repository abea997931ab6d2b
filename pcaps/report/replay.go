package report

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tcpwheel/internal/quantity"
	"tcpwheel/internal/record"
	"tcpwheel/pcaps/figure"
	"tcpwheel/pcaps/htmlpage"
	"tcpwheel/pcaps/replay"
	"tcpwheel/wheel"
)

// Replays is the content of a page about replays.
type Replays struct {
	Choices  []replay.Choice
	Results  []*replay.Result
	First    func(*replay.Result) wheel.Time // the first packet of the capture that it is from
	Conns    int                             // connections of the captures
	Lossy    int                             // those with losses
	Refusals []Refusal
	Notes    []string
}

// Refusal is a connection with losses that could not be replayed, as a line of JSON.
type Refusal struct {
	Type string `json:"type"` // "not_replayed"
	ConnKey
	Reason string `json:"reason"`
}

// Refuse notes a connection that is not replayed.
func (r *Replays) Refuse(key ConnKey, reason string) {
	r.Refusals = append(r.Refusals, Refusal{"not_replayed", key, reason})
}

// refusalRow is a Refusal on the page.
type refusalRow struct {
	File   string `head:"capture"`
	Conn   string `head:"connection"`
	Reason string `head:"because"`
}

// Data of the page.
type (
	replayView struct {
		Facts    []htmlpage.Fact
		Notes    []string
		Counts   string // why there are fewer losses than episodes
		Headline *Headline
		Open     []openView
		Policies []policyView
		Savings  *picture
		Times    *picture // of the losses
		Curves   []picture
		Pairs    []picture
		Losses   []LossRow
		Heads    []string // of the policies' columns
		Files    bool     // there are several captures
		LossNote string
		Models   string // the timers that fit the captured ones
		Gated    []LossRow
		MoreGate int // that are not shown
		refusalsView
	}
	policyView struct {
		Name     string      `head:"policy"`
		Verdict  record.Cell `head:"verdict" cell:"words"`
		N        int         `head:"n"`
		Saved    record.Cell `head:"saved"`
		Percent  record.Cell `head:"in percent"`
		Interval record.Cell `head:"98 % interval"`
		ByTime   record.Cell `head:"by time"`
		ByIndex  record.Cell `head:"by index"`
		Median   record.Cell `head:"median"`
		P95      record.Cell `head:"p95"`
		P99      record.Cell `head:"p99"`
		Waiting  record.Cell `head:"waiting"`
		LeftOut  *int        `head:"left out"`
		Spurious *int        `head:"spurious"`
	}
	// openView is policies that have no verdict, with the reason.
	openView struct{ Policies, Why string }
)

// Bounds of a page of replays.
const (
	maxLossRows = 500
	maxPairs    = 400 // lines of a paired plot
	maxRefusals = 100
	perCurves   = 5 // policies next to the capture in a figure of distributions, at most
)

// refusalsView is the refusals on the page.
type refusalsView struct {
	Refusals []refusalRow
	More     int // that are not
}

func refused(all []Refusal) (v refusalsView) {
	n := min(len(all), maxRefusals)
	for _, x := range all[:n] {
		v.Refusals = append(v.Refusals, refusalRow{x.File, x.Client + " > " + x.Server, x.Reason})
	}
	v.More = len(all) - n
	return v
}

// Write writes the page: the policies compared, loss by loss, and how certain that is.
func (r *Replays) Write(w io.Writer) error {
	v := replayView{Notes: r.Notes}
	v.Facts = []htmlpage.Fact{
		{"connections", strconv.Itoa(r.Conns)}, {"with losses", strconv.Itoa(r.Lossy)}, {"replayed", strconv.Itoa(len(r.Results))},
	}
	v.refusalsView = refused(r.Refusals)
	if len(r.Results) > 0 {
		summaries := r.study().Summarize(r.Results)
		h := NewHeadline(r.study(), r.Results, summaries, r.First)
		v.Headline = &h
		g := replay.SummarizeGate(r.Results)
		v.Facts = append(v.Facts, htmlpage.Fact{"losses", strconv.Itoa(g.Needed)}, htmlpage.Fact{"of these count", strconv.Itoa(g.Passed)})
		v.Counts = lossCounts(&g)
		v.Policies, v.Models = r.policies(summaries), r.models()
		v.Open = openPolicies(summaries)
		v.Gated, v.MoreGate = r.Gated(maxRefusals)
		if fig, ok := r.savings(summaries); ok {
			v.Savings = &fig
		}
		if fig, ok := r.lossTimes(); ok {
			v.Times = &fig
		}
		v.Curves, v.Pairs = r.curves(), r.pairs()
		r.losses(&v)
	}
	return writePage(w, r.title(), v.nodes())
}

// lossCounts says which episodes are losses.
func lossCounts(g *replay.GateSummary) string {
	if g.Losses == g.Needed || g.Needed == 0 {
		return ""
	}
	return fmt.Sprintf("The captures have %d loss episodes. %d were needed and repaired: they are the losses here. Of the others %s.",
		g.Losses, g.Needed, because(g))
}

// openPolicies groups the policies without a verdict by why that is.
func openPolicies(summaries []replay.Summary) (all []openView) {
	for i := range summaries {
		s := &summaries[i]
		if s.Effect != replay.CannotTell {
			continue
		}
		k := slices.IndexFunc(all, func(o openView) bool { return o.Why == s.Why })
		if k < 0 {
			all = append(all, openView{s.Policy, s.Why})
			continue
		}
		all[k].Policies += ", " + s.Policy
	}
	return all
}

// title names the one capture, or says how many there are.
func (r *Replays) title() string {
	var files []string
	for _, x := range r.Results {
		files = append(files, x.File)
	}
	for _, x := range r.Refusals {
		files = append(files, x.File)
	}
	return titled(files, "The losses of %s under other timers", "The losses of %d captures under other timers", "Losses under other timers")
}

// titled returns a title with the file's name, with the number of files, or with neither.
func titled(files []string, one, several, none string) string {
	files = slices.Clone(files)
	slices.Sort(files)
	switch files = slices.Compact(files); len(files) {
	case 0:
		return none
	case 1:
		return fmt.Sprintf(one, baseOf(files[0]))
	}
	return fmt.Sprintf(several, len(files))
}

// baseOf returns a file name without its directory, and a sample's name whole.
func baseOf(file string) string {
	if strings.HasPrefix(file, "sample:") {
		return file
	}
	return quantity.Printable(filepath.Base(file))
}

func (r *Replays) study() *replay.Study { return &replay.Study{Choices: r.Choices} }

// policies returns the rows of the policy table, the capture and the control first.
func (r *Replays) policies(summaries []replay.Summary) []policyView {
	row := func(name string, s *replay.Summary) policyView {
		span := func(d time.Duration) record.Cell { return record.SpanCell(d, s.N > 0) }
		return policyView{Name: name, N: s.N, Median: span(s.Median), P95: span(s.P95), P99: span(s.P99), Waiting: span(s.Waiting)}
	}
	c, o := replay.SummarizeCaptured(r.Results), replay.SummarizeControl(r.Results)
	all := []policyView{row("as captured", &c), row("control", &o)}
	all[0].Spurious = &c.Spurious
	for i := range summaries {
		s := &summaries[i]
		v := row(s.Policy, s)
		leftOut := s.NotRepaired + s.FilledIn + s.Unknown
		v.Spurious, v.LeftOut = &s.Spurious, &leftOut
		if of := s.Of[replay.ByRange].Seconds(); s.HasInterval && of > 0 {
			low, high := 100*s.Low.Seconds()/of, 100*s.High.Seconds()/of
			v.Interval = record.Cell{Value: strconv.FormatFloat(low, 'f', 1, 64), Text: fmt.Sprintf("%.1f to %.1f %%", low, high)}
		}
		v.Saved = record.SpanCell(s.Saved[replay.ByRange], s.Of[replay.ByRange] > 0)
		share := func(k replay.Key) record.Cell { return shareCell(s.Saved[k], s.Of[k]) }
		v.Percent, v.ByTime, v.ByIndex = share(replay.ByRange), share(replay.ByTime), share(replay.ByIndex)
		v.Verdict = record.Cell{Text: s.Effect.String(), Title: s.Why}
		all = append(all, v)
	}
	return all
}

// models names the timers that fit the captured ones, most frequent first. It returns "" if no
// policy has them.
func (r *Replays) models() string {
	if !slices.ContainsFunc(r.Choices, func(c replay.Choice) bool { return strings.HasPrefix(c.Text, replay.Captured) }) {
		return ""
	}
	count := map[string]int{}
	var names []string
	for _, x := range r.Results {
		name := x.Model
		if name == "" {
			name = "unknown"
		}
		if count[name]++; count[name] == 1 {
			names = append(names, name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return count[b] - count[a] })
	for i, name := range names {
		names[i] = fmt.Sprintf("%s (%d)", name, count[name])
	}
	return strings.Join(names, ", ")
}

func shareCell(part, of time.Duration) record.Cell {
	if of <= 0 {
		return record.Cell{}
	}
	share := 100 * float64(part) / float64(of)
	return record.Cell{Value: strconv.FormatFloat(share, 'g', 6, 64), Text: fmt.Sprintf("%.1f %%", share)}
}

// total returns the number of losses.
func (r *Replays) total() (n int) {
	for _, x := range r.Results {
		n += len(x.Captured.Losses)
	}
	return n
}

// losses fills in the table of losses.
func (r *Replays) losses(v *replayView) {
	for _, c := range r.Choices {
		v.Heads = append(v.Heads, c.Text)
	}
	for _, x := range r.Results {
		v.Files = v.Files || x.File != r.Results[0].File
	}
	v.Losses = r.Losses(maxLossRows)
	if total := r.total(); len(v.Losses) < total {
		v.LossNote = fmt.Sprintf("The %d longest of %d. ", len(v.Losses), total)
	}
}

// pair is a loss that counts under a policy: its recovery time under the control, and by range.
type pair struct {
	result   *replay.Result
	loss     *replay.Loss
	control  time.Duration
	replayed time.Duration
}

// paired returns the losses that count under a choice, keyed by range, in order.
func (r *Replays) paired(choice int) (all []pair) {
	for x, i := range replay.Losses(r.Results) {
		if rec, ok := x.Recovery(i, choice, replay.ByRange); ok {
			all = append(all, pair{x, &x.Captured.Losses[i], x.Control[i].TRec, rec.TRec})
		}
	}
	return all
}

// curves draws the distributions of recovery times, some policies and the capture in each figure.
func (r *Replays) curves() (all []picture) {
	var captured []time.Duration
	for x, i := range replay.Losses(r.Results) {
		if l := &x.Captured.Losses[i]; l.Needed() {
			captured = append(captured, l.TRec)
		}
	}
	slices.Sort(captured)
	n := max((len(r.Choices)+perCurves-1)/perCurves, 1)
	each := (len(r.Choices) + n - 1) / n // as many in each figure
	for from := 0; from < len(r.Choices); from += each {
		list := []curve{{"as captured", figure.Grey, thinned(captured), len(captured)}}
		for i := from; i < min(from+each, len(r.Choices)); i++ {
			var spans []time.Duration
			for _, p := range r.paired(i) {
				spans = append(spans, p.replayed)
			}
			slices.Sort(spans)
			if len(spans) > 0 {
				list = append(list, curve{r.Choices[i].Text, "", thinned(spans), len(spans)})
			}
		}
		if len(list) < 2 {
			continue
		}
		fig, ok := distribution("Recovery times by policy", "T_rec, from first transmission to ACK", fmt.Sprintf("recovery-times-%d", from/each+1), list)
		if ok {
			all = append(all, fig)
		}
	}
	return all
}

// thinned returns an even sample of at most 1000 ordered spans, with the first and last.
func thinned(all []time.Duration) []time.Duration {
	const most = 1000
	if len(all) <= most {
		return all
	}
	few := make([]time.Duration, most)
	for i := range few {
		few[i] = all[i*(len(all)-1)/(most-1)]
	}
	return few
}

// pairs draws, for each policy, the recovery time of each loss under the control and under it.
func (r *Replays) pairs() (all []picture) {
	lists := make([][]slope, len(r.Choices))
	for i := range r.Choices {
		for _, p := range r.paired(i) {
			lists[i] = append(lists[i], slopeOf(p.result, p.loss, p.control, p.replayed))
		}
	}
	lo, hi, ok := slopesSpan(lists...)
	if !ok {
		return nil
	}
	for i, c := range r.Choices {
		if len(lists[i]) == 0 {
			continue
		}
		all = append(all, paired{
			title: c.Text, each: "a line for each loss", axis: "T_rec", before: "control", after: "replayed",
			head: []string{"file", "conn", "packet", "kind", "control_s", "replayed_s"}, name: fmt.Sprintf("paired-%d", i+1),
		}.draw(lists[i], lo, hi))
	}
	return all
}
