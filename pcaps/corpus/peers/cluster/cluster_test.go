// Package cluster runs the manifests of experiments/cluster: in a Slurm of its own, and as
// Kubernetes would start the pods.
package cluster

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tcpwheel/pcaps/corpus/peers"
)

// copyCaptures puts so many copies of the captures into a folder.
func copyCaptures(t *testing.T, dir string, copies int) {
	t.Helper()
	for _, name := range peers.Captures(t) {
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
