package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tcpwheel/cmd/tcpwheel/internal/clitest/bombs"
)

// TestBombs analyses and replays small files that unpack to 64 MB, or to 1 GB in long tests. Each
// ends with a sentence, and takes no more memory than a usual capture.
func TestBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector takes memory, too: runs without -short")
	}
	size := int64(64 << 20)
	if os.Getenv("TCPWHEEL_LONG") != "" {
		size = 1 << 30
	}
	for _, b := range bombs.All() {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			content, err := b.File(size)
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.Join(t.TempDir(), b.Name)
			if err := os.WriteFile(name, content, 0o666); err != nil {
				t.Fatal(err)
			}
			for command, want := range map[string]string{"analyze": b.Analyze, "replay": b.Replay} {
				var talk bytes.Buffer
				c := exec.Command(os.Args[0], command, name)
				c.Env, c.Stdout, c.Stderr = append(os.Environ(), asCommand+"=peak"), &talk, &talk
				if err := c.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
					t.Fatal(err)
				}
				_, peak, _ := strings.Cut(talk.String(), "\npeak ")
				used, err := strconv.Atoi(strings.TrimSuffix(peak, " kB\n"))
				if err != nil {
					t.Fatalf("%v in %s", err, &talk)
				}
				used >>= 10
				t.Logf("%s of %d kB that unpack to %d MB: status %d, %d MB, %.1f s: %s", command, len(content)/1000, size>>20,
					c.ProcessState.ExitCode(), used, c.ProcessState.UserTime().Seconds(), &talk)
				if used > 100 {
					t.Errorf("%s took %d MB, want 100 at most", command, used)
				}
				if got := c.ProcessState.ExitCode(); got != b.Status || !strings.Contains(talk.String(), want) {
					t.Errorf("%s ends with status %d and says %q, want %d and %q", command, got, &talk, b.Status, want)
				}
			}
		})
	}
}
