package report

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"strings"

	"tcpwheel/experiments"
	"tcpwheel/pcaps/figure"
	"tcpwheel/pcaps/htmlpage"
)

//go:embed page.css
var pageCSS string

// mostData is the most bytes of a figure's data on the page. More data is only in the figure's
// file.
const mostData = 128 << 10

// Data of the page.
type (
	pageView struct {
		Command string
		Facts   []htmlpage.Fact
		Heads   []headlineView
		Claims  []claimView
		Open    []claimView
		Studies []studyView
		Live    []liveView
		Machine []htmlpage.Fact
	}
	claimView struct {
		experiments.Claim
		Study, ID, Value, Interval, Kind string // Kind is the verdict as a class
	}
	tableView struct {
		experiments.Table
		File string
		Head []htmlpage.Column
		Body [][]cellView
	}
	cellView struct {
		Text, Value string
		Word        bool
	}
	figureView struct {
		Figure              *figure.Figure
		File, Data, Command string
	}
	outcomeView struct {
		Claims   []claimView
		Tables   []tableView
		Files    []tableView // that are not shown
		Figures  []figureView
		Notes    []string
		Warnings []string
	}
	// headlineView is a headline with its figure.
	headlineView struct {
		ID, Study, Title, Found string
		Figure                  figureView
	}
	studyView struct {
		ID, Name, Question, Found, Class, Command, Plan string
		User                                            bool
		Readme                                          htmlpage.Markup
		Facts                                           []htmlpage.Fact
		outcomeView
	}
	liveView struct {
		ID, Study, Name, Skipped string
		outcomeView
	}
)

// classText says how far to trust a study of a class.
var classText = map[experiments.Class]string{
	experiments.Exact:     "Exact: the result is a law and holds to the last digit",
	experiments.Published: "Compared with published figures, within bands set beforehand",
	experiments.Shape:     "Compared with a published shape: an order, a knee, a trade-off",
}

// WritePage writes index.html.
func (r *Report) WritePage(w io.Writer) error {
	n := r.Count()
	v := pageView{Command: r.Command()}
	run, cells := "full", 0
	if r.Quick {
		run = "quick: fewer seeds and cells"
	}
	for i := range r.Studies {
		cells += len(r.Studies[i].Job.Cells)
		s := r.Studies[i].view()
		v.Studies = append(v.Studies, s)
		v.Claims = append(v.Claims, s.Claims...)
		for _, l := range r.Studies[i].Live {
			v.Live = append(v.Live, r.Studies[i].liveView(l))
		}
	}
	for _, o := range r.Open() {
		v.Open = append(v.Open, claimViews(o.Study.Job.Study, []experiments.Claim{o.Claim})...)
	}
	v.Facts = []htmlpage.Fact{{"studies", fmt.Sprint(len(r.Studies))}}
	if n.Published > 0 {
		v.Facts = append(v.Facts, htmlpage.Fact{"published results", fmt.Sprint(n.Published)},
			htmlpage.Fact{"reproduced", fmt.Sprint(n.Reproduced)},
			htmlpage.Fact{"differ", fmt.Sprint(n.Differs)}, htmlpage.Fact{"not reproduced",
				fmt.Sprint(n.NotReproduced)})
	}
	if n.Laws > 0 {
		v.Facts = append(v.Facts, htmlpage.Fact{"own laws that hold", fmt.Sprintf("%d of %d", n.LawsHeld, n.Laws)})
	}
	if n.Checks > 0 {
		v.Facts = append(v.Facts, htmlpage.Fact{"checks that pass", fmt.Sprintf("%d of %d", n.ChecksPassed, n.Checks)})
	}
	v.Facts = append(v.Facts, htmlpage.Fact{"run", run}, htmlpage.Fact{"cells", experiments.Text(cells)},
		htmlpage.Fact{"program", r.Program})
	v.Heads = r.headlineViews(v.Studies)
	if m := r.Machine; m != nil {
		v.Machine = []htmlpage.Fact{{"system", m.OS}, {"kernel", m.Kernel}, {"processor", m.CPU}, {"processors",
			fmt.Sprint(m.CPUs)}, {"Go", m.Go}}
	}
	b := bufio.NewWriterSize(w, 1<<16)
	page := htmlpage.Page("Timer granularity and TCP: what was published, what was measured", figure.PageStyle()+pageCSS,
		v.nodes())
	if err := page.Render(b); err != nil {
		return err
	}
	return b.Flush()
}

func claimViews(study *experiments.Study, claims []experiments.Claim) (all []claimView) {
	for _, c := range claims {
		all = append(all, claimView{c, study.Name, study.ID, c.Measured.String(), c.Measured.Interval(),
			strings.ReplaceAll(string(c.Verdict), " ", "-")})
	}
	return all
}

func (s *Study) view() studyView {
	j := s.Job
	rec := s.record()
	v := studyView{
		ID: j.Study.ID, Name: j.Study.Name, Question: j.Words().Question, Found: s.Found(),
		Class: sentence(classText[j.Study.Class]), Command: s.Command(), Plan: j.Plan,
		User: j.User, Readme: markdown(j.Study.Readme()),
		Facts: []htmlpage.Fact{
			{"cells", experiments.Text(len(j.Cells))}, {"plan, SHA-256", rec.Plan[:16]}, {"results, SHA-256",
				rec.Results[:16]},
		},
	}
	v.outcomeView = outcome(j.Study, s.Outcome, j.Study.Name+"/", v.Command)
	return v
}

func (s *Study) liveView(l Live) liveView {
	v := liveView{ID: s.Job.Study.ID, Study: s.Job.Study.Name, Name: l.Name, Skipped: l.Skipped}
	if l.Outcome != nil {
		v.outcomeView = outcome(s.Job.Study, l.Outcome, s.Job.Study.Name+"/live-"+l.Name+"-", s.Command()+" --live")
	}
	return v
}

// outcome returns the view of an outcome. Its files have a prefix.
func outcome(study *experiments.Study, out *experiments.Outcome, prefix, command string) outcomeView {
	v := outcomeView{Claims: claimViews(study, out.Claims), Notes: out.Notes, Warnings: out.Warnings}
	for i := range out.Tables {
		t := tableView{Table: out.Tables[i], File: prefix + out.Tables[i].Name + ".csv"}
		if t.Data {
			v.Files = append(v.Files, t)
			continue
		}
		for c, name := range t.Columns {
			t.Head = append(t.Head, htmlpage.Column{Name: name, Words: isWords(t.Rows, c)})
		}
		for _, r := range t.Rows {
			var row []cellView
			for c, value := range r {
				row = append(row, cellView{experiments.Text(value), experiments.Field(value), t.Head[c].Words})
			}
			t.Body = append(t.Body, row)
		}
		v.Tables = append(v.Tables, t)
	}
	for i := range out.Figures {
		f := &out.Figures[i]
		fv := figureView{Figure: f, File: prefix + "figure-" + f.Name, Command: command}
		var data strings.Builder
		if err := f.WriteCSV(&data); err == nil && data.Len() <= mostData {
			fv.Data = data.String()
		}
		v.Figures = append(v.Figures, fv)
	}
	return v
}

// isWords reports whether less than half of a column's non-empty cells are numbers.
func isWords(rows [][]any, column int) bool {
	words, numbers := 0, 0
	for _, row := range rows {
		switch v := row[column]; {
		case experiments.IsNumber(v):
			numbers++
		case experiments.Text(v) != "":
			words++
		}
	}
	return words > numbers
}
