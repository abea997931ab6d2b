package cli

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tcpwheel/tun"
	"tcpwheel/tun/netns"
	"tcpwheel/tun/up"
)

// With this variable set, the test binary is the command. If it is "peak", the command ends with a
// line about its memory. The kernel's count for a child begins with that of the test.
const asCommand = "TCPWHEEL_TEST_AS_COMMAND"

func init() {
	switch os.Getenv(asCommand) {
	case "":
	case "peak":
		collectLate()
		status := run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
		text, _ := os.ReadFile("/proc/self/status")
		_, peak, _ := strings.Cut(string(text), "VmHWM:")
		fmt.Fprintf(os.Stderr, "peak %s kB\n", strings.Fields(peak)[0])
		os.Exit(status)
	default:
		Main()
	}
}

// running is the command in its own process, in the test's namespace.
type running struct {
	t    *testing.T
	ns   *tun.Namespace
	cmd  *exec.Cmd
	out  bytes.Buffer
	talk chan string // lines of standard error
	said []string
}

const upLimit = 3 * time.Minute

// startUp starts up with its device in a namespace. It skips the test where namespaces cannot be
// made. The namespace ends with the test.
func startUp(t *testing.T, args ...string) *running {
	t.Helper()
	ns := netns.Test(t)
	return start(t, ns, (*exec.Cmd).Start, append([]string{"up", "--netns", ns.Path(), "--tun", "up0", "--addr", "10.7.0.2/24,fd07::2/64",
		"--host-addr", "10.7.0.1/24,fd07::1/64"}, args...)...)
}

// start starts the command by a function, here or in the namespace.
func start(t *testing.T, ns *tun.Namespace, by func(*exec.Cmd) error, args ...string) *running {
	t.Helper()
	u := &running{t: t, ns: ns, talk: make(chan string, 1000), cmd: exec.Command(os.Args[0], args...)}
	u.cmd.Env = append(os.Environ(), asCommand+"=1")
	u.cmd.Stdout = &u.out
	stderr, err := u.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := by(u.cmd); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(u.talk)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			u.talk <- lines.Text()
		}
	}()
	kill := time.AfterFunc(upLimit, func() { u.cmd.Process.Kill() })
	t.Cleanup(func() { kill.Stop(); u.cmd.Process.Kill() })
	return u
}

// await returns the next line of standard error that contains text.
func (u *running) await(text string) string {
	u.t.Helper()
	limit := time.After(upLimit)
	for {
		select {
		case line, ok := <-u.talk:
			if !ok {
				u.t.Fatalf("the command has ended without %q: %q", text, u.said)
			}
			if u.said = append(u.said, line); strings.Contains(line, text) {
				return line
			}
		case <-limit:
			u.t.Fatalf("the command did not say %q: %q", text, u.said)
		}
	}
}

// end waits for the end of the command and checks that it leaves nothing.
func (u *running) end() error {
	u.t.Helper()
	for line := range u.talk {
		u.said = append(u.said, line)
	}
	err := u.cmd.Wait()
	if devices := netns.Devices(u.t, u.ns); len(devices) > 0 {
		u.t.Errorf("devices %q are left", devices)
	}
	return err
}

// run runs a program, inside the namespace or not, and returns its standard output.
func (u *running) run(inside bool, name string, args ...string) []byte {
	u.t.Helper()
	out, err := u.try(inside, name, args...)
	if err != nil {
		u.t.Fatalf("%s %s: %v, %s", name, strings.Join(args, " "), err, out)
	}
	return out
}

func (u *running) try(inside bool, name string, args ...string) ([]byte, error) {
	var out, talk bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &out, &talk
	start := cmd.Start
	if inside {
		start = func() error { return u.ns.Do(cmd.Start) }
	}
	if err := start(); err != nil {
		return nil, err
	}
	kill := time.AfterFunc(upLimit, func() { cmd.Process.Kill() })
	defer kill.Stop()
	err := cmd.Wait()
	if err != nil && talk.Len() > 0 {
		err = fmt.Errorf("%w: %s", err, talk.String())
	}
	return out.Bytes(), err
}

// need skips the test if a program is not installed.
func need(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not installed", name)
	}
}

// TestUpEndsOnSignals ends the command by each signal, during its start, when it is ready and when
// it is busy. It leaves no device and no partial capture, and exits with 0.
func TestUpEndsOnSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		for _, when := range []string{"starting", "ready", "busy"} {
			t.Run(fmt.Sprint(sig, " ", when), func(t *testing.T) {
				if signal.Ignored(sig) {
					t.Skip("the signal is ignored here, as under nohup, and so by the command")
				}
				file := filepath.Join(t.TempDir(), "up.pcapng")
				u := startUp(t, "--pcap", file, "--delay", "1ms")
				if when == "starting" {
					// Wait for the device: before, the system kills the program.
					for until := time.Now().Add(upLimit); len(netns.Devices(u.t, u.ns)) == 0; {
						if time.Now().After(until) {
							t.Fatal("there is no device")
						}
					}
				} else {
					u.await("up0: kernel")
				}
				if when == "busy" {
					if err := u.ns.Do(func() error {
						for _, port := range []int{up.ChargenPort, up.EchoPort} {
							c, err := net.DialTimeout("tcp", fmt.Sprint("10.7.0.2:", port), upLimit)
							if err != nil {
								return err
							}
							t.Cleanup(func() { c.Close() })
							go io.Copy(io.Discard, c)
						}
						return nil
					}); err != nil {
						t.Fatal(err)
					}
					time.Sleep(50 * time.Millisecond)
				}
				if err := u.cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
				if err := u.end(); err != nil {
					t.Errorf("the command: %v, it said %q", err, u.said)
				}
				if u.out.Len() > 0 {
					t.Errorf("standard output: %q", u.out.String())
				}
				text, err := os.ReadFile(file)
				switch {
				case when == "starting" && errors.Is(err, os.ErrNotExist):
				case err != nil:
					t.Error(err)
				case !endsWithStatistics(text):
					t.Errorf("the capture of %d bytes is not complete", len(text))
				}
			})
		}
	}
}

// TestUpSaysWhatItDid loses the tail of one download. 4.4BSD's retransmission timer repairs it, or
// the probe of a timer per segment. The last lines have the losses, what repaired them, and for how
// long. An exposed port replaces a service, which the command says. On a busy machine another
// timer may expire before an ACK is read, so there are more tries than one.
func TestUpSaysWhatItDid(t *testing.T) {
	for policy, want := range map[string]string{
		"bsd":         "the stack retransmitted 1 segment: 1 timeout; 1 repair took 1.",
		"per-segment": "the stack retransmitted 1 segment: 1 tail loss probe; 1 repair took ",
	} {
		t.Run(policy, func(t *testing.T) {
			const tries = 10
			for try := 1; ; try++ {
				said := upWithALoss(t, policy)
				if try < tries && !strings.Contains(said, want) {
					continue
				}
				for _, want := range []string{"1 connection accepted, 0 opened\n", "the link lost 1 of ", " packets from the stack and 0 of ", want, " at the median, "} {
					if !strings.Contains(said, want) {
						t.Errorf("the command said\n%s\nwant %q", said, want)
					}
				}
				return
			}
		})
	}
}

// upWithALoss loses the tail of a download, and returns what the command said.
func upWithALoss(t *testing.T, policy string) string {
	t.Helper()
	u := startUp(t, "--policy", policy, "--delay", "20ms", "--loss", "ranges:20000-20001@1", "--expose", "7:127.0.0.1:9")
	u.await("up0: kernel")
	u.await("port 7 of 10.7.0.2 is exposed, so the stack's own echo does not run there")
	if err := u.ns.Do(func() error {
		c, err := net.DialTimeout("tcp", fmt.Sprint("10.7.0.2:", up.HTTPPort), upLimit)
		if err != nil {
			return err
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(upLimit))
		// The second response comes after the ACK of the repair.
		for _, path := range []string{"/bytes/20000", "/"} {
			if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: up\r\n\r\n", path); err != nil {
				return err
			}
			r, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				return err
			}
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	u.cmd.Process.Signal(os.Interrupt)
	if err := u.end(); err != nil {
		t.Errorf("the command: %v", err)
	}
	return strings.Join(u.said, "\n")
}

// endsWithStatistics reports whether pcapng has the block that ends it.
func endsWithStatistics(file []byte) (complete bool) {
	for len(file) >= 12 {
		n := binary.LittleEndian.Uint32(file[4:])
		if n < 12 || int64(n) > int64(len(file)) {
			return false
		}
		complete = binary.LittleEndian.Uint32(file) == 5
		file = file[n:]
	}
	return complete && len(file) == 0
}

// TestUpWithoutItsDevice deletes the command's device: the command fails and says so.
func TestUpWithoutItsDevice(t *testing.T) {
	u := startUp(t)
	u.await("up0: kernel")
	netns.DeleteDevice(t, u.ns, "up0")
	var exit *exec.ExitError
	if err := u.end(); !errors.As(err, &exit) || exit.ExitCode() != exitFailed || !strings.Contains(strings.Join(u.said, "\n"), "up0") {
		t.Errorf("the command: %v, it said %q, want status %d and the name of the device", err, u.said, exitFailed)
	}
}

// TestUpWithCurl fetches data from the stack, and from a server behind it, in both directions, with
// either TCP.
func TestUpWithCurl(t *testing.T) {
	need(t, "curl")
	const n = 5_000_000
	sum := sha256.New()
	io.Copy(sum, &up.Content{Size: n})
	want := sum.Sum(nil)
	serve := func(w http.ResponseWriter, r *http.Request) {
		got := sha256.New()
		m, _ := io.Copy(got, r.Body)
		if r.Method == "PUT" && (m != n || !bytes.Equal(got.Sum(nil), want)) {
			http.Error(w, fmt.Sprintf("%d wrong bytes", m), http.StatusBadRequest)
			return
		}
		http.ServeContent(w, r, "", time.Time{}, &up.Content{Size: n})
	}
	server := http.Server{Handler: http.HandlerFunc(serve)}
	t.Cleanup(func() { server.Close() })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(l)
	file := filepath.Join(t.TempDir(), "bytes")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(f, &up.Content{Size: n})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, whose := range []string{up.Ours, up.GVisor} {
		t.Run("tcp="+whose, func(t *testing.T) {
			u := startUp(t, "--tcp", whose, "--expose", "8080:"+l.Addr().String(), "--forward", "0:10.7.0.1:8080", "--forward", "0:[fd07::1]:8080",
				"--serve", "http,info")
			u.await("up0: kernel")
			if err := u.ns.Do(func() error {
				l, err := net.Listen("tcp", ":8080")
				if err == nil {
					go server.Serve(l)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			forward4, forward6 := u.forwarded(), u.forwarded()
			for _, test := range []struct {
				inside bool
				url    string
			}{
				{true, "http://10.7.0.2/bytes/5000000"}, {true, "http://[fd07::2]/bytes/5000000"},
				{true, "http://10.7.0.2:8080/"}, {true, "http://[fd07::2]:8080/"},
				{false, "http://" + forward4 + "/"}, {false, "http://" + forward6 + "/"},
			} {
				if got := sha256.Sum256(u.run(test.inside, "curl", "-q", "--noproxy", "*", "-sS", "-f", test.url)); !slices.Equal(got[:], want) {
					t.Errorf("%s: unexpected bytes", test.url)
				}
				if !strings.Contains(test.url, "bytes") {
					u.run(test.inside, "curl", "-q", "--noproxy", "*", "-sS", "-f", "-o", os.DevNull, "-T", file, test.url)
				}
			}
			var info struct{ Forwards []up.ForwardReport }
			if err := json.Unmarshal(u.run(true, "curl", "-q", "--noproxy", "*", "-sS", "-f", "http://10.7.0.2/info"), &info); err != nil || len(info.Forwards) != 3 {
				t.Fatalf("/info: %v, %+v", err, info)
			}
			for _, r := range info.Forwards {
				if r.Failed != 0 || r.FromClients < n || r.ToClients < n {
					t.Errorf("%+v, want %d bytes at least each way", r, n)
				}
			}
			u.cmd.Process.Signal(syscall.SIGTERM)
			if err := u.end(); err != nil {
				t.Errorf("the command: %v", err)
			}
		})
	}
}

// forwarded returns the address of the next forward from the command's messages.
func (u *running) forwarded() string {
	u.t.Helper()
	line := u.await("forward 127.0.0.1:")
	_, at, _ := strings.Cut(line, "forward ")
	at, _, _ = strings.Cut(at, ",")
	return at
}
