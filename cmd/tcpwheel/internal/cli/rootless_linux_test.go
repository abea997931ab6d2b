package cli

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// rootlessCommand is tcpwheel up --rootless in its own process. It skips the test where the system
// lets users make no namespaces or no devices.
func rootlessCommand(t *testing.T, args ...string) (cmd *exec.Cmd, talk *bytes.Buffer) {
	t.Helper()
	probe := exec.Command("/bin/true")
	probe.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}}
	if err := probe.Run(); err != nil {
		t.Skipf("no user namespace: %v", err)
	}
	f, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	f.Close()
	talk = new(bytes.Buffer)
	cmd = exec.Command(os.Args[0], append([]string{"up", "--rootless"}, args...)...)
	cmd.Env, cmd.Stderr = append(os.Environ(), asCommand+"=1"), talk
	return cmd, talk
}

// TestRootlessRunsACommand runs a command in the namespaces: it sees the device and its own
// loopback only, and its exit status is that of up.
func TestRootlessRunsACommand(t *testing.T) {
	t.Parallel()
	cmd, talk := rootlessCommand(t, "--loss", "1%", "--", "sh", "-c", "cut -d: -f1 -s /proc/net/dev; exit 7")
	out, err := cmd.Output()
	exit := new(exec.ExitError)
	if !errors.As(err, &exit) || exit.ExitCode() != 7 || strings.Join(strings.Fields(string(out)), " ") != "lo wheel0" && strings.Join(strings.Fields(string(out)), " ") != "wheel0 lo" {
		t.Errorf("it ends with %v and prints %q, want status 7 and lo and wheel0; it says %s", err, out, talk)
	}
	if n := strings.Count(talk.String(), "exit status 7"); n != 1 {
		t.Errorf("it says %d times that the command failed, want once: %s", n, talk)
	}
}

// TestRootlessStatus reaches the status server from outside while a command runs inside. A signal
// ends both.
func TestRootlessStatus(t *testing.T) {
	t.Parallel()
	cmd, talk := rootlessCommand(t, "--status", "127.0.0.1:0", "--", "sleep", "60")
	cmd.Stderr = nil
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(upLimit, func() { cmd.Process.Kill() }).Stop()
	at, body := regexp.MustCompile(`status at (http://\S+)`), ""
	for lines := bufio.NewScanner(io.TeeReader(said, talk)); body == "" && lines.Scan(); {
		where := at.FindStringSubmatch(lines.Text())
		if where == nil {
			continue
		}
		r, err := http.Get(where[1] + "/info")
		if err != nil {
			t.Error(err)
			break
		}
		b, err := io.ReadAll(r.Body)
		r.Body.Close()
		if body = string(b); err != nil {
			t.Error(err)
		}
	}
	if !strings.Contains(body, `"10.7.0.2/24"`) {
		t.Errorf("/info is %q; it says %s", body, talk)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	io.Copy(talk, said)
	if err := cmd.Wait(); err == nil {
		t.Errorf("it ends with %v, want the error of the command that the signal ended; it says %s", err, talk)
	}
}
