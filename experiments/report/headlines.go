package report

import (
	"fmt"
	"slices"
	"strings"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
)

// headline is one of the results that matter most. Its text may use the study's claims: see fill.
type headline struct {
	study, text string
	figure      string // one of the study's, "" for none
}

var headlines = []headline{
	{"vegas", "**Coarse clocks multiply the cost of a loss.** A loss that only a timer can repair waits {coarse-mean} " +
		"under 4.4BSD's 500 ms clocks and at most {fine-mean} under a timer per segment, at RTTs up to 150 ms. " +
		"That is {ratio} at least; Brakmo and Peterson published 1100 ms and less than 300 ms.", "mean-by-rtt"},
	{"vegas", "**The reason is a fixed point.** 4.4BSD's estimator rests at 3 ticks of 500 ms, so such a loss waits " +
		"{mean-at-rest} on average, however short the RTT is.", ""},
	{"tableiv", "**Timers alone make Reno faster.** With a timer per segment and nothing else changed, transfers of 1 MB gain " +
		"{timers-gain} in throughput; at least 19 % was published.", "throughput"},
	{"frontier", "**The floor decides, then the tick.** Next to a floor of 1 s, the floor moves the wait most, then the " +
		"granularity, then the estimator's gains: {order-wait}. Below the tick, the tick is the floor.", "frontier"},
	{"comb", "**Shared ticks make bursts.** After an outage, 4.4BSD's sweep retransmits for all connections in one millisecond: " +
		"{ratio#} times what fine timers send then.", "comb"},
	{"incast", "**A floor of 300 ms collapses incast.** Of the goodput {collapse}; up to 90 % was published.", "incast-1-time"},
	{"shrew", "**Pulses at the floor shut a flow out.** Pulses at a period of minRTO leave {null#} % of the rate, at half of it " +
		"{null-half#} %; fine timers without a floor have no such null.", "shrew"},
	{"tailmap", "**Timers per segment and probes complement each other.** Which repairs a lost tail first depends on RTT and " +
		"loss; this stack's default, which has both, is never later than either.", "winners-200ms"},
	{"orderedlist", "**The paper's average insertion costs have their labels interchanged.** A search from the head passes " +
		"{exponential-head} for exponential intervals (printed: 2n/3) and {uniform-head} for uniform ones (printed: n/2).", "passed-by-n"},
	{"million", "**Idle keepalive timers are Scheme 6's worst case.** With 4096 slots they cost {idle-4096#} looks " +
		"at timer records per second; with 2^20 slots 256 times fewer.", "work-by-slots"},
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
		b.WriteString("\n")
		prose(b, "   ", fmt.Sprintf("%d. %s Study [%s](../experiments/%s/README.md).", n, s.fill(h.text), h.study, s.Job.Study.Folder))
		if h.figure != "" {
			fmt.Fprintf(b, "\n   ![%s](%s)\n", h.study, strings.TrimPrefix(s.figureName(h.figure), "docs/"))
		}
	}
}

// checkHeadlines returns an error if a headline names a claim or figure that its study does not
// have.
func (r *Report) checkHeadlines() error {
	for _, h := range headlines {
		s := r.study(h.study)
		if s == nil {
			continue
		}
		if text := s.fill(h.text); strings.Contains(text, "{") {
			return fmt.Errorf("headline of study %s: no such claim: %s", h.study, text)
		}
		if h.figure != "" && !slices.ContainsFunc(s.Outcome.Figures, func(f figure.Figure) bool { return f.Name == h.figure }) {
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

// fill replaces each {claim} by the measured value with its unit, and each {claim#} by the number
// alone.
func (s *Study) fill(text string) string {
	for _, c := range s.Outcome.Claims {
		text = strings.ReplaceAll(text, "{"+c.Name+"}", c.Measured.String())
		text = strings.ReplaceAll(text, "{"+c.Name+"#}", experiments.Number(c.Measured.Value))
	}
	return text
}
