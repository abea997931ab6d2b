package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"tcpwheel/pcaps/replay"
	"tcpwheel/tcptimers"
)

// inputNames returns the names of captures below a folder, "+" after names found in a folder.
func inputNames(dir string, all []captureFile) string {
	var out []string
	for _, o := range all {
		name := strings.TrimPrefix(strings.TrimPrefix(o.Name, dir), "/")
		if o.Listed {
			name += "+"
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

func TestListCaptures(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b/2", "b/1", "b/c/[x]", "a", ".hidden", ".git/config", "d/e/f/1"} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("text"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ inputs, want string }{
		{"", "a+ b/1+ b/2+ b/c/[x]+ d/e/f/1+ link+"},
		{"/b", "b/1+ b/2+ b/c/[x]+"},
		{"/b/", "b/1+ b/2+ b/c/[x]+"},
		{"/./b", "b/1+ b/2+ b/c/[x]+"},
		{"/b/c/[x]", "b/c/[x]"},
		{"/b /b/1 /a", "b/1+ b/2+ b/c/[x]+ a"},
		{"/none", "none"},
	} {
		var inputs []string
		for _, input := range strings.Split(c.inputs, " ") {
			inputs = append(inputs, dir+input)
		}
		all, err := listCaptures(inputs)
		if got := inputNames(dir, all); err != nil || got != c.want {
			t.Errorf("listCaptures(%q) = %q, %v, want %q", c.inputs, got, err, c.want)
		}
		for _, o := range all {
			if o.Size != 4 && o.Size != -1 {
				t.Errorf("%s: %d bytes", o.Name, o.Size)
			}
		}
	}
	t.Chdir(dir)
	if all, err := listCaptures([]string{"b/1", "./b/c"}); err != nil || inputNames("", all) != "b/1 b/c/[x]+" {
		t.Errorf("in the folder: %q, %v", inputNames("", all), err)
	}
	for _, arg := range []string{".", "./"} { // its files have no directory in their names
		if all, err := listCaptures([]string{arg}); err != nil || inputNames("", all) != "a+ b/1+ b/2+ b/c/[x]+ d/e/f/1+ link+" {
			t.Errorf("%s: %q, %v", arg, inputNames("", all), err)
		}
	}
}

// TestShards: the shards of a directory have each capture once, whole, in the order of the names,
// and about as many bytes.
func TestShards(t *testing.T) {
	dir := corpusFiles(t)
	all, err := listCaptures([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 2, 3, 7, 100} {
		var union []captureFile
		var least, most, largest int64
		for i := range n {
			mine, err := shardOf(fmt.Sprintf("%d/%d", i, n), all)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.IsSortedFunc(mine, func(a, b captureFile) int { return strings.Compare(a.Name, b.Name) }) {
				t.Errorf("shard %d/%d is not in the order of names", i, n)
			}
			cost := int64(0)
			for _, f := range mine {
				cost += f.Size
				largest = max(largest, f.Size)
			}
			if i == 0 {
				least = cost
			}
			least, most = min(least, cost), max(most, cost)
			union = append(union, mine...)
		}
		slices.SortFunc(union, func(a, b captureFile) int { return strings.Compare(a.Name, b.Name) })
		if !slices.Equal(union, all) || most-least > largest {
			t.Errorf("%d shards have %d of %d captures, and %d to %d bytes", n, len(union), len(all), least, most)
		}
	}
}

// TestDamagedAmongOthers: a damaged capture is an error line and a record, the others are analysed,
// and the status is 1.
func TestDamagedAmongOthers(t *testing.T) {
	var out, talk bytes.Buffer
	if status := run([]string{"analyze", "--json", corpusFiles(t)}, nil, &out, &talk); status != exitFailed || !strings.Contains(talk.String(), "damaged.pcapng: ") {
		t.Errorf("status %d, %s", status, &talk)
	}
	files, errors := 0, 0
	for dec := json.NewDecoder(&out); dec.More(); {
		var r struct{ Type, Error string }
		if err := dec.Decode(&r); err != nil {
			t.Fatal(err)
		}
		if r.Type == "file" {
			files++
		}
		if r.Error != "" {
			errors++
		}
	}
	if errors != 1 || files < 15 {
		t.Errorf("%d records of %d files have an error, want that of the damaged capture", errors, files)
	}
}

// TestReplayOutlivesPanics: a bug that connections meet in their replay is an error with its stack.
// The other captures are replayed all the same.
func TestReplayOutlivesPanics(t *testing.T) {
	dir := filepath.Join(corpusFiles(t), "a") // 0 and 2 have losses, 1 has none
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	var talk bytes.Buffer
	r := &replaying{stdout: io.Discard, stderr: &talk, maxConns: 100, inputFlags: inputFlags{top: 10}}
	// It has no estimator, and panics.
	r.study.Choices = []replay.Choice{replay.NewChoice("broken", tcptimers.Policy{})}
	if err := r.run(cmd, []string{dir}); err == nil || !strings.Contains(err.Error(), "panic") || r.Conns != 3 {
		t.Errorf("error %v after %d connections, want a panic after 3", err, r.Conns)
	}
	if n := strings.Count(talk.String(), "NewEstimator"); n < 2 {
		t.Errorf("%d stacks, want 2\n%s", n, &talk)
	}
}
