package cli

import (
	"bytes"
	"strings"
	"testing"
)

// TestCommandsThatNeedLinux calls the commands that use Linux's devices as on another system: each
// says so in one line, with exit status 2. Their parts that use none of them run.
func TestCommandsThatNeedLinux(t *testing.T) {
	defer func(before string) { system = before }(system)
	system = "plan9"
	for _, line := range []string{
		"up", "up --rootless -- true", "link",
	} {
		var stdout, stderr bytes.Buffer
		status := run(strings.Fields(line), strings.NewReader(""), &stdout, &stderr)
		said := stderr.String()
		if status != exitUsage || stdout.Len() != 0 || strings.Count(said, "\n") != 1 ||
			!strings.HasPrefix(said, "tcpwheel: error: "+strings.Fields(line)[0]) || !strings.Contains(said, "needs Linux for") {
			t.Errorf("%s: status %d, %q and %q, want 2 and a line that says it needs Linux", line, status, &stdout, said)
		}
	}
	for _, line := range []string{"up --help", "samples"} {
		var stdout, stderr bytes.Buffer
		if run(strings.Fields(line), strings.NewReader(""), &stdout, &stderr); strings.Contains(stderr.String(), "needs Linux") {
			t.Errorf("%s: %s", line, stderr.String())
		}
	}
}
