package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tcpwheel/tun"
	"tcpwheel/tun/link"
)

// linkArgs are the arguments of a link between namespaces of this process. It skips the test where
// namespaces cannot be made.
func linkArgs(t *testing.T, args ...string) []string {
	t.Helper()
	all := []string{"link", "--make-netns"}
	for _, side := range []string{"a", "b"} {
		name := fmt.Sprintf("tcpwheel-cmd-%d-%s", os.Getpid(), side)
		ns, err := tun.AddNamespace(name)
		if err != nil {
			t.Skipf("cannot make a namespace here: %v", err)
		}
		if err := ns.Close(); err != nil {
			t.Fatal(err)
		}
		all = append(all, "--"+side+"-netns", name)
	}
	return append(all, args...)
}

// TestLinkCommand pings over a link, as root.
func TestLinkCommand(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	var out, talk bytes.Buffer
	status := run(linkArgs(t, "--delay", "1ms", "--a-to-b", "loss=packets:1", "--log", log, "--json",
		"--b-run", "echo b", "--", "/bin/sh", "-c", "echo a; exit 3"), strings.NewReader(""), &out, &talk)
	if status != 3 || !strings.Contains(talk.String(), "exit status 3") || !strings.Contains(out.String(), "a\n") {
		t.Fatalf("status %d, %q, %q", status, out.String(), talk.String())
	}
	var s [2]link.Summary
	_, objects, _ := strings.Cut(talk.String(), "are joined\n")
	dec := json.NewDecoder(strings.NewReader(objects))
	for i := range s {
		if err := dec.Decode(&s[i]); err != nil || s[i].Direction != link.Direction(i) {
			t.Errorf("object %d of %q: %v", i, objects, err)
		}
	}
	if b, err := os.ReadFile(log); err != nil || !bytes.Contains(b, []byte(`"record":"end"`)) {
		t.Errorf("log %q, %v", b, err)
	}
	if status := run(linkArgs(t, "--log", log+"/x"), nil, io.Discard, &talk); status != exitUsage {
		t.Errorf("status %d of a log that cannot be, want %d", status, exitUsage)
	}
}
