package report

import "testing"

// TestPicturesPassCheck holds the figures of all pages to what a figure needs.
func TestPicturesPassCheck(t *testing.T) {
	b := captured(t, 6, 100_000, "bernoulli:0.04")
	p := NewPage(Limits{})
	section := p.Begin("lossy.pcapng")
	read(t, b, section, nil)
	v := section.view("capture0")
	all := []picture{*v.Stalls, *v.Recoveries}
	for _, d := range v.Drawn {
		all = append(append(all, d.Figures...), d.Zooms...)
	}
	r := replayed(t, "lossy.pcapng", b, "linux", "bsd", "per-segment@1ms")
	if savings, ok := r.savings(r.study().Summarize(r.Results)); ok {
		all = append(all, savings)
	}
	if times, ok := r.lossTimes(); ok {
		all = append(all, times)
	}
	all = append(append(all, r.curves()...), r.pairs()...)
	names := map[string]bool{}
	for _, f := range all {
		if err := f.Check(); err != nil {
			t.Error(err)
		}
		if names[f.Name] {
			t.Errorf("two figures of the pages are named %s", f.Name)
		}
		names[f.Name] = true
	}
	if len(all) < 30 {
		t.Errorf("%d figures, want 30 or more", len(all))
	}
}
