// Package sql runs the queries of pcaps/corpus/queries.sql in DuckDB, and compares their answers
// with ones computed from the JSON of the same captures.
package sql

import (
	"bufio"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	"tcpwheel/pcaps/corpus/peers"
)

var query = regexp.MustCompile(`(?s)\nSELECT .*?;`)

// queries returns the queries of the file.
func queries(t *testing.T) (all []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(peers.Root, "pcaps/corpus/queries.sql"))
	if err != nil {
		t.Fatal(err)
	}
	return query.FindAllString(string(text), -1)
}

// row is a row of an answer: texts, float64s and bools. A date is a text.
type row []any

// ask runs a query.
func ask(t *testing.T, db *sql.DB, query string) (rows []row) {
	t.Helper()
	all, err := db.Query(query)
	if err != nil {
		t.Fatalf("%v\n%s", err, query)
	}
	defer all.Close()
	columns, err := all.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for all.Next() {
		cells, to := make(row, len(columns)), make([]any, len(columns))
		for i := range cells {
			to[i] = &cells[i]
		}
		if err := all.Scan(to...); err != nil {
			t.Fatal(err)
		}
		for i, c := range cells {
			switch c := c.(type) {
			case nil, bool, string, float64:
			case interface{ Format(string) string }:
				cells[i] = c.Format("2006-01-02")
			default: // a number of another type
				var f float64
				if _, err := fmt.Sscan(fmt.Sprint(c), &f); err != nil {
					t.Fatalf("%T %v: %v", c, c, err)
				}
				cells[i] = f
			}
		}
		rows = append(rows, cells)
	}
	if err := all.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// same compares two answers. Numbers may differ by rounding.
func same(a, b []row) bool {
	return slices.EqualFunc(a, b, func(a, b row) bool {
		return slices.EqualFunc(a, b, func(a, b any) bool {
			x, ok := a.(float64)
			y, also := b.(float64)
			return ok && also && math.Abs(x-y) <= 1e-9*math.Max(1, math.Abs(x)) || a == b
		})
	})
}

// record is a line of JSON.
type record map[string]any

func (r record) number(name string) float64 { f, _ := r[name].(float64); return f }
func (r record) text(name string) string    { s, _ := r[name].(string); return s }
func (r record) has(name string) bool       { return r[name] != nil }

// records returns the records of a command's output by their type.
func records(t *testing.T, binary string, args ...string) map[string][]record {
	t.Helper()
	all := map[string][]record{}
	lines := bufio.NewScanner(strings.NewReader(peers.Run(t, peers.AnyStatus, nil, binary, args...)))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var r record
		if json.Unmarshal(lines.Bytes(), &r) == nil {
			all[r.text("type")] = append(all[r.text("type")], r)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// copyCaptures puts the captures into ten folders below captures.
func copyCaptures(t *testing.T) {
	t.Helper()
	names := peers.Captures(t)
	for i, name := range names {
		names[i], _ = filepath.Abs(name)
	}
	t.Chdir(t.TempDir()) // the queries read 'tables/...'
	for i, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		name = filepath.Join("captures", fmt.Sprintf("%02d-%s", i%10, filepath.Base(filepath.Dir(name))), filepath.Base(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func TestQueries(t *testing.T) {
	binary, all := peers.Build(t), queries(t)
	copyCaptures(t)
	replay := []string{"--policy", "linux,per-segment@1ms,bsd", "captures/*-tail-*/*"}
	peers.Run(t, 0, nil, binary, "analyze", "--parquet", "tables", "captures")
	peers.Run(t, 0, nil, binary, append([]string{"replay", "--parquet", "tables"}, replay...)...)
	analyzed := records(t, binary, "analyze", "--json", "captures")
	replayed := records(t, binary, append([]string{"replay", "--json"}, replay...)...)
	a := answers{
		files: analyzed["file"], conns: analyzed["connection"], episodes: analyzed["episode"], recoveries: replayed["recovery"],
		days: map[string]string{},
	}

	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, r := range ask(t, db, "SELECT file, day FROM read_parquet('tables/files/*/*.parquet', hive_partitioning = true) WHERE day IS NOT NULL") {
		a.days[r[0].(string)] = r[1].(string)
	}
	for _, c := range a.conns { // the day of a file is that of its first packet
		if c.number("first_packet") == 1 && c.text("first")[:10] != a.days[c.text("file")] {
			t.Errorf("%s: day %s, its first packet is of %s", c.text("file"), a.days[c.text("file")], c.text("first"))
		}
	}
	want := []func() []row{a.byKind, a.tax, a.spurious, a.lost, a.services, a.timers, a.handshakes, a.read, a.stalls, a.policies}
	if len(all) != len(want) {
		t.Fatalf("%d queries, want %d", len(all), len(want))
	}
	for i, query := range all {
		got := ask(t, db, query)
		if expected := want[i](); !same(got, expected) {
			t.Errorf("query %d:\n%v\nwant\n%v\n%s", i+1, got, expected, query)
		}
		if len(got) == 0 {
			t.Errorf("query %d has no rows", i+1)
		}
	}
}
