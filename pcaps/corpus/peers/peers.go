// Package peers, for the tests below it, builds the command and collects captures.
package peers

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Root is the root of the repository, from a package of this module.
const Root = "../../../.."

// Build builds tcpwheel-corpus, in its own module, and returns the binary.
func Build(t testing.TB) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "tcpwheel-corpus")
	module := filepath.Join(Root, "cmd", "tcpwheel", "tcpwheel-corpus")
	c := exec.Command("go", "-C", module, "build", "-trimpath", "-buildvcs=false", "-o", binary, ".")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}

// Captures returns the sample captures of the repository, and the public ones next to it if they
// are there.
func Captures(t testing.TB) (names []string) {
	t.Helper()
	for _, pattern := range []string{"pcaps/samples/*/*.pcapng.gz", "../shared/captures/*.pcap*", "../shared/captures/second/*.*"} {
		some, err := filepath.Glob(filepath.Join(Root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, some...)
	}
	if len(names) < 30 {
		t.Fatalf("%d captures, want the samples at least", len(names))
	}
	return names
}

// AnyStatus is a wanted status for Run.
const AnyStatus = -1

// Run runs a command and returns its output: what it prints, and then its messages. It fails unless
// the command ends with the wanted status.
func Run(t testing.TB, want int, env []string, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Env = append(os.Environ(), env...)
	var out, talk bytes.Buffer
	c.Stdout, c.Stderr = &out, &talk
	err := c.Run()
	if c.ProcessState == nil || want != AnyStatus && c.ProcessState.ExitCode() != want {
		t.Fatalf("%s %q: %v, want status %d\n%s%s", filepath.Base(name), args, err, want, &out, &talk)
	}
	return out.String() + talk.String()
}
