package figure

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite what golden files expect")

// samples are figures of each kind, with what is hard to draw.
func samples() []Figure {
	var cdf, fine Series
	cdf = Series{Name: "4.4BSD", Kind: Steps}
	fine = Series{Name: "a timer per segment", Kind: Steps}
	for i := range 200 {
		cdf.X, cdf.Y = append(cdf.X, 1000+500*float64(i)/200), append(cdf.Y, float64(i+1)/200)
		fine.X, fine.Y = append(fine.X, 190+40*math.Sin(float64(i)/130)), append(fine.Y, float64(i+1)/200)
	}
	curve := func(name string, group, marker int, dashed bool, f func(x float64) float64) Series {
		s := Series{Name: name, Kind: Line, Group: group, Marker: marker, Dashed: dashed}
		for _, x := range []float64{1, 2, 5, 10, 20, 50, 100, 1000} {
			y := f(x)
			s.X, s.Y = append(s.X, x), append(s.Y, y)
			if !dashed {
				s.Lo, s.Hi = append(s.Lo, y*0.8), append(s.Hi, y*1.3)
			}
		}
		return s
	}
	long := Series{Name: "in the queue", Kind: Line}
	for i := range 3000 {
		x := float64(i) / 10
		long.X, long.Y = append(long.X, x), append(long.Y, 50+40*math.Sin(x/9)*math.Cos(x/31))
		long.Lo, long.Hi = append(long.Lo, long.Y[i]-5), append(long.Hi, long.Y[i]+8)
	}
	bars := func(name string, y ...float64) Series {
		s := Series{Name: name, Kind: Bars, Y: y}
		for i := range y {
			s.X, s.Lo, s.Hi = append(s.X, float64(i)), append(s.Lo, y[i]*0.9), append(s.Hi, y[i]*1.1)
		}
		return s
	}
	points := func(name string, group, marker int, shift float64) Series {
		return Series{Name: name, Kind: Points, Group: group, Marker: marker,
			X: []float64{0.5, 0.9 + shift, 2, 4, 7}, Y: []float64{8.1 - shift, 6, 4.8 + shift, 3.5, 3.1}}
	}
	heat := &Map{Log: true, Rows: []string{"64", "1024", "65536"}, Columns: []string{"100", "1000", "10⁴", "10⁵", "10⁶", "10⁷"}}
	winner := &Map{Classes: []string{"one timer, restarted", "a timer per segment", "TLP", "nobody"}}
	for r := range heat.Rows {
		var v []float64
		var text []string
		for c := range heat.Columns {
			v = append(v, math.Pow(10, float64(2+c))/math.Pow(16, float64(r)+1))
			text = append(text, strconv.FormatFloat(v[c], 'g', 3, 64))
		}
		heat.Value, heat.Text = append(heat.Value, v), append(heat.Text, text)
	}
	for c := range 12 {
		winner.Columns = append(winner.Columns, fmt.Sprintf("%d ms", 10*(c+1)))
	}
	for r := range 6 {
		winner.Rows = append(winner.Rows, fmt.Sprintf("%d lost", r+1))
		var class []int
		for c := range 12 {
			class = append(class, (r*c/9)%3)
		}
		winner.Class = append(winner.Class, class)
	}
	var comb, ground Series
	comb, ground = Series{Name: "4.4BSD", Kind: Bars}, Series{Name: "no tick", Kind: Bars}
	for i := range 600 {
		ground.X, ground.Y = append(ground.X, float64(1000+i)), append(ground.Y, 15+float64(i%9))
		if i%250 == 100 {
			comb.X, comb.Y = append(comb.X, float64(1000+i)), append(comb.Y, 9000)
		}
	}
	var crossed []Series
	for i := range 28 {
		group, marker := 1+i/4, 1+i%4
		crossed = append(crossed, Series{Name: fmt.Sprintf("floor %d ms, tick %d ms", 100*group, 10*marker), Kind: Points, Group: group, Marker: marker,
			X: []float64{float64(group) + 0.1*float64(marker)}, Y: []float64{10 - float64(group) + 0.3*float64(marker)}})
	}
	falling := Series{Name: "share that is longer", Kind: Steps, X: []float64{1, 2, 3, 5}, Y: []float64{1, 0.4, 0.1, 0.01}}
	return []Figure{
		{Name: "comb", Title: "Bars that are too many to be wide", X: Axis{Label: "ms"}, Y: Axis{Label: "retransmitted", Log: true}, Series: []Series{comb, ground}},
		{Name: "crossed", Title: "Many groups under many markers", X: Axis{Label: "wait"}, Y: Axis{Label: "bad, %"}, Series: crossed},
		{Name: "falling", Title: "Steps that fall", X: Axis{Label: "x", Hi: 8}, Y: Axis{Label: "share", Log: true}, Series: []Series{falling}},
		{Name: "steps", Title: "Loss to resend: <1100 & less than 300 ms in 1995, with a title that is so long that it takes two lines",
			X: Axis{Label: "from the transmission to the next, ms"}, Y: Axis{Label: "share that took no longer", Lo: 0, Hi: 1},
			Series: []Series{cdf, fine}, Marks: []Mark{{"published: 1100 ms", 1100, true}, {"published: < 300 ms", 300, true}, {"mean", 1250, true}},
			Caption: "Steps & marks."},
		{Name: "lines", Title: "Lines with intervals, groups and marks on logarithmic axes",
			X: Axis{Label: "servers", Log: true}, Y: Axis{Label: "query time, ms", Log: true},
			Series: []Series{
				curve("minRTO 300 ms", 1, 1, false, func(x float64) float64 { return 8 + x*x/3 }),
				curve("minRTO 300 ms, published", 1, 0, true, func(x float64) float64 { return 9 + x*x/4 }),
				curve("minRTO 10 ms", 2, 2, false, func(x float64) float64 { return 8 + x/5 }),
				curve("minRTO 10 ms, published", 2, 0, true, func(x float64) float64 { return 9 + x/6 }),
			},
			Marks: []Mark{{"floor: 8 ms", 8, false}, {"floor of tick: 8.8 ms", 8.8, false}, {"300 ms", 300, false}}},
		{Name: "band", Title: "A line of many points with a band", X: Axis{Label: "time, s", Lo: 50, Hi: 250}, Y: Axis{Label: "packets"}, Series: []Series{long}},
		{Name: "bars", Title: "Bars of categories with long names", X: Axis{Label: "policy", Ticks: []string{"Reno, 500 ms tick", "Vegas-1,3", "Vegas-2,4 with more", "per segment"}},
			Y: Axis{Label: "coarse timeouts per MB"}, Series: []Series{bars("10 buffers", 5.6, 0.9, 0.9, 1.2), bars("15 buffers", 4.6, 0.7, 0.9, 1), bars("20 buffers", 3.3, 0.8, 0.8, 0.4)},
			Marks: []Mark{{"published: 5.6", 5.6, false}}},
		{Name: "many-ticks", Title: "Bars in many categories, on a logarithmic axis", X: Axis{Label: "granularity", Ticks: strings.Fields("per-segment@exact 10µs 1ms 4ms 10ms 100ms 200ms 500ms 1000ms-and-more")},
			Y: Axis{Label: "wakes per second", Log: true}, Series: []Series{bars("wakes", 1e6, 1e5, 1000, 250, 100, 10, 5, 2, 1)}},
		{Name: "points", Title: "Frontier: colour by floor, sign by granularity", X: Axis{Label: "bad timeouts, %", Log: true}, Y: Axis{Label: "mean wait, round trips"},
			Series: []Series{points("floor 0, G 1 ms", 1, 1, 0), points("floor 0, G 100 ms", 1, 2, 0.3), points("floor 200 ms, G 1 ms", 2, 1, 0.6), points("floor 200 ms, G 100 ms", 2, 2, 0.9),
				points("floor 1 s, G 1 ms", 3, 1, 1.2), points("floor 1 s, G 100 ms", 3, 2, 1.5)}},
		{Name: "dodged", Title: "Points at categories on both sides of zero", X: Axis{Label: "variant", Ticks: []string{"down", "nearest", "up"}}, Y: Axis{Label: "error, %"},
			Series: []Series{
				{Name: "of requested", Kind: Points, X: []float64{0, 1, 2}, Y: []float64{-49.6, 33.3, 96.7}, Lo: []float64{-55, 30, 90}, Hi: []float64{-40, 40, 99}},
				{Name: "of actual", Kind: Points, X: []float64{0, 1, 2}, Y: []float64{-98.3, 48.3, 49.2}, Lo: []float64{-99, 44, 40}, Hi: []float64{-90, 50, 55}},
			}, Marks: []Mark{{"none", 0, false}}},
		{Name: "heat", Title: "Visits per timer", X: Axis{Label: "interval, ticks"}, Y: Axis{Label: "buckets"}, Map: heat},
		{Name: "winner", Title: "Who retransmits first", X: Axis{Label: "round trip"}, Y: Axis{Label: "of 10 segments, the last"}, Map: winner},
		{Name: "one", Title: "One point", X: Axis{Label: "x"}, Y: Axis{Label: "y"}, Series: []Series{{Name: "alone", Kind: Points, X: []float64{3}, Y: []float64{0}}}},
		{Name: "small", Title: "Small and great numbers", X: Axis{Label: "n"}, Y: Axis{Label: "share", Log: true},
			Series: []Series{{Name: "a", Kind: Line, X: []float64{0, 5e5, 1e6}, Y: []float64{1e-9, 3e-5, 1}, Lo: []float64{0, 1e-5, 0.9}, Hi: []float64{1e-8, 1e-4, 1}}}},
	}
}

// TestGolden is for eyes: a drawing changes only with somebody who has looked at it.
func TestGolden(t *testing.T) {
	for _, f := range samples() {
		if err := f.Check(); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join("testdata", f.Name+".svg")
		got := f.File()
		want, err := os.ReadFile(name)
		if err != nil && !*update {
			t.Fatal(err)
		}
		// The style is that of style.css, and no reason to write all of them again.
		if from, to := bytes.Index(want, []byte("<style>")), bytes.Index(want, []byte("</style>")); from >= 0 && to > from {
			want = bytes.Replace(want, want[from:to], []byte("<style>\n"+Style), 1)
		}
		if *update && !bytes.Equal(got, want) {
			if err := os.WriteFile(name, got, 0o666); err != nil {
				t.Fatal(err)
			}
			want = got
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is drawn otherwise: look at it, and run go test -update", name)
		}
		if again := f.File(); !bytes.Equal(got, again) {
			t.Errorf("%s: drawn twice, and not alike", f.Name)
		}
	}
}

// TestDrawingsAreSound finds markup that is none, numbers that are none, and words outside of the
// drawing.
func TestDrawingsAreSound(t *testing.T) {
	for _, f := range samples() {
		text := f.File()
		if bytes.Contains(text, []byte("NaN")) || bytes.Contains(text, []byte("Inf")) {
			t.Errorf("%s: has a place that is no number", f.Name)
		}
		var (
			d             = xml.NewDecoder(bytes.NewReader(text))
			width, height float64
			words         int
		)
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
			e, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			at := map[string]string{}
			for _, a := range e.Attr {
				at[a.Name.Local] = a.Value
			}
			if e.Name.Local == "svg" && width == 0 {
				if _, err := fmt.Sscanf(at["viewBox"], "0 0 %g %g", &width, &height); err != nil {
					t.Fatalf("%s: viewBox %q", f.Name, at["viewBox"])
				}
			}
			if e.Name.Local != "text" || at["x"] == "" {
				continue
			}
			words++
			x, _ := strconv.ParseFloat(at["x"], 64)
			y, _ := strconv.ParseFloat(at["y"], 64)
			if x < 0 || x > width || y < 8 || y > height {
				t.Errorf("%s: text at %g, %g outside of %g, %g", f.Name, x, y, width, height)
			}
		}
		if words < 6 {
			t.Errorf("%s: %d texts", f.Name, words)
		}
		if f.Map == nil && len(text) > 40_000 {
			t.Errorf("%s: %d bytes", f.Name, len(text))
		}
	}
}

// TestLabelsOfMarksKeepApart has marks at the same place, at both axes.
func TestLabelsOfMarksKeepApart(t *testing.T) {
	f := samples()[3]
	f.Marks = nil
	for i := range 5 {
		f.Marks = append(f.Marks, Mark{fmt.Sprintf("down %d", i), 0.01 * float64(i), false}, Mark{fmt.Sprintf("up %d", i), 1400 + float64(i), true})
	}
	type label struct{ x, y float64 }
	var all []label
	for line := range strings.SplitSeq(string(f.Drawing()), "<text ") {
		var l label
		if _, rest, ok := strings.Cut(line, `class="label`); ok {
			_, rest, _ = strings.Cut(rest, `x="`)
			if _, err := fmt.Sscanf(rest, `%g" y="%g"`, &l.x, &l.y); err != nil {
				t.Fatalf("%s: %v", rest, err)
			}
			all = append(all, l)
		}
	}
	if len(all) != 10 {
		t.Fatalf("%d labels, want 10", len(all))
	}
	for i, a := range all {
		for _, b := range all[:i] {
			if math.Abs(a.y-b.y) < 12 && math.Abs(a.x-b.x) < 40 {
				t.Errorf("labels at %v and %v", a, b)
			}
		}
	}
}

func TestCSV(t *testing.T) {
	for _, f := range samples() {
		var b bytes.Buffer
		if err := f.WriteCSV(&b); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&b).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		want := 1 + len(f.Marks)
		for _, s := range f.Series {
			want += len(s.X)
		}
		if f.Map != nil {
			want += len(f.Map.Rows) * len(f.Map.Columns)
		}
		if len(rows) != want {
			t.Errorf("%s: %d rows, want %d", f.Name, len(rows), want)
		}
	}
	f := samples()[6]
	var b strings.Builder
	if err := f.WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	want := "series,policy,coarse timeouts per MB,from,to\n10 buffers,\"Reno, 500 ms tick\",5.6,5.04,6.16\n"
	if !strings.HasPrefix(b.String(), want) || !strings.HasSuffix(b.String(), "\nmark: published: 5.6,,5.6,,\n") {
		t.Errorf("got\n%s", b.String())
	}
}

func TestTickText(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.05: "0.05", 1000: "1000", 25_000: "25k", 1e6: "1M", 2e-5: "2·10⁻⁵", 1e-9: "10⁻⁹", -0.5: "-0.5", 1e12: "10¹²", 3e9: "3G", 0.001: "0.001",
	} {
		if got := tickText(v); got != want {
			t.Errorf("tickText(%g) = %q, want %q", v, got, want)
		}
	}
}
