package report

import (
	"strings"
	"testing"

	"tcpwheel/pcaps/replay"
)

// wired runs the senders of a capture as engines under policies.
func wired(t testing.TB, file string, b []byte, policies ...string) *Wires {
	t.Helper()
	r := replayed(t, file, b) // under none, as open loops need no replay
	w := &Wires{First: r.First, Conns: r.Conns, Lossy: r.Lossy, Refusals: r.Refusals}
	var st replay.Study
	for _, text := range policies {
		c, err := replay.ParseChoice(text)
		if err != nil {
			t.Fatal(err)
		}
		st.Choices = append(st.Choices, c)
	}
	for _, x := range r.Results {
		for i, c := range st.Choices {
			ends, err := st.Wire(x, i)
			if err != nil {
				t.Fatal(err)
			}
			for end, o := range ends {
				if o != nil {
					w.Ends = append(w.Ends, WireEnd{x, end, c.Text, o})
				}
			}
		}
	}
	return w
}

// TestWirePageIsGolden holds a page of open loops to its outline: Linux's timers do what was
// captured, and 4.4BSD's do not.
func TestWirePageIsGolden(t *testing.T) {
	w := wired(t, "lossy.pcapng", captured(t, 1, 200_000, lossy), "linux", "bsd")
	page := written(t, w)
	golden(t, "wire.golden", outline(page))
	wellFormed(t, svgs.FindAllString(page, -1))
	if written(t, w) != page {
		t.Error("two pages of the same open loops differ")
	}
}

// TestWirePageIsBounded has more ends than are drawn, and more transmissions than the data of a
// figure has.
func TestWirePageIsBounded(t *testing.T) {
	w := wired(t, "lossy.pcapng", captured(t, 3, 3_200_000, "bernoulli:0.003"), "linux", "bsd", "rfc6298", "rfc7765", "gvisor")
	page := written(t, w)
	if n := strings.Count(page, `<h3 id="end`); n != maxWireDrawn || len(w.Ends) <= n {
		t.Errorf("%d of %d ends are drawn, want %d", n, len(w.Ends), maxWireDrawn)
	}
	if !strings.Contains(page, "The data has ") {
		t.Error("the page does not say that its data is less than all")
	}
	if len(page) > 8<<20 {
		t.Errorf("the page has %d bytes", len(page))
	}
	wellFormed(t, svgs.FindAllString(page, -1))
}

// TestWirePageWithoutEnds says what there is not, and has names escaped.
func TestWirePageWithoutEnds(t *testing.T) {
	const evil = `"><script>alert(1)</script><img src=x>`
	page := written(t, &Wires{Conns: 1, Lossy: 1, Refusals: []Refusal{{evil, evil, evil}}})
	if !strings.Contains(page, "No connection with losses") || strings.Contains(page, "<img") || strings.Count(page, "<script") != 1 {
		t.Error("the page does not say that there is no open loop, or a name is markup")
	}
	if page := written(t, &Wires{Conns: 1}); !strings.Contains(page, "The capture shows no loss") {
		t.Error("the page does not say that there is no loss")
	}
	w := wired(t, evil, captured(t, 1, 100_000, lossy), "linux")
	w.Notes = append(w.Notes, evil)
	if page := written(t, w); strings.Contains(page, "<img") || strings.Count(page, "<script") != 1 {
		t.Error("a name is markup")
	}
}

// TestValidationPageIsGolden holds a page of validations to its outline. Linux's timers are near to
// a capture that was made with them.
func TestValidationPageIsGolden(t *testing.T) {
	b := captured(t, 2, 300_000, lossy)
	r := replayed(t, "lossy.pcapng", b, "linux", "bsd")
	p := Validations{First: r.First, Conns: r.Conns, Lossy: r.Lossy, Ends: wired(t, "lossy.pcapng", b, "linux").Ends}
	st := replay.Study{Choices: r.Choices}
	for i, name := range []string{"as captured", "another"} {
		v, err := st.Validate(r.Results, i)
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Judged) != v.Recoveries || v.Recoveries == 0 {
			t.Errorf("%s: %d losses are judged, want %d and not 0", name, len(v.Judged), v.Recoveries)
		}
		p.Checks = append(p.Checks, Check{Name: name, Want: i == 0, Validation: v})
	}
	var page strings.Builder
	if err := p.Write(&page); err != nil {
		t.Fatal(err)
	}
	golden(t, "validation.golden", outline(page.String()))
	wellFormed(t, svgs.FindAllString(page.String(), -1))
	var empty strings.Builder
	if err := (&Validations{}).Write(&empty); err != nil || !strings.Contains(empty.String(), "</html>") {
		t.Errorf("an empty page: %v", err)
	}
}
