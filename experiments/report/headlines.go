package report

import (
	"fmt"
	"slices"
	"strings"

	"tcpwheel/experiments"
	"tcpwheel/pcaps/figure"
)

// headlines are the results that matter most, by study: a title for what the study found, and one
// of its figures, or "".
var headlines = []struct{ study, title, figure string }{
	{"granularity", "Tick and floor hide each other, and a timer per segment adds little", "buys"},
	{"vegas", "Coarse clocks multiply the cost of a loss", "mean-by-rtt"},
	{"tableiv", "Timers alone make Reno of 1990 faster, and no later one", "throughput"},
	{"frontier", "Over short round trips the floor decides, then the tick", "frontier"},
	{"comb", "Shared ticks make bursts", "comb"},
	{"cmu", "A floor of 200 ms collapses incast, and one of 1 ms does not", "goodput"},
	{"datacentre", "In a data centre the floor buys most, and belongs to both ends", "losses"},
	{"incast", "SACK decides most where the timeouts of incast begin", "incast-1-timeouts"},
	{"shrew", "Pulses at the floor shut a flow out", "shrew"},
	{"tailmap", "Timers per segment and probes complement each other", "winners-200ms"},
	{"orderedlist", "The paper's average insertion costs have their labels interchanged", "passed-by-n"},
}

// writeHeadlines writes the headlines whose study is in the report.
func (r *Report) writeHeadlines(b *strings.Builder) {
	n := 0
	for _, h := range headlines {
		s := r.study(h.study)
		if s == nil {
			continue
		}
		if n++; n == 1 {
			b.WriteString("\n## The results that matter most\n")
		}
		of := s.link()
		if page := ownPage[h.study]; page != "" {
			of = fmt.Sprintf("[%s](%[1]s)", strings.TrimPrefix(page, "docs/"))
		}
		b.WriteString("\n")
		prose(b, "   ", fmt.Sprintf("%d. **%s.** %s", n, h.title, of))
		if h.figure != "" {
			fmt.Fprintf(b, "\n   ![%s](%s)\n", h.study, strings.TrimPrefix(s.figureName(h.figure), "docs/"))
		}
	}
}

// checkFound returns an error if what a study found names a claim that the study does not have, or
// a headline names no figure of its study.
func (r *Report) checkFound() error {
	for i := range r.Studies {
		if text := r.Studies[i].Found(); strings.Contains(text, "{") {
			return fmt.Errorf("what study %s found: no such claim: %s", r.Studies[i].Job.Study.Name, text)
		}
	}
	for _, h := range headlines {
		s := r.study(h.study)
		if s != nil && h.figure != "" && !slices.ContainsFunc(s.Outcome.Figures,
			func(f figure.Figure) bool { return f.Name == h.figure }) {
			return fmt.Errorf("headline of study %s: no figure %s", h.study, h.figure)
		}
	}
	return nil
}

func (r *Report) study(name string) *Study {
	for i := range r.Studies {
		if r.Studies[i].Job.Study.Name == name {
			return &r.Studies[i]
		}
	}
	return nil
}

// Found says what the study found. It replaces each {claim} by the measured value with its unit,
// and each {claim#} by the number alone. A sentence about a claim that does not apply is left out.
func (s *Study) Found() string {
	var said []string
	for _, text := range strings.SplitAfter(s.Job.Words().Found, ". ") {
		applies := true
		for _, c := range s.Outcome.Claims {
			name, number := "{"+c.Name+"}", "{"+c.Name+"#}"
			if strings.Contains(text, name) || strings.Contains(text, number) {
				applies = applies && c.Verdict != experiments.NotApplicable
			}
			text = strings.ReplaceAll(text, name, c.Measured.String())
			text = strings.ReplaceAll(text, number, experiments.Number(c.Measured.Value))
		}
		if applies {
			said = append(said, text)
		}
	}
	return strings.TrimSpace(strings.Join(said, ""))
}
