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
	w := wired(t, "lossy.pcapng", b, "linux", "bsd")
	all = append(append(all, w.curves()...), w.pairs()...)
	for i, e := range w.worst() {
		d := newWireDrawing(e, w.First(e.Result)).view("end" + string(rune('a'+i)))
		all = append(append(all, d.Figures...), d.Zooms...)
	}
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
	if len(all) < 40 {
		t.Errorf("%d figures, want 40 or more", len(all))
	}
}
