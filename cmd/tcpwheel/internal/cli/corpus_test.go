package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"tcpwheel/cmd/tcpwheel/internal/clitest"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/corpus"
	"tcpwheel/pcaps/replay"
	"tcpwheel/pcaps/track"
	"tcpwheel/tcptimers"
)

// TestWhatIsElsewhere calls what only tcpwheel-corpus has: one line names it, with exit status 2.
func TestWhatIsElsewhere(t *testing.T) {
	for line, want := range map[string]string{
		"analyze s3://bucket/x.pcap":        "s3://bucket/x.pcap",
		"replay gs://bucket/":               "gs://bucket/",
		"analyze azblob://c/x y.pcap":       "azblob://c/x",
		"analyze --parquet tables x.pcap":   "--parquet",
		"analyze --anonymous s3://bucket/x": "--anonymous",
	} {
		var stdout, stderr bytes.Buffer
		status := run(strings.Fields(line), strings.NewReader(""), &stdout, &stderr)
		said := stderr.String()
		if status != exitUsage || strings.Count(said, "\n") != 1 || !strings.Contains(said, want+" needs tcpwheel-corpus") {
			t.Errorf("%s: status %d, %q, want 2 and a line that names tcpwheel-corpus", line, status, said)
		}
	}
}

// withTables gives a test tables of JSON lines.
func withTables(t *testing.T) {
	UseCorpora(nil, corpus.JSONLines{})
	t.Cleanup(func() { UseCorpora(nil, nil) })
}

// rowsOf returns the rows of a table of JSON lines.
func rowsOf(t *testing.T, dir, table string) (rows []map[string]any) {
	t.Helper()
	parts, err := filepath.Glob(filepath.Join(dir, table, "*", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range parts {
		body, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for lines := json.NewDecoder(bytes.NewReader(body)); lines.More(); {
			var row map[string]any
			if err := lines.Decode(&row); err != nil {
				t.Fatal(err)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func TestCorpusLine(t *testing.T) {
	var p corpus.Progress
	p.Start([]corpus.Object{{Size: 3_000_000}, {Size: 1_000_000}})
	if _, err := io.Copy(io.Discard, p.Count(bytes.NewReader(make([]byte, 1_000_000)))); err != nil {
		t.Fatal(err)
	}
	p.Done()
	if got := corpusLine(&p); !regexp.MustCompile(`^1 of 2 files, 1 MB of 4 MB, \S+ .B/s$`).MatchString(got) {
		t.Errorf("%q", got)
	}
	p.Start([]corpus.Object{{Size: 4_000_000}}) // as if it had begun before
	if got := progressAfter(&p, 10*time.Second); !strings.HasSuffix(got, ", 100 kB/s, about 30s left") {
		t.Errorf("%q", got)
	}
}

// TestPanicIsARow checks that a panic over one capture is its error, and changes no other.
func TestPanicIsARow(t *testing.T) {
	withTables(t)
	dir, out := clitest.Corpus(t), t.TempDir()
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	f := corpusFlags{parquet: out, jobs: 2}
	objects, err := f.objects(cmd, []string{filepath.Join(dir, "a")})
	if err != nil {
		t.Fatal(err)
	}
	var talk bytes.Buffer
	r := tableRun{f: &f, stdout: io.Discard, stderr: &talk, tables: []*corpus.Table{fileTable}}
	err = r.run(cmd, objects, func(o *corpus.Object, part *corpus.Part, _ *corpus.Progress) (*capture.Stats, error) {
		err := track.Guard(func() error {
			if strings.HasSuffix(o.Name, "1.pcapng") {
				panic("odd input")
			}
			return nil
		})
		row := fileRow{fileRecord: fileRecord{File: o.Name}}
		if err != nil {
			row.Error = err.Error()
		}
		part.SetRow(row)
		return &capture.Stats{}, err
	})
	rows := rowsOf(t, out, "files")
	failed := 0
	for _, row := range rows {
		if row["error"] == "panic: odd input" {
			failed++
		}
	}
	if err != nil || len(rows) != 3 || failed != 1 || !strings.Contains(talk.String(), "corpus_test.go") {
		t.Errorf("%v, %d rows, %d with the panic, and its stack in\n%s", err, len(rows), failed, &talk)
	}
}

// TestReplayOutlivesPanics: a bug that connections meet in their replay is an error with its stack.
// The other captures are replayed all the same.
func TestReplayOutlivesPanics(t *testing.T) {
	dir := filepath.Join(clitest.Corpus(t), "a") // 0 and 2 have losses, 1 has none
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	var talk bytes.Buffer
	r := &replaying{stdout: io.Discard, stderr: &talk, maxConns: 100, top: 10}
	// It has no estimator, and panics.
	r.study.Choices = []replay.Choice{replay.NewChoice("broken", tcptimers.Policy{})}
	if err := r.run(cmd, []string{dir}); err == nil || !strings.Contains(err.Error(), "panic") || r.conns != 3 {
		t.Errorf("error %v after %d connections, want a panic after 3", err, r.conns)
	}
	if n := strings.Count(talk.String(), "NewEstimator"); n < 2 {
		t.Errorf("%d stacks, want 2\n%s", n, &talk)
	}
}
