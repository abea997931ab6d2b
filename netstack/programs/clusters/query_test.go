package clusters

import (
	"database/sql"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"
)

// episode has the fields that the query uses.
type episode struct {
	Type, Kind, Spurious string
	TRec                 *float64 `json:"t_rec_s"`
	Lost                 float64  `json:"time_lost_s"`
	Waited               float64  `json:"timer_wait_s"`
}

// quantile interpolates, as quantile_cont.
func quantile(values []float64, q float64) float64 {
	slices.Sort(values)
	at := q * float64(len(values)-1)
	low := int(at)
	return values[low] + (values[min(low+1, len(values)-1)]-values[low])*(at-float64(low))
}

// answer computes the row of a kind.
func answer(all []episode) (row [6]float64) {
	var times []float64
	for _, e := range all {
		row[0]++
		if e.Spurious == "yes" {
			row[1]++
		}
		if e.TRec != nil {
			times = append(times, *e.TRec)
		}
		row[4] += e.Lost
		row[5] += e.Waited
	}
	row[1] /= row[0]
	row[2], row[3] = quantile(times, 0.5), quantile(times, 0.95)
	return row
}

// TestQuery asks DuckDB the question of docs/corpora.md about the lines of two shards, and computes
// the answer from them.
func TestQuery(t *testing.T) {
	binary, query, dir := build(t), shown(t, "sql"), t.TempDir()
	copyCaptures(t, filepath.Join(dir, "captures"), 1)
	t.Chdir(dir)
	kinds := map[string][]episode{}
	for _, i := range []string{"0", "1"} {
		lines := runIn(t, dir, binary, "analyze", "--json", "--shard", i+"/2", "captures")
		if err := os.WriteFile("losses-"+i+".jsonl", []byte(lines), 0o666); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(lines) {
			var e episode
			if strings.HasPrefix(line, `{"type":"episode"`) {
				if err := json.Unmarshal([]byte(line), &e); err != nil {
					t.Fatal(err)
				}
				kinds[e.Kind] = append(kinds[e.Kind], e)
			}
		}
	}
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatalf("%v\n%s", err, query)
	}
	defer rows.Close()
	var got []string
	for rows.Next() {
		var (
			kind string
			row  [6]float64
		)
		if err := rows.Scan(&kind, &row[0], &row[1], &row[2], &row[3], &row[4], &row[5]); err != nil {
			t.Fatal(err)
		}
		got = append(got, kind)
		for i, want := range answer(kinds[kind]) {
			if math.Abs(row[i]-want) > 1e-9*math.Max(1, want) {
				t.Errorf("%s: column %d is %v, want %v", kind, i+1, row[i], want)
			}
		}
	}
	if want := slices.Sorted(maps.Keys(kinds)); rows.Err() != nil || !slices.Equal(got, want) || len(want) < 3 {
		t.Errorf("kinds %q, %v, want %q", got, rows.Err(), want)
	}
}
