package promtext

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// ContentType is the type of the format in HTTP.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Histogram counts values in buckets. Multiple goroutines may invoke its methods. A reading is of
// no single moment: a value may be in a bucket and not yet in the sum.
type Histogram struct {
	bounds []float64
	counts []atomic.Uint64 // one more: above all bounds
	sum    atomic.Uint64   // the bits of a float64
}

// NewHistogram returns a histogram of n buckets. The first ends at least, and each of the others at
// factor times the one before. It panics unless least > 0, factor > 1 and n > 0.
func NewHistogram(least, factor float64, n int) *Histogram {
	if !(least > 0 && factor > 1 && n > 0) {
		panic(fmt.Sprintf("BUG: %d buckets from %v by %v", n, least, factor))
	}
	h := &Histogram{counts: make([]atomic.Uint64, n+1)}
	for range n {
		h.bounds = append(h.bounds, least)
		least *= factor
	}
	return h
}

// Observe counts a value. It does not allocate.
func (h *Histogram) Observe(v float64) {
	i, _ := slices.BinarySearch(h.bounds, v) // a bucket holds its bound
	h.counts[i].Add(1)
	for {
		old := h.sum.Load()
		if h.sum.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+v)) {
			return
		}
	}
}

// Page is the metrics of one reading. The zero value is empty.
type Page struct{ families map[string]*family }

type family struct {
	kind, help string
	lines      []string
}

// Gauge adds a gauge. labels are pairs of a name and a value.
func (p *Page) Gauge(name, help string, value float64, labels ...string) {
	p.family("gauge", name, help).add(name, value, labels)
}

// Counter adds a counter. labels are pairs of a name and a value.
func (p *Page) Counter(name, help string, value float64, labels ...string) {
	p.family("counter", name, help).add(name, value, labels)
}

// Histogram adds a histogram. labels are pairs of a name and a value.
func (p *Page) Histogram(name, help string, h *Histogram, labels ...string) {
	f, n := p.family("histogram", name, help), uint64(0)
	for i := range h.counts {
		bound := math.Inf(1)
		if i < len(h.bounds) {
			bound = h.bounds[i]
		}
		n += h.counts[i].Load()
		f.add(name+"_bucket", float64(n), append(slices.Clip(labels), "le", number(bound)))
	}
	f.add(name+"_sum", math.Float64frombits(h.sum.Load()), labels)
	f.add(name+"_count", float64(n), labels)
}

// family returns the metrics of a name. It panics if the name has another kind.
func (p *Page) family(kind, name, help string) *family {
	f := p.families[name]
	if f == nil {
		if p.families == nil {
			p.families = map[string]*family{}
		}
		f = &family{kind: kind, help: help}
		p.families[name] = f
	}
	if f.kind != kind {
		panic(fmt.Sprintf("BUG: %s is a %s and a %s", name, f.kind, kind))
	}
	return f
}

var (
	helpEscaper  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	labelEscaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// add adds a line, with its labels sorted by name, le last.
func (f *family) add(name string, value float64, labels []string) {
	pairs := make([]string, 0, len(labels)/2)
	for i := 0; i < len(labels); i += 2 {
		pairs = append(pairs, labels[i]+`="`+labelEscaper.Replace(labels[i+1])+`"`)
	}
	sorted := pairs
	if n := len(labels); n > 0 && labels[n-2] == "le" {
		sorted = pairs[:len(pairs)-1]
	}
	slices.Sort(sorted)
	if len(pairs) > 0 {
		name += "{" + strings.Join(pairs, ",") + "}"
	}
	f.lines = append(f.lines, name+" "+number(value)+"\n")
}

func number(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// Write writes the metrics, sorted by name. Those of a name stay in the order that they came in.
func (p *Page) Write(w io.Writer) error {
	for _, name := range slices.Sorted(maps.Keys(p.families)) {
		f := p.families[name]
		_, err := fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n%s", name, helpEscaper.Replace(f.help), name, f.kind, strings.Join(f.lines, ""))
		if err != nil {
			return err
		}
	}
	return nil
}
