package cli

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestKilled kills commands at twenty random moments. What they write is afterwards the earlier
// output or the new one, whole, and the next run leaves nothing else. An experiment that was killed
// goes on where it stopped: its journal never shrinks.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: sixty processes, which share no memory with the test")
	}
	capture, err := filepath.Abs(filepath.Join("..", "..", "..", "..", "pcaps", "samples", "burst", "a.pcapng.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"analyze":    {"analyze", capture, "--annotate", "out"},
		"replay":     {"replay", capture, "--html", "out"},
		"experiment": {"experiment", "run", "nichols", "fig9", "--quick", "--workers", "1", "--out", "out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			start := func() *exec.Cmd {
				cmd := exec.Command(os.Args[0], args...)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), asCommand+"=1")
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				return cmd
			}
			begun := time.Now()
			if err := start().Wait(); err != nil {
				t.Fatal(err)
			}
			took, whole := time.Since(begun), contents(t, dir)
			if len(whole) == 0 {
				t.Fatal("no output")
			}
			rng, journal := rand.New(rand.NewPCG(1, 1)), int64(0)
			for i := range 20 {
				cmd := start()
				time.Sleep(time.Duration(rng.Int64N(int64(took))))
				cmd.Process.Kill()
				_ = cmd.Wait() // an error, unless it was faster
				got := contents(t, dir)
				for file, text := range whole {
					if !bytes.Equal(got[file], text) {
						t.Fatalf("kill %d: %s has %d bytes, want the %d of a whole run", i, file, len(got[file]), len(text))
					}
				}
				if info, err := os.Stat(filepath.Join(dir, "out.cells")); err == nil {
					if info.Size() < journal {
						t.Errorf("kill %d: the journal has %d bytes, and had %d", i, info.Size(), journal)
					}
					journal = info.Size()
				} else {
					journal = 0 // a run was complete
				}
			}
			if err := start().Wait(); err != nil {
				t.Fatal(err)
			}
			if got := contents(t, dir); !maps.EqualFunc(got, whole, bytes.Equal) {
				t.Errorf("the next run leaves %d files, want the %d of a whole run", len(got), len(whole))
			}
		})
	}
}

// contents returns the files below dir.
func contents(t *testing.T, dir string) map[string][]byte {
	all := map[string][]byte{}
	if err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all[name], err = os.ReadFile(name)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}
