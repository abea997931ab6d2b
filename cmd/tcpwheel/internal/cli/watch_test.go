package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tcpwheel/pcaps/samples"
	"tcpwheel/pcaps/watch"
)

// watchSample runs watch on a sample, as from a pipe.
func watchSample(t *testing.T, args ...string) string {
	t.Helper()
	in, err := samples.Open("outage/a.pcapng.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var out, talk bytes.Buffer
	if status := run(append([]string{"watch", "-"}, args...), in, &out, &talk); status != exitOK {
		t.Fatalf("status %d: %s", status, &talk)
	}
	return out.String()
}

// TestWatchPipe watches a pipe: the summary as text, and lines of JSON with a summary at the end.
func TestWatchPipe(t *testing.T) {
	const want = "pipe: 264 TCP packets in "
	if text := watchSample(t); !strings.HasPrefix(text, want) || !strings.Contains(text, "\nall ") || strings.Contains(text, "\x1b") {
		t.Errorf("%q, want %q and a table", text, want)
	}
	lines := strings.Split(strings.TrimSpace(watchSample(t, "--json", "--port", "1")), "\n")
	if len(lines) != 1 {
		t.Errorf("%d lines of another port, want the summary", len(lines))
	}
	lines = strings.Split(strings.TrimSpace(watchSample(t, "--json")), "\n")
	var summary watch.Snapshot
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &summary); err != nil || summary.Type != "summary" {
		t.Fatalf("%v: %s", err, lines[len(lines)-1])
	}
	if n := len(lines) - 1; n != summary.Total.All.Episodes || n < 2 {
		t.Errorf("%d episodes, the summary has %d", n, summary.Total.All.Episodes)
	}
	for _, line := range lines[:len(lines)-1] {
		var e watch.Episode
		if err := json.Unmarshal([]byte(line), &struct {
			*watch.Episode
			Evidence json.RawMessage
		}{Episode: &e}); err != nil || e.Type != "episode" || e.Kind == "" || e.TRec == nil {
			t.Errorf("%v: %s", err, line)
		}
	}
}

// TestWatchAnnotates writes the packets of the episodes, which analyze reads.
func TestWatchAnnotates(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.pcapng")
	watchSample(t, "--annotate", name, "--annotate-files", "1")
	var out, talk bytes.Buffer
	if status := run([]string{"analyze", name}, nil, &out, &talk); status != exitOK || !strings.Contains(out.String(), "conn packet") {
		t.Errorf("status %d: %s%s", status, &out, &talk)
	}
	if status := run([]string{"watch", "-", "--annotate", t.TempDir()}, os.Stdin, &out, &talk); status != exitUsage {
		t.Errorf("a directory: status %d, want %d", status, exitUsage)
	}
}

// fullDisk fails to write.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// TestWatchEndsWhenOutputFails ends the watch of a pipe that goes on, where the first episode
// cannot be written.
func TestWatchEndsWhenOutputFails(t *testing.T) {
	in, err := samples.Open("outage/a.pcapng.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	plain, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	silent, w := io.Pipe()
	defer w.Close()
	var talk bytes.Buffer
	if status := run([]string{"watch", "-", "--json"}, io.MultiReader(plain, silent), fullDisk{}, &talk); status != exitFailed ||
		!strings.Contains(talk.String(), "no space left") {
		t.Errorf("status %d: %s", status, &talk)
	}
}
