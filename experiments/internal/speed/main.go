// Speed measures how fast the project is and how far it is from the limit. For each kind of work it
// prints our time, that of the best peer at hand, and that of the part of the work that cannot be
// left out. With -figures it also draws how each time grows with n. "make speed" runs it.
//
// Every figure is the least of many short turns. Ours, the peer and the limit alternate. Other
// programs only add to a turn, so the least is the best estimate on a busy machine. Believe
// ratios. Where the machine shares its caches with others, repeat on a quiet one.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"tcpwheel/pcaps/figure"
)

// row is one line of the table: the times of one operation in ns, 0 if not measured.
type row struct {
	work  string
	unit  string
	ours  float64
	peer  float64
	named string // the peer
	limit float64
	what  string // the limit, in a few words
}

// result is what a part of the program found.
type result struct {
	rows    []row
	figures []figure.Figure
	notes   []string
}

func main() {
	quick := flag.Bool("quick", false, "few and small sizes")
	only := flag.String("only", "", "run only these parts, joined by commas: timers, engine, captures, kernel, processors")
	dir := flag.String("figures", "", "folder for the figures, none if empty")
	ratas := flag.String("ratas", os.Getenv("RATAS"), "the benchmark program of Ratas, compiled, to compare with "+
		"(default $RATAS)")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "speed: unexpected argument %q\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *quick, *only, *dir, *ratas); err != nil {
		fmt.Fprintln(os.Stderr, "speed:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, quick bool, only, dir, ratas string) error {
	fmt.Printf("# %s %s/%s, %d processors\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	var all result
	for _, part := range []struct {
		name string
		run  func(ctx context.Context, quick bool) (result, error)
	}{
		{"timers", func(ctx context.Context, quick bool) (result, error) { return timers(ctx, quick, ratas) }},
		{"engine", engine},
		{"captures", captures},
		{"kernel", kernel},
		{"processors", processors},
	} {
		if only != "" && !slices.Contains(strings.Split(only, ","), part.name) {
			continue
		}
		start := time.Now()
		r, err := part.run(ctx, quick)
		if err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		fmt.Fprintf(os.Stderr, "%s: %.0f s\n", part.name, time.Since(start).Seconds())
		all.rows = append(all.rows, r.rows...)
		all.figures = append(all.figures, r.figures...)
		all.notes = append(all.notes, r.notes...)
	}
	writeTable(all)
	if dir == "" {
		return nil
	}
	for _, f := range all.figures {
		if err := f.Check(); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name+".svg"), f.File(), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// writeTable prints the rows as Markdown.
func writeTable(all result) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, "| work\t| ours\t| best peer\t| limit\t| peer/ours\t| ours/limit\t|")
	fmt.Fprintln(w, "|---\t|---\t|---\t|---\t|---\t|---\t|")
	for _, r := range all.rows {
		peer, limit := "-", "-"
		if r.peer > 0 {
			peer = fmt.Sprintf("%.3g, %s", r.peer, r.named)
		}
		if r.limit > 0 {
			limit = fmt.Sprintf("%.3g, %s", r.limit, r.what)
		}
		fmt.Fprintf(w, "| %s, %s\t| %.3g\t| %s\t| %s\t| %s\t| %s\t|\n", r.work, r.unit, r.ours, peer, limit, ratio(r.peer,
			r.ours), ratio(r.ours, r.limit))
	}
	w.Flush()
	for _, note := range all.notes {
		fmt.Println("\n" + note)
	}
}

func ratio(a, b float64) string {
	if a == 0 || b == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", a/b)
}

// least returns the least time of each function in so many turns, in ns per operation.
func least(ctx context.Context, turns int, ops float64, work ...func()) []float64 {
	all := make([]func() time.Duration, len(work))
	for i, f := range work {
		all[i] = func() time.Duration { f(); return 0 }
	}
	return leastWithout(ctx, turns, ops, all...)
}

// leastWithout is least for functions that return how much of their time does not count.
func leastWithout(ctx context.Context, turns int, ops float64, work ...func() time.Duration) []float64 {
	best := make([]float64, len(work))
	for range turns {
		for i, f := range work {
			if ctx.Err() != nil {
				return best
			}
			start := time.Now()
			other := f()
			if ns := float64(time.Since(start)-other) / ops; best[i] == 0 || ns < best[i] {
				best[i] = ns
			}
		}
	}
	return best
}
