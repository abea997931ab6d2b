package testnet_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"tcpwheel/netstack/testnet"
)

// TestFailsOnPurpose is the test that TestCaptures runs in a process of its own.
func TestFailsOnPurpose(t *testing.T) {
	if os.Getenv(failEnv) == "" {
		t.Skip("TestCaptures runs it")
	}
	t.Run("a/b", func(t *testing.T) {
		bubble(t, testnet.Path{Delay: 20 * time.Millisecond, Up: "loss=packets:1", Down: "loss=ranges:9999-10000@1"}, func(t *testing.T, n *testnet.Net) {
			l := n.Listen(":80")
			go func() {
				if c, err := l.Accept(); err == nil {
					c.Write(make([]byte, 10_000)) // at once: the lost segment is the last one
				}
			}()
			c, err := n.Dial("tcp", "server:80")
			if err == nil {
				_, err = io.ReadFull(c, make([]byte, 10_000))
			}
			t.Error("on purpose:", err)
		}, testnet.Seed(7))
	})
}

// TestCaptures: a test that fails says how to repeat it, and leaves a capture of each host. Next to
// the lost SYN is the path that lost it; next to its repair, the timer.
func TestCaptures(t *testing.T) {
	self, err := os.Executable()
	if err != nil || runtime.GOOS == "js" {
		t.Skip("no process of its own: ", err)
	}
	for _, artifacts := range []bool{false, true} {
		dir := t.TempDir()
		args := []string{"-test.run=^TestFailsOnPurpose$"}
		if artifacts {
			args = append(args, "-test.artifacts", "-test.outputdir="+dir)
		}
		c := exec.Command(self, args...)
		c.Dir, c.Env = dir, append(os.Environ(), failEnv+"=1")
		out, err := c.CombinedOutput()
		if err == nil {
			t.Fatalf("the test passed:\n%s", out)
		}
		for _, want := range []string{
			"on purpose: <nil>", "testnet: Seed(7), after 1.", "2 lost, 1 timeouts, 1 SYNs retransmitted", "testnet: capture of client: ",
		} {
			if !bytes.Contains(out, []byte(want)) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
		var files []string
		filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
			if strings.HasSuffix(name, ".pcapng") {
				files = append(files, name)
			}
			return err
		})
		if len(files) != 2 {
			t.Fatalf("files %q, want one of each host", files)
		}
		name, want := files[0], "TestFailsOnPurpose-a-b.client.pcapng"
		if artifacts {
			want = "client.pcapng"
		}
		if filepath.Base(name) != want {
			t.Errorf("the capture is %s, want %s", name, want)
		}
		client, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		server, err := os.ReadFile(files[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, has := range []struct {
			file []byte
			want string
		}{
			{client, "lost on the path of client"}, {client, "SYN RTO: armed 1s ago for 1s, left 0s late"},
			{server, "lost on the path of client"}, {server, "TLP PTO: armed "},
		} {
			if !bytes.Contains(has.file, []byte(has.want)) {
				t.Errorf("artifacts %v: no %q in the capture", artifacts, has.want)
			}
		}
	}
}

// TestCaptureIsBounded: a capture of a long test has its latest packets.
func TestCaptureIsBounded(t *testing.T) {
	bubble(t, testnet.Path{}, func(t *testing.T, n *testnet.Net) {
		go http.Serve(n.Listen(":80"), page(50_000_000))
		if got, err := get(n.HTTPClient(), "http://server/"); got != 50_000_000 || err != nil {
			t.Fatal(got, err)
		}
		var file bytes.Buffer
		if err := n.Host(testnet.Client).WriteCapture(&file); err != nil {
			t.Fatal(err)
		}
		if mb := file.Len() >> 20; mb < 30 || mb > 40 {
			t.Errorf("a capture of %d MB, want some 32", mb)
		}
	})
}
