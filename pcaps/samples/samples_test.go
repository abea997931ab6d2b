package samples

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"

	"tcpwheel/pcaps/capture"
)

// TestCapturesCanBeRead reads each capture to its end.
func TestCapturesCanBeRead(t *testing.T) {
	list := List()
	if len(list) < 10 {
		t.Fatalf("%d samples, want more", len(list))
	}
	for _, s := range list {
		if s.About == "" || len(s.Captures) < 2 {
			t.Errorf("%s: %q, captures %v, want what it is about and two at least", s.Name, s.About, s.Captures)
		}
		for _, name := range s.Captures {
			in, err := Open(name)
			if err != nil {
				t.Fatal(err)
			}
			r, err := capture.NewReader(in, name)
			if err != nil {
				t.Fatal(err)
			}
			for err == nil {
				_, err = r.Next()
			}
			if stats := r.Stats(); !errors.Is(err, io.EOF) || stats.TCP < 20 {
				t.Errorf("%s: %d segments, then %v", name, stats.TCP, err)
			}
			r.Close()
			in.Close()
		}
	}
	if _, err := Open("nothing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open(nothing): %v", err)
	}
	if _, err := Dir("nothing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Dir(nothing): %v", err)
	}
}

// TestSums expects the checksum of each file in SHA256SUMS, and no other.
func TestSums(t *testing.T) {
	text, err := os.ReadFile("SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	sums, size, n := string(text), 0, 0
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".gz") {
			return err
		}
		data, err := fs.ReadFile(files, name)
		size, n = size+len(data), n+1
		if line := fmt.Sprintf("%x  %s\n", sha256.Sum256(data), name); !strings.Contains(sums, line) {
			t.Errorf("SHA256SUMS does not have %s: make samples writes it", line)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(sums, "\n"); got != n {
		t.Errorf("SHA256SUMS has %d files, want %d", got, n)
	}
	if size > 800_000 {
		t.Errorf("%d bytes in all programs, want less", size)
	}
}
