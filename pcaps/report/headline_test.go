package report

import (
	"strings"
	"testing"
	"time"

	"tcpwheel/pcaps/replay"
	"tcpwheel/pcaps/track"
)

// headlineOf words the replays of a simulated capture.
func headlineOf(t *testing.T, flows int, losses string, policies ...string) (h Headline, r *Replays) {
	t.Helper()
	r = replayed(t, "few.pcapng", captured(t, flows, 200_000, losses), policies...)
	return NewHeadline(r.study(), r.Results, r.study().Summarize(r.Results), r.First), r
}

// TestFewLossesHaveALineEach: with too few losses for a verdict, each has an estimate and its
// bounds, or the reason why not.
func TestFewLossesHaveALineEach(t *testing.T) {
	h, r := headlineOf(t, 1, "packets:20,60", "linux", "per-segment@1ms")
	if want := "A timer for each segment on 1 ms ticks, loss by loss (2 of 2 have an estimate; a verdict needs 5):"; h.Timers != want {
		t.Errorf("%q, want %q", h.Timers, want)
	}
	if len(h.Each) != 2 || !strings.HasPrefix(h.Each[0], "packet ") || !strings.Contains(h.Each[0], " instead of ") {
		t.Errorf("lines %q, want two estimates", h.Each)
	}
	for i := range r.Results[0].Captured.Losses {
		e, why := r.Results[0].Estimate(i, 1)
		if why != "" || e.Saved != e.Control-e.TRec || e.Low > e.Saved || e.High < e.Saved {
			t.Errorf("loss %d: %+v, %q, want an estimate within its bounds", i, e, why)
		}
	}
	r.Results[0].Gates[0] = replay.WrongTime
	_, why := r.Results[0].Estimate(0, 1)
	h = NewHeadline(r.study(), r.Results, r.study().Summarize(r.Results), r.First)
	if want := "no estimate, " + replay.WrongTime.String(); why != replay.WrongTime.String() || !strings.HasSuffix(h.Each[0], want) {
		t.Errorf("a loss that the control repairs at another time: %q, want %q", h.Each[0], want)
	}
	if !strings.Contains(h.Timers, "(1 of 2 have an estimate; ") {
		t.Errorf("%q, want 1 of 2 estimates", h.Timers)
	}
	for _, text := range h.All() {
		if strings.Contains(text, "count under it") {
			t.Errorf("%q", text)
		}
	}
}

// TestTooLargeIsNotCompared: no timer changes that a segment is too large for the path, so that
// policies are not compared by it.
func TestTooLargeIsNotCompared(t *testing.T) {
	_, r := headlineOf(t, 1, "packets:20,60", "linux", "per-segment@1ms")
	for i := range r.Results[0].Captured.Losses {
		r.Results[0].Captured.Losses[i].Kind = track.PMTU
	}
	h := NewHeadline(r.study(), r.Results, r.study().Summarize(r.Results), r.First)
	if text := strings.Join(h.All(), " "); !strings.Contains(text, "2 were too large for the path") || h.Timers != "There is nothing to compare." {
		t.Errorf("%q, want two segments too large for the path, and no comparison", text)
	}
}

// TestHeadlines holds the other answers to their words.
func TestHeadlines(t *testing.T) {
	h, _ := headlineOf(t, 16, "bernoulli:0.08", "per-segment@1ms", "bsd")
	if len(h.Each) != 0 || !strings.HasSuffix(h.Timers, " could be replayed.") || !strings.Contains(h.Timers, "4.4BSD's timers would have cost ") {
		t.Errorf("many losses: %q and lines %q, want a verdict on 4.4BSD and no line", h.Timers, h.Each)
	}
	same := replay.Summary{Policy: "per-segment@1ms", N: 20, Effect: replay.NoDifference, Of: [replay.Keys]time.Duration{8230 * time.Millisecond}}
	if text, want := verdictOn(&same), "a timer for each segment on 1 ms ticks would have made no difference that matters: it would have changed 8.23 s by at most 412 ms"; text != want {
		t.Errorf("%q, want %q", text, want)
	}
	if h = NewHeadline(&replay.Study{}, nil, nil, nil); h.Timers != "There is nothing to compare." || len(h.All()) != 2 {
		t.Errorf("no result: %q", h.All())
	}
}
