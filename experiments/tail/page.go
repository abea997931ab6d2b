package tail

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"tcpwheel/internal/record"
	"tcpwheel/pcaps/figure"
	"tcpwheel/pcaps/htmlpage"
)

// sizeView is the results of one size of the response.
type sizeView struct {
	What, Sentence string
	Figure         g.Node
	Rows           []Result
}

// columns are those of the table.
const columns = "sender retransmit_p50_ns retransmit_p95_ns retransmit_rtts.1 ByCause complete_p50_ns SpuriousBoth " +
	"control_ack_delay_p50_ns"

// WritePage writes a page with a figure and a table for each size of the response. command repeats
// the measurement. The results must be sorted by size.
func WritePage(w io.Writer, results []Result, command string) error {
	var sizes g.Group
	for len(results) > 0 {
		n := slices.IndexFunc(results, func(r Result) bool { return r.Segments != results[0].Segments })
		if n < 0 {
			n = len(results)
		}
		s, err := size(results[:n])
		if err != nil {
			return err
		}
		sizes, results = append(sizes, s.node()), results[n:]
	}
	return htmlpage.Page("How soon a lost last segment is retransmitted",
		figure.PageStyle(),
		h.P(g.Text("Each sender loses the last segment of a response once. The figures show how long it takes to "+
			"retransmit it.\n"), h.Code(g.Text(command))),
		sizes,
		htmlpage.Soft("Times count from the first transmission of the lost segment; complete, from that of the "+
			"response to the arrival of its last byte.\n"+
			"Spurious retransmissions are counted in the run with losses and in one without, where the client "+
			"delays the ACK of a lone segment by 40 ms: \"ACK after\" is that delay as measured."),
	).Render(w)
}

func (s sizeView) node() g.Node {
	return g.Group{h.H2(g.Text(s.What)), h.P(g.Text(s.Sentence)), s.Figure, htmlpage.Records("sort", columns, s.Rows, nil)}
}

// size makes the part of a page for the results of one size.
func size(results []Result) (s sizeView, err error) {
	what := results[0].what()
	s.What, s.Sentence = strings.ToUpper(what[:1])+what[1:], sentence(results)
	s.Rows = forPeople(results)
	f := drawing(results)
	if err := f.Check(); err != nil {
		return s, fmt.Errorf("tail: figure: %w", err)
	}
	s.Figure = f.Element()
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
		return fmt.Sprintf("%s retransmits after %s, in the median.", first.Sender, record.SpanText(first.RetransmitP50))
	}
	return fmt.Sprintf("%s retransmits after %s and %s after %s, in the median: %.1f times as long.", first.Sender,
		record.SpanText(first.RetransmitP50),
		last.Sender, record.SpanText(last.RetransmitP50), float64(last.RetransmitP50)/float64(first.RetransmitP50))
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
