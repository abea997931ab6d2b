package tail

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"tcpwheel/experiments/internal/figure"
	"tcpwheel/pcaps/htmlpage"
)

//go:embed page.html
var pageHTML string

var pages = sync.OnceValue(func() *template.Template { return template.Must(htmlpage.Templates().Parse(pageHTML)) })

// pageView is the data of page.html.
type pageView struct {
	htmlpage.Frame
	Command string
	Sizes   []sizeView
}

// sizeView is the results of one size of the response.
type sizeView struct {
	What, Sentence string
	Figure         template.HTML
	Rows           []rowView
}

type rowView struct{ Sender, P50, P95, RTTs, By, Complete, Spurious, Delay string }

// WritePage writes a page with a figure and a table for each size of the response. command repeats
// the measurement. The results must be sorted by size.
func WritePage(w io.Writer, results []Result, command string) error {
	v := pageView{Frame: htmlpage.NewFrame("How soon a lost last segment is retransmitted", figure.Style+"figure{margin:0} .plot{max-width:44em}"), Command: command}
	for len(results) > 0 {
		n := slices.IndexFunc(results, func(r Result) bool { return r.Segments != results[0].Segments })
		if n < 0 {
			n = len(results)
		}
		s, err := size(results[:n])
		if err != nil {
			return err
		}
		v.Sizes, results = append(v.Sizes, s), results[n:]
	}
	return pages().ExecuteTemplate(w, "page", v)
}

// size makes the part of a page for the results of one size.
func size(results []Result) (s sizeView, err error) {
	what := results[0].what()
	s.What, s.Sentence = strings.ToUpper(what[:1])+what[1:], sentence(results)
	f := drawing(results)
	if err := f.Check(); err != nil {
		return s, fmt.Errorf("tail: figure: %w", err)
	}
	s.Figure = f.Drawing()
	for i := range results {
		r := &results[i]
		s.Rows = append(s.Rows, rowView{r.Sender, ms(r.RetransmitP50), ms(r.RetransmitP95), fmt.Sprintf("%.1f", r.RetransmitRTTs), r.Causes.String(),
			ms(r.CompleteP50), fmt.Sprintf("%d/%d", r.Spurious, r.ControlSpurious), ms(r.ControlDelayP50)})
	}
	return s, nil
}

// sentence compares the soonest sender with the latest one.
func sentence(results []Result) string {
	first, last := &results[0], &results[0]
	for i := range results {
		if results[i].RetransmitP50 < first.RetransmitP50 {
			first = &results[i]
		}
		if results[i].RetransmitP50 > last.RetransmitP50 {
			last = &results[i]
		}
	}
	if first == last {
		return fmt.Sprintf("%s retransmits after %s, in the median.", first.Sender, ms(first.RetransmitP50))
	}
	return fmt.Sprintf("%s retransmits after %s and %s after %s, in the median: %.1f times as long.", first.Sender, ms(first.RetransmitP50),
		last.Sender, ms(last.RetransmitP50), float64(last.RetransmitP50)/float64(first.RetransmitP50))
}

// drawing is the distribution of the times to the retransmission, by sender.
func drawing(results []Result) figure.Figure {
	r := &results[0]
	f := figure.Figure{
		Name: fmt.Sprintf("tail-%d", r.Segments), Title: "From loss to retransmission: " + r.what(),
		X: figure.Axis{Label: "time, ms", Log: true}, Y: figure.Axis{Label: "share of losses, %", Hi: 100},
		Marks: []figure.Mark{{Label: "RTT", At: inMS(r.RTT), Vertical: true}},
	}
	for i := range results {
		s := figure.Series{Name: results[i].Sender, Kind: figure.Steps}
		waits := results[i].Waits
		for k, wait := range waits {
			if k == 0 {
				s.Add(inMS(wait), 0)
			}
			s.Add(inMS(wait), 100*float64(k+1)/float64(len(waits)))
		}
		f.Series = append(f.Series, s)
	}
	return f
}

func inMS(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
