package truth

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tcpwheel/pcaps/track"
	"tcpwheel/wheel/stat"
)

// Write writes the tables: episodes, packets with tshark's labels if there are any, and verdicts.
func (s *Tally) Write(w io.Writer) {
	right, all := s.Episodes.Right()
	fmt.Fprintf(w, "%d of %d episodes are of the right kind: %.2f %%\n", right, all, s.Kinds())
	if s.InPlace > 0 {
		fmt.Fprintf(w, "of those, probes in place of a timeout that were called timeouts: %d\n", s.InPlace)
	}
	(&grid{}).add("found:", s.Episodes.columns()).write(w)
	if n := len(s.Errors); n > 0 {
		errors := slices.Sorted(slices.Values(s.Errors))
		fmt.Fprintf(w, "D is off by %v in the median, by %v at the 95th percentile\n", round(errors[stat.Rank(n, 0.5)]), round(errors[stat.Rank(n, 0.95)]))
	}
	right, all = s.Packets.Right()
	fmt.Fprintf(w, "%d of %d retransmitted packets: %.2f %%\n", right, all, percent(right, all))
	packets := (&grid{}).add("found:", s.Packets.columns())
	if s.Labels.Any() {
		packets.add("tshark:", s.Labels.Kinds.columns())
	}
	packets.write(w)
	v := &s.Verdicts
	fmt.Fprintf(w, "spurious: precision %.2f %%, recall %.2f %%\n", v.Precision(), v.Recall())
	if s.Unreported > 0 {
		fmt.Fprintf(w, "left out, because their DSACKs were lost: %d\n", s.Unreported)
	}
	verdicts := (&grid{names: []string{"no", "yes"}}).add("found:", v.columns())
	if s.Labels.Any() {
		verdicts.add("tshark:", s.Labels.Verdicts.columns())
	}
	verdicts.write(w)
}

func round(d time.Duration) time.Duration { return d.Round(time.Microsecond) }

// column is a table column: its head, and a number per row.
type column struct {
	head string
	rows []int
}

// columns returns a column for each kind found, and one for missed ones. Rows are the true kinds,
// and false ones.
func (c *Confusion) columns() (out []column) {
	for k := range c[0] {
		col := column{head: "missed"}
		if k < track.Kinds {
			col.head = track.Kind(k).String()
		}
		for i := range c {
			col.rows = append(col.rows, c[i][k])
		}
		out = append(out, col)
	}
	return out
}

func (v *Verdicts) columns() (out []column) {
	for k := range v[0] {
		out = append(out, column{track.Spuriousness(k).String(), []int{v[0][k], v[1][k]}})
	}
	return out
}

// grid is tables next to each other, with the same rows: true kinds, unless names are given.
type grid struct {
	names  []string
	heads  []string
	tables [][]column
}

func (g *grid) add(head string, columns []column) *grid {
	g.heads, g.tables = append(g.heads, head), append(g.tables, columns)
	return g
}

// lineWidth is the width of tables next to each other.
const lineWidth = 80

// write writes the tables without zero rows and columns. Tables too wide for one line go below each
// other.
func (g *grid) write(w io.Writer) {
	var text strings.Builder
	g.lines(&text)
	if first, _, _ := strings.Cut(text.String(), "\n"); len(first) <= lineWidth || len(g.tables) == 1 {
		io.WriteString(w, text.String())
		return
	}
	for i := range g.tables {
		(&grid{g.names, g.heads[i : i+1], g.tables[i : i+1]}).lines(w)
	}
}

// lines writes the tables next to each other.
func (g *grid) lines(w io.Writer) {
	names := g.names
	if names == nil {
		for k := range track.Kinds {
			names = append(names, track.Kind(k).String())
		}
		names = append(names, "none")
	}
	used := make([]bool, len(names))
	for _, t := range g.tables {
		for _, c := range t {
			for i, n := range c.rows {
				used[i] = used[i] || n > 0
			}
		}
	}
	line := func(name string, cell func(table int, c *column) string) {
		var b strings.Builder
		fmt.Fprintf(&b, "%9s", name)
		for i, t := range g.tables {
			if i > 0 {
				b.WriteString("   ")
			}
			fmt.Fprintf(&b, "%8s", cell(i, nil))
			for k := range t {
				if slices.Max(t[k].rows) == 0 {
					continue
				}
				width := len(t[k].head)
				for _, n := range t[k].rows {
					width = max(width, len(fmt.Sprint(n)))
				}
				fmt.Fprintf(&b, " %*s", width, cell(i, &t[k]))
			}
		}
		fmt.Fprintln(w, b.String())
	}
	line("true", func(table int, c *column) string {
		if c == nil {
			return g.heads[table]
		}
		return c.head
	})
	for i, name := range names {
		if !used[i] {
			continue
		}
		line(name, func(_ int, c *column) string {
			if c == nil {
				return ""
			}
			return fmt.Sprint(c.rows[i])
		})
	}
}
