package corpus

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

type manifestRow struct {
	File  string `json:"file"`
	Error string `json:"error,omitempty"`
}

type thingRow struct {
	Type   string         `json:"type"`
	File   string         `json:"file"`
	Path   string         `json:"path,omitempty"`
	First  string         `json:"first"`
	Packet int64          `json:"ack_packet,omitempty"`
	Count  int64          `json:"copies,omitempty"`
	RTT    *nested        `json:"rtt,omitempty"`
	Flag   *bool          `json:"sack,omitempty"`
	Kinds  map[string]int `json:"episodes,omitempty"`
	List   []int64        `json:"packets"`
	Port   uint16         `json:"port"`
}

type nested struct {
	Min  float64 `json:"min_s"`
	Best string  `json:"best,omitempty"`
}

// testTables is a folder of tables with a manifest and another table.
type testTables struct {
	*testing.T
	dir              string
	manifest, things *Table
}

func newTestTables(t *testing.T) *testTables {
	return &testTables{T: t, dir: t.TempDir(), manifest: NewTable[manifestRow]("files"), things: NewTable[thingRow]("things")}
}

func (t *testTables) open() *Tables {
	t.Helper()
	tables, err := OpenTables(t.Context(), t.dir, Options{Format: JSONLines{}}, t.manifest, t.things)
	if err != nil {
		t.Fatal(err)
	}
	return tables
}

// commit writes a part with some rows.
func (t *testTables) commit(o *Object, day time.Time, rows int, failure string) {
	t.Helper()
	p := t.open().Begin(o)
	for i := range rows {
		p.Add(t.things, thingRow{File: o.Name, First: "2026-01-02T03:04:05Z", Packet: int64(i)})
	}
	p.SetRow(manifestRow{o.Name, failure})
	if err := p.Commit(t.Context(), day, failure != ""); err != nil {
		t.Fatal(err)
	}
}

// parts returns the parts of objects by table and day, shortened.
func (t *testTables) parts() (all []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(t.dir, "*", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		name, _ := filepath.Rel(t.dir, name)
		if filepath.Base(name) != "empty.jsonl" {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

func TestTablesKnowWhatIsDone(t *testing.T) {
	tt := newTestTables(t)
	day := time.Date(2026, 1, 2, 23, 59, 0, 0, time.FixedZone("", -2*3600)) // the 3rd in UTC
	old := &Object{Name: "x", Size: 10, Tag: "1"}
	if got := tt.open().State(old); got != Missing {
		t.Errorf("nothing there: %v", got)
	}
	tt.commit(old, day, 3, "")
	id := partID(old)
	if got, want := strings.Join(tt.parts(), " "), "files/day=2026-01-03/"+id+".jsonl things/day=2026-01-03/"+id+".jsonl"; got != want {
		t.Errorf("parts %s, want %s", got, want)
	}
	if got := tt.open().State(old); got != Complete {
		t.Errorf("after Commit: %v", got)
	}
	for _, other := range []*Object{{Name: "y", Size: 10, Tag: "1"}, {Name: "x", Size: 11, Tag: "1"}, {Name: "x", Size: 10, Tag: "2"}} {
		if got := tt.open().State(other); got != Missing {
			t.Errorf("%+v: %v, want Missing", other, got)
		}
	}
	// Another version of another day, with an error, replaces it.
	changed := &Object{Name: "x", Size: 10, Tag: "2"}
	tt.commit(changed, time.Time{}, 0, "damaged")
	if got, want := strings.Join(tt.parts(), " "), "files/day="+noDay+"/"+partID(changed)+".error.jsonl"; got != want {
		t.Errorf("parts %s, want %s", got, want)
	}
	if got := tt.open().State(changed); got != Failed {
		t.Errorf("with an error: %v", got)
	}
	// Mended, it replaces the error.
	tt.commit(changed, day, 1, "")
	if got := tt.parts(); len(got) != 2 || tt.open().State(changed) != Complete {
		t.Errorf("parts %v", got)
	}
}

// TestUnfinishedAttempts checks that what a killed run left does not count, and goes.
func TestUnfinishedAttempts(t *testing.T) {
	tt := newTestTables(t)
	o := &Object{Name: "x", Size: 10, Tag: "1"}
	day := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	tt.commit(o, day, 2, "")
	want := tt.parts()
	body, err := os.ReadFile(filepath.Join(tt.dir, want[1]))
	if err != nil {
		t.Fatal(err)
	}
	// Killed before the manifest; another time after an older program wrote other rows; while writing.
	if err := os.Remove(filepath.Join(tt.dir, want[0])); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		want[1]: "rows of an older program", want[1] + ".ABC.part": "{",
		"things/day=2025-01-01/" + objectID(o) + "-00000000.jsonl": "another version",
	} {
		name = filepath.Join(tt.dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got := tt.open().State(o); got != Missing {
		t.Errorf("unfinished: %v", got)
	}
	tt.commit(o, day, 2, "")
	if got := tt.parts(); !slices.Equal(got, want) {
		t.Errorf("parts %v, want %v", got, want)
	}
	again, err := os.ReadFile(filepath.Join(tt.dir, want[1]))
	if err != nil || string(again) != string(body) {
		t.Errorf("%d bytes, %v, want the same %d", len(again), err, len(body))
	}
	// Killed after the manifest and before the old version went.
	left := filepath.Join(tt.dir, "things/day=2025-01-01", objectID(o)+"-00000000.jsonl")
	if err := os.WriteFile(left, []byte("another version"), 0o666); err != nil {
		t.Fatal(err)
	}
	tables := tt.open()
	if err := tables.Tidy(t.Context(), o); err != nil || !slices.Equal(tt.parts(), want) {
		t.Errorf("parts %v, %v, want %v", tt.parts(), err, want)
	}
}

func TestTablesThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := OpenTables(context.Background(), filepath.Join(file, "tables"), Options{Format: JSONLines{}}, NewTable[manifestRow]("files"))
	if err == nil || !strings.Contains(err.Error(), "cannot write there") {
		t.Errorf("%v", err)
	}
}
