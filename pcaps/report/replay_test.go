package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/replay"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// replayed runs the connections of a capture under policies.
func replayed(t testing.TB, file string, b []byte, policies ...string) *Replays {
	t.Helper()
	var st replay.Study
	for _, text := range policies {
		c, err := replay.ParseChoice(text)
		if err != nil {
			t.Fatal(err)
		}
		st.Choices = append(st.Choices, c)
	}
	var first wheel.Time
	r := &Replays{Choices: st.Choices, First: func(*replay.Result) wheel.Time { return first }}
	rec := replay.NewRecorder(replay.Config{Done: func(c *track.Conn, s *replay.CapturedConn, err error) {
		r.Conns++
		if s == nil && err == nil {
			return
		}
		r.Lossy++
		if err != nil {
			r.Refuse(ConnKey{File: file, Client: fmt.Sprint(c.Flows[0].Src)}, err.Error())
			return
		}
		x, err := st.Run(file, c, s)
		if err != nil {
			t.Fatal(err)
		}
		r.Results = append(r.Results, x)
	}})
	in, err := capture.NewReader(bytes.NewReader(b), file)
	if err != nil {
		t.Fatal(err)
	}
	for {
		p, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if first == 0 {
			first = p.Time
		}
		rec.Add(p)
	}
	rec.Close()
	return r
}

// written is a page.
func written(t testing.TB, p interface{ Write(io.Writer) error }) string {
	t.Helper()
	var b strings.Builder
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestReplayPageIsGolden holds a page of replays to its outline.
func TestReplayPageIsGolden(t *testing.T) {
	page := written(t, replayed(t, "lossy.pcapng", captured(t, 1, 200_000, lossy), "linux", "rfc6298", "per-segment@1ms", "bsd"))
	golden(t, "replay.golden", outline(page))
}

// TestReplayPageIsWellFormed parses its diagrams, with several connections and thus intervals.
func TestReplayPageIsWellFormed(t *testing.T) {
	b := captured(t, 6, 100_000, "bernoulli:0.04")
	r := replayed(t, "lossy.pcapng", b, "linux", "bsd", "rfc7765", "rfc6298", "per-segment", "per-segment@10ms", "per-segment@500ms")
	page := written(t, r)
	all := svgs.FindAllString(page, -1)
	if want := 2 + 2 + 7; len(all) != want {
		t.Errorf("%d diagrams, want %d", len(all), want)
	}
	wellFormed(t, all)
	s := r.study().Summarize(r.Results)[1]
	if saved := s.Saved[replay.ByRange]; !s.HasInterval || s.Low > saved || s.High < saved || s.Low == s.High {
		t.Errorf("between %v and %v (%v), want %v between", s.Low, s.High, s.HasInterval, saved)
	}
	for _, want := range []string{"Repairing ", " could be replayed."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if written(t, r) != page {
		t.Error("two pages of the same replays differ")
	}
}

// TestNothingSavedIsNotDrawn summarizes policies without a loss that counts: there is no figure.
func TestNothingSavedIsNotDrawn(t *testing.T) {
	r := replayed(t, "lossy.pcapng", captured(t, 1, 100_000, lossy), "linux", "bsd")
	if fig, ok := r.savings(make([]replay.Summary, 2)); ok {
		t.Errorf("the figure is %+v, want none", fig)
	}
	if _, ok := r.savings(r.study().Summarize(r.Results)); !ok {
		t.Error("no figure of policies with losses that count")
	}
}

// TestReplayNamesAreEscaped has a file whose name is code, and no connection that can be replayed.
func TestReplayNamesAreEscaped(t *testing.T) {
	const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>,` + "\n=1+1"
	r := replayed(t, evil, captured(t, 1, 100_000, lossy), "linux")
	r.Refuse(ConnKey{File: evil, Client: evil, Server: evil}, evil)
	r.Notes = append(r.Notes, evil)
	page := written(t, r)
	if n := strings.Count(page, "<script"); n != 1 {
		t.Errorf("%d scripts, want 1", n)
	}
	if strings.Contains(page, "<img") {
		t.Error("the page has the name's image in it")
	}
	if page := written(t, &Replays{Refusals: r.Refusals, Lossy: 1, Conns: 1}); !strings.Contains(page, "No connection with losses") {
		t.Error("the page does not say that nothing can be replayed")
	}
	if page := written(t, &Replays{Conns: 1}); !strings.Contains(page, "The capture shows no loss") {
		t.Error("the page does not say that there is no loss")
	}
}
