// Package clusters runs what docs/corpora.md shows and the manifests of experiments/cluster: in a
// Slurm of its own, as Kubernetes would start the pods, and in DuckDB.
package clusters

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the root of the repository.
const root = "../../.."

// build builds the command and returns the binary.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "tcpwheel")
	c := exec.Command("go", "-C", root, "build", "-trimpath", "-buildvcs=false", "-o", binary, "./cmd/tcpwheel")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}

// runIn runs a command in a folder and returns what it prints. It fails unless the status is 0.
func runIn(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	var out, talk bytes.Buffer
	c.Dir, c.Stdout, c.Stderr = dir, &out, &talk
	if err := c.Run(); err != nil {
		t.Fatalf("%s %q: %v\n%s%s", filepath.Base(name), args, err, &out, &talk)
	}
	return out.String()
}

// shown returns the code that docs/corpora.md shows in its block of a language.
func shown(t *testing.T, language string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/corpora.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, code, ok := strings.Cut(string(text), "\n```"+language+"\n")
	code, rest, closed := strings.Cut(code, "```\n")
	if !ok || !closed || strings.Contains(rest, "```"+language+"\n") {
		t.Fatalf("docs/corpora.md: want one block of %s", language)
	}
	return code
}

// copyCaptures puts so many copies of the samples' captures below a folder.
func copyCaptures(t *testing.T, dir string, copies int) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, "pcaps/samples/*/*.pcapng.gz"))
	if err != nil || len(names) < 30 {
		t.Fatalf("%d captures, %v, want the samples", len(names), err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range copies {
			to := filepath.Join(dir, fmt.Sprint(i), filepath.Base(filepath.Dir(name)), filepath.Base(name))
			if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(to, text, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// sameLines compares the lines that shards wrote into a folder with those of a single run there.
func sameLines(t *testing.T, binary, dir string, shards int) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "losses-*.jsonl"))
	if err != nil || len(names) != shards {
		t.Errorf("the shards wrote %q, %v, want %d files", names, err, shards)
	}
	var got []string
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil || len(text) == 0 {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
		got = slices.AppendSeq(got, strings.Lines(string(text)))
	}
	want := slices.Collect(strings.Lines(runIn(t, dir, binary, "analyze", "--json", "captures")))
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || len(want) < 100 {
		t.Errorf("%d lines of the shards, %d of a single run, want the same", len(got), len(want))
	}
}

// tree returns the files below a folder.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, dir)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// sameTrees compares two folders byte for byte. They have at least so many files.
func sameTrees(t *testing.T, got, want string, least int) {
	t.Helper()
	have, wanted := tree(t, got), tree(t, want)
	if len(have) != len(wanted) || len(have) < least {
		t.Errorf("%d files, want %d, and at least %d", len(have), len(wanted), least)
	}
	for name, text := range wanted {
		if have[name] != text {
			t.Errorf("%s differs", name)
		}
	}
}
