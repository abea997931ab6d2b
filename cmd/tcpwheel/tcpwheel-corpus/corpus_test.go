package main

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"tcpwheel/cmd/tcpwheel/internal/cli"
	"tcpwheel/cmd/tcpwheel/internal/clitest"
	"tcpwheel/netstack/sim"
	"tcpwheel/pcaps/corpus"
)

func TestMain(m *testing.M) {
	useCorpora()
	os.Exit(m.Run())
}

// TestScripts runs testdata/*.txt.
func TestScripts(t *testing.T) { clitest.Scripts(t, cli.Run, false) }

// tcpwheelOf runs a command and returns what it prints.
func tcpwheelOf(t *testing.T, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, talk bytes.Buffer
	if got := cli.Run(args, strings.NewReader(""), &out, &talk); got != want {
		t.Fatalf("tcpwheel %s: exit status %d, want %d\n%s", strings.Join(args, " "), got, want, &talk)
	}
	return out.String(), talk.String()
}

// rowsOf returns the rows of a table, sorted: their values by column, NULL left out, and the day.
func rowsOf(t *testing.T, dir, table string) (rows []map[string]any) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, table), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !strings.HasSuffix(path, ".parquet") {
			return nil // unfinished
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		day := strings.TrimPrefix(filepath.Base(filepath.Dir(path)), "day=")
		for _, g := range f.RowGroups() {
			rows = append(rows, groupRows(t, f.Schema(), g, day)...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(rows, func(a, b map[string]any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return rows
}

func groupRows(t *testing.T, schema *parquet.Schema, g parquet.RowGroup, day string) (rows []map[string]any) {
	t.Helper()
	r := g.Rows()
	defer r.Close()
	buf := make([]parquet.Row, 1)
	for range g.NumRows() {
		if n, err := r.ReadRows(buf); n != 1 {
			t.Fatal(err)
		}
		row := map[string]any{"day": day}
		for column, values := range buf[0].Range {
			path := schema.Columns()[column]
			leaf, _ := schema.Lookup(path...)
			for _, v := range values {
				switch {
				case v.IsNull():
				case len(path) > 1:
					list, _ := row[path[0]].([]string)
					row[path[0]] = append(list, v.String())
				case strings.HasPrefix(leaf.Node.Type().String(), "TIMESTAMP"):
					row[path[0]] = time.Unix(0, v.Int64()).UTC().Format(time.RFC3339Nano)
				case leaf.Node.Type().String() == "INT(32,false)":
					row[path[0]] = fmt.Sprint(v.Uint32())
				case v.Kind() == parquet.Double:
					row[path[0]] = strconv.FormatFloat(v.Double(), 'g', -1, 64)
				default:
					row[path[0]] = v.String()
				}
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// flatten returns the values of a JSON record by column.
func flatten(record map[string]any, prefix string, to map[string]any) {
	for name, v := range record {
		if prefix != "" {
			name = prefix + "_" + name
		}
		switch v := v.(type) {
		case map[string]any:
			flatten(v, name, to)
		case []any:
			var list []string
			for _, x := range v {
				list = append(list, jsonText(x))
			}
			to[name] = list
		default:
			to[name] = jsonText(v)
		}
	}
	delete(to, "type")
}

func jsonText(v any) string {
	if n, ok := v.(json.Number); ok {
		if f, err := n.Float64(); err == nil && strings.ContainsAny(n.String(), ".eE") {
			return strconv.FormatFloat(f, 'g', -1, 64)
		}
		return n.String()
	}
	return fmt.Sprint(v)
}

// jsonRows returns what analyze --json prints, as rows by table.
func jsonRows(t *testing.T, dir string) map[string][]map[string]any {
	t.Helper()
	var out, talk bytes.Buffer
	cli.Run([]string{"analyze", "--json", dir}, strings.NewReader(""), &out, &talk)
	tables := map[string][]map[string]any{}
	lines := json.NewDecoder(&out)
	lines.UseNumber()
	for lines.More() {
		var record map[string]any
		if err := lines.Decode(&record); err != nil {
			t.Fatal(err)
		}
		kind := record["type"].(string)
		flows, _ := record["flows"].([]any)
		delete(record, "flows")
		row := map[string]any{}
		flatten(record, "", row)
		if kind != "connection" {
			tables[kind+"s"] = append(tables[kind+"s"], row)
		}
		for i, flow := range flows {
			one, both := map[string]any{"flow": fmt.Sprint(i)}, map[string]any{}
			flatten(flow.(map[string]any), "", both)
			for _, name := range []string{"packets", "time_lost_s", "timer_wait_s"} {
				if v, ok := both[name]; ok {
					both["flow_"+name] = v
					delete(both, name)
				}
			}
			for _, from := range []map[string]any{row, both} {
				for name, v := range from {
					one[name] = v
				}
			}
			tables["connections"] = append(tables["connections"], one)
		}
	}
	return tables
}

// TestTablesAreTheJSON checks that the tables have the rows, names and values of the JSON records.
func TestTablesAreTheJSON(t *testing.T) {
	dir, out := clitest.Corpus(t), t.TempDir()
	_, talk := tcpwheelOf(t, 0, "analyze", "--parquet", out, dir)
	if !strings.Contains(talk, "damaged.pcapng: packet") || !strings.Contains(talk, "2 files in the directories are no captures") {
		t.Errorf("it says\n%s", talk)
	}
	want := jsonRows(t, dir)
	for table, key := range map[string][]string{"files": {"file"}, "connections": {"file", "conn", "flow"}, "episodes": {"file", "conn", "src", "retransmission_packet", "seq"}} {
		id := func(row map[string]any) (text string) {
			for _, name := range key {
				text += fmt.Sprint(row[name], " ")
			}
			return text
		}
		have := map[string]map[string]any{}
		for _, row := range rowsOf(t, out, table) {
			if row["error"] != nil && strings.Contains(row["error"].(string), "not a capture") {
				continue // found in a directory: analyze --json leaves them out
			}
			if have[id(row)] != nil {
				t.Errorf("%s: %s is there twice", table, id(row))
			}
			have[id(row)] = row
		}
		if len(have) != len(want[table]) || len(have) < 10 {
			t.Errorf("%s: %d rows, JSON has %d", table, len(have), len(want[table]))
		}
		for _, record := range want[table] {
			row := have[id(record)]
			for name, v := range record {
				if fmt.Sprint(row[name]) != fmt.Sprint(v) {
					t.Errorf("%s %s: %s is %v, JSON has %v", table, id(record), name, row[name], v)
				}
			}
			for name, v := range row {
				if _, known := record[name]; !known && !slices.Contains([]string{"0", "false"}, fmt.Sprint(v)) && !slices.Contains([]string{"day", "size_bytes", "tag", "program", "first", "last"}, name) {
					t.Errorf("%s %s: %s is %v, JSON has nothing", table, id(record), name, v)
				}
			}
		}
	}
}

// sameTables compares tables row for row.
func sameTables(t *testing.T, got, want string, tables ...string) {
	t.Helper()
	for _, table := range tables {
		have, wanted := rowsOf(t, got, table), rowsOf(t, want, table)
		if len(have) != len(wanted) || len(have) == 0 {
			t.Errorf("%s: %d rows, want %d", table, len(have), len(wanted))
			continue
		}
		for i := range have {
			if fmt.Sprint(have[i]) != fmt.Sprint(wanted[i]) {
				t.Errorf("%s: row %d is\n%v, want\n%v", table, i, have[i], wanted[i])
				break
			}
		}
	}
}

// TestShardsMakeOneCorpus checks that shards together write the tables of one run, that a second
// run reads nothing, and that --retry reads the captures with errors.
func TestShardsMakeOneCorpus(t *testing.T) {
	dir, single, shards := clitest.Corpus(t), t.TempDir(), t.TempDir()
	tcpwheelOf(t, 0, "analyze", "--parquet", single, dir)
	for i := range 3 {
		tcpwheelOf(t, 0, "analyze", "--parquet", shards, "--shard", fmt.Sprintf("%d/3", i), dir)
	}
	sameTables(t, shards, single, "files", "connections", "episodes")
	for _, again := range []struct{ flag, want string }{
		{"--parquet=" + single, "0 captures read"},
		{"--retry", "1 capture read"},
	} {
		out, _ := tcpwheelOf(t, 0, "analyze", "--parquet", single, again.flag, dir)
		if !strings.HasPrefix(out, again.want) {
			t.Errorf("%s: %swant %s", again.flag, out, again.want)
		}
		sameTables(t, single, shards, "files", "connections", "episodes")
	}
	// A new version of a capture replaces the rows of the old one.
	changed := filepath.Join(dir, "a", "0.pcapng")
	body, err := os.ReadFile(filepath.Join(dir, "a", "2.pcapng"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(changed, body, 0o666); err != nil {
		t.Fatal(err)
	}
	if out, _ := tcpwheelOf(t, 0, "analyze", "--parquet", single, dir); !strings.HasPrefix(out, "1 capture read") {
		t.Errorf("a new version: %s", out)
	}
	fresh := t.TempDir()
	tcpwheelOf(t, 0, "analyze", "--parquet", fresh, dir)
	sameTables(t, single, fresh, "files", "connections", "episodes")
}

// TestReplayTables checks the tables of replay against its JSON.
func TestReplayTables(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	l, err := sim.ParseLosses("packets:20,60-62,146-147")
	if err != nil {
		t.Fatal(err)
	}
	body, err := clitest.Captured(l)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "x.pcapng")
	if err := os.WriteFile(name, body, 0o666); err != nil {
		t.Fatal(err)
	}
	tcpwheelOf(t, 0, "replay", "--parquet", out, "--policy", "linux,bsd", dir)
	text, _ := tcpwheelOf(t, 0, "replay", "--json", "--policy", "linux,bsd", dir)
	var want []map[string]any
	lines := json.NewDecoder(strings.NewReader(text))
	lines.UseNumber()
	for lines.More() {
		var record map[string]any
		if err := lines.Decode(&record); err != nil {
			t.Fatal(err)
		}
		if record["type"] == "recovery" {
			row := map[string]any{"day": "2026-01-02"}
			flatten(record, "", row)
			for name, v := range row {
				if v == "<nil>" {
					delete(row, name)
				}
			}
			want = append(want, row)
		}
	}
	slices.SortFunc(want, func(a, b map[string]any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	if have := rowsOf(t, out, "recoveries"); fmt.Sprint(have) != fmt.Sprint(want) || len(have) < 6 {
		t.Errorf("recoveries:\n%v\nwant\n%v", have, want)
	}
	if rows := rowsOf(t, out, "replays"); len(rows) != 1 || rows[0]["replayed"] != "1" || rows[0]["with_losses"] != "1" {
		t.Errorf("replays: %v", rows)
	}
}

// TestCertificates checks that opening a store brings certificates where the system has none.
func TestCertificates(t *testing.T) {
	if os.Getenv("SSL_CERT_DIR") != "/nowhere" {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCertificates$")
		c.Env = append(os.Environ(), "SSL_CERT_DIR=/nowhere", "SSL_CERT_FILE=/nowhere/certs.pem")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	for _, scheme := range []string{"", "s3", "gs"} {
		if scheme != "" {
			o := corpus.Options{Anonymous: true, Env: func(string) string { return "" }}
			if _, err := stores()[scheme](t.Context(), "bucket", o); err != nil {
				t.Fatal(err)
			}
		} else if _, err := corpus.List(t.Context(), []string{"lossy.pcap"}, corpus.Options{}); err != nil {
			t.Fatal(err)
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			t.Fatal(err)
		}
		if got := !pool.Equal(x509.NewCertPool()); got != (scheme != "") {
			t.Errorf("%q: certificates %t", scheme, got)
		}
	}
}

// argsVariable has the arguments of a run in a process of its own, as JSON.
const argsVariable = "TCPWHEEL_TEST_ARGS"

// TestOwnProcess is no test: it is the process that ownProcess starts.
func TestOwnProcess(t *testing.T) {
	text := os.Getenv(argsVariable)
	if text == "" {
		t.Skip("runs only in a process that another test starts")
	}
	var args []string
	if err := json.Unmarshal([]byte(text), &args); err != nil {
		t.Fatal(err)
	}
	os.Exit(cli.Run(args, os.Stdin, os.Stdout, os.Stderr))
}

func ownProcess(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOwnProcess$")
	c.Env = append(os.Environ(), argsVariable+"="+string(text))
	return c
}

// TestKilledRunsEndWithTheSameTables kills a run ten times at random moments. The tables at the end
// are those of one run, and no unfinished file is left.
func TestKilledRunsEndWithTheSameTables(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs a dozen processes")
	}
	dir, whole, killed := clitest.Corpus(t), t.TempDir(), t.TempDir()
	for i := range 20 { // more work than one run between two kills can do
		if err := os.CopyFS(filepath.Join(dir, fmt.Sprint("copy", i)), os.DirFS(filepath.Join(dir, "a"))); err != nil {
			t.Fatal(err)
		}
	}
	begun := time.Now()
	tcpwheelOf(t, 0, "analyze", "-j", "2", "--parquet", whole, dir)
	killAndCompare(t, dir, whole, killed, time.Since(begun)/3)
}

// killAndCompare kills ten runs at random moments, within the first part of each, finishes the
// tables, and compares them with those of a whole run.
func killAndCompare(t *testing.T, dir, whole, killed string, within time.Duration) {
	t.Helper()
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	for i := range 10 {
		c := ownProcess(t, "analyze", "-j", "2", "--parquet", killed, dir)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		for range 500 { // the process starts, and only then the clock
			if _, err := os.Stat(filepath.Join(killed, "files")); err == nil {
				break
			}
			time.Sleep(2 * time.Millisecond)
		}
		time.Sleep(time.Duration(random.Int64N(int64(within))))
		if err := c.Process.Kill(); err != nil && i < 3 {
			t.Error(err)
		}
		_ = c.Wait()
		t.Logf("killed run %d: %d parts", i, len(rowsOf(t, killed, "files")))
	}
	tcpwheelOf(t, 0, "analyze", "-j", "2", "--parquet", killed, dir)
	sameTables(t, killed, whole, "files", "connections", "episodes")
	left, err := filepath.Glob(filepath.Join(killed, "*", "*", "*.part"))
	if len(left) > 0 || err != nil {
		t.Errorf("left over: %v, %v", left, err)
	}
}
