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
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"tcpwheel/internal/record"
	"tcpwheel/pcaps/figure"
)

// row is one line of the table: the times of one operation, 0 if not measured.
type row struct {
	Work     string  `json:"work"`
	Unit     string  `json:"unit"`
	Ours     float64 `json:"ours" cell:"digits"`
	Peer     float64 `json:"peer" cell:"digits 0=-"`
	BestPeer string  `json:"best_peer"`
	Limit    float64 `json:"limit" cell:"digits 0=-"`
	LimitIs  string  `json:"limit_is"`

	PeerRatio  float64 `json:"peer_ratio" head:"peer/ours" cell:"digits 0=-"`
	LimitRatio float64 `json:"limit_ratio" head:"ours/limit" cell:"digits 0=-"`
}

// layout is the table as Markdown.
var layout = record.NewLayout[row]("| %-*work | %-*unit | %*ours | %*peer | %-*best_peer | %*limit | %-*limit_is | " +
	"%*peer_ratio | %*limit_ratio |")

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
	for i := range all.rows {
		r := &all.rows[i]
		r.PeerRatio, r.LimitRatio = ratio(r.Peer, r.Ours), ratio(r.Ours, r.Limit)
	}
	head, rows, _ := strings.Cut(layout.Table(all.rows), "\n")
	fmt.Printf("%s\n%s\n%s", head, notBar.ReplaceAllString(head, "-"), rows)
	for _, note := range all.notes {
		fmt.Println("\n" + note)
	}
}

var notBar = regexp.MustCompile("[^|]")

// ratio is 0 if one of the two was not measured.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
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
