package testnet

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// searchFor runs a search with options and returns it. A run for which f returns an error counts as
// failed, but fails no test.
func searchFor(t *testing.T, cfg Search, path Path, f func(n *Net) error, o ...Option) *search {
	t.Helper()
	kind, err := parseFault(cfg.Fault)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Runs, cfg.Slow = cmp.Or(cfg.Runs, 800), cmp.Or(cfg.Slow, 300*time.Millisecond)
	s := &search{
		Search: cfg, t: t, fault: kind, options: *collect(path, o), known: map[string]*outcome{},
		f: func(t *testing.T, n *Net) { n.trial.bad = f(n) != nil },
	}
	if len(cfg.Policies) > 0 {
		s.options.policy = cfg.Policies[0]
	}
	s.run()
	return s
}

// download serves size bytes by HTTP and gets them within 1.5 s.
func download(size int) func(*Net) error {
	return func(n *Net) error {
		go http.Serve(n.Listen(":80"), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, strings.Repeat("x", size))
		}))
		client := n.HTTPClient()
		client.Timeout = 1500 * time.Millisecond
		r, err := client.Get("http://server/")
		if err != nil {
			return err
		}
		defer r.Body.Close()
		if got, err := io.Copy(io.Discard, r.Body); err != nil || got != int64(size) {
			return fmt.Errorf("%d bytes, %v", got, err)
		}
		return nil
	}
}

var slowPath = Path{Delay: 20 * time.Millisecond}

// failures returns the sets that failed.
func failures(runs []*outcome) (at []string) {
	for _, r := range runs {
		if r.failed {
			at = append(at, r.at.String())
		}
	}
	return at
}

// TestPolicies: under 4.4BSD's timers six single losses make a download of 100 kB fail: the SYN,
// the SYN-ACK, the request, and the last three segments. Under Linux's and per-segment timers none
// does, but some pairs do: the SYN twice, the SYN-ACK and any other.
func TestPolicies(t *testing.T) {
	var searches []*search
	for _, test := range []struct {
		policy         string
		singles, pairs int // pairs at least
	}{{"linux", 0, 10}, {"bsd", 6, 50}, {"per-segment", 0, 10}} {
		if raceDetector && test.policy != "linux" {
			continue // one search of 800 runs has the races of three
		}
		var s *search
		t.Run(test.policy, func(t *testing.T) {
			s = searchFor(t, Search{Policies: []string{test.policy}}, slowPath, download(100_000))
		})
		searches = append(searches, s)
		singles, pairs := failures(s.singles), failures(s.pairs)
		if len(singles) != test.singles || len(pairs) < test.pairs {
			t.Errorf("%s: singles %v and pairs %v fail, want %d and %d", test.policy, singles, pairs, test.singles, test.pairs)
		}
		// The goroutines of net/http may run in another order: in one run of 800. The race detector
		// mixes them on purpose.
		if len(s.singles) != len(s.packets) || !raceDetector && s.differ > 5 || len(s.known) != 800 {
			t.Errorf("%s: %d of %d packets in %d runs; %d differ", test.policy, len(s.singles), len(s.packets), len(s.known), s.differ)
		}
		want := []string{"pairs of losses fail: packets 1 and 2, the client's SYN, and its repair (SYN RTO of client after 1s)"}
		if test.policy == "bsd" {
			want = []string{
				"6 of 110 single losses fail: packet 1, the client's SYN (still waits for the RTO of client, of 6s); ",
				"packet 4, the client's last bytes 0 to 86 (still waits for the RTO of client, of ", "and 3 more",
				"the server's last bytes 99168 to 100472", "There is more to try: 800 runs",
				`loss=1$', or New with HostConfig{Name: "client", Path: Path{Up: "loss=packets:1"}}`,
			}
		}
		for _, w := range want {
			if !strings.Contains(s.report(), w) {
				t.Errorf("%s: no %q in the report:\n%s", test.policy, w, s.report())
			}
		}
	}
	if text := compare(searches); !raceDetector && !strings.Contains(text, "bsd          200ms            799   ") {
		t.Errorf("the comparison:\n%s", text)
	}
}

// TestOtherFaults: a delay, a copy and a pause of less than the timeout make no download fail, and
// each but the copy costs time; a crash makes nearly each fail.
func TestOtherFaults(t *testing.T) {
	for _, test := range []struct {
		fault      string
		fail, slow int // at least; 0 is exactly
	}{{"delay=200ms", 0, 0}, {"delay=1s", 0, 2}, {"duplicate", 0, 0}, {"pause=1s", 0, 30}, {"crash=1s", 25, 0}} {
		s := searchFor(t, Search{Fault: test.fault}, slowPath, download(30_000))
		fail, slow := len(failures(s.singles)), 0
		for _, r := range s.singles {
			if !r.failed && r.cost > s.Slow {
				slow++
			}
		}
		if fail < test.fail || slow < test.slow || test.fail == 0 && fail > 0 || len(s.pairs) > 0 || !raceDetector && s.differ > 0 {
			t.Errorf("%s: %d fail, %d are slow, %d differ:\n%s", test.fault, fail, slow, s.differ, s.report())
		}
	}
}

// TestRestart: after the crash and restart of the server a client that dials again is served.
func TestRestart(t *testing.T) {
	s := searchFor(t, Search{Fault: "crash=1s"}, slowPath, func(n *Net) (err error) {
		get := download(30_000)
		if err = get(n); err == nil {
			return nil
		}
		for range 5 { // Listen has happened
			time.Sleep(time.Second)
			client := n.HTTPClient()
			var r *http.Response
			if r, err = client.Get("http://server/"); err == nil {
				_, err = io.Copy(io.Discard, r.Body)
				r.Body.Close()
				return err
			}
		}
		return err
	})
	if len(failures(s.singles)) > 0 || len(s.singles) < 30 {
		t.Error(s.report())
	}
}

// TestSeedSweep: of random runs that fail, the search finds the smallest set of losses that does.
func TestSeedSweep(t *testing.T) {
	path := slowPath
	path.Loss = "2%"
	s := searchFor(t, Search{Fault: "seed", Policies: []string{"bsd"}, Runs: 100}, path, download(30_000))
	small := 0
	for _, r := range s.singles {
		if r.failed && len(r.why) == 1 {
			small++
		}
	}
	if small == 0 || s.base.failed {
		t.Errorf("%d of %v have a smallest set of one loss", small, failures(s.singles))
	}
	if text := s.report(); !strings.Contains(text, "fails with only packet") || !strings.Contains(text, "seeds fail: seed=") {
		t.Error(text)
	}
}

// TestOthersOrder: a program whose goroutines send in another order in each run is reported.
func TestOthersOrder(t *testing.T) {
	s := searchFor(t, Search{Runs: 10}, slowPath, func(n *Net) error {
		go http.Serve(n.Listen(":80"), http.NotFoundHandler())
		r, err := n.HTTPClient().Get("http://server/" + strings.Repeat("x", rand.IntN(500)))
		if err != nil {
			return err
		}
		return r.Body.Close()
	})
	if s.differ == 0 || !strings.Contains(s.report(), "the order of the program's goroutines differs") {
		t.Errorf("%d runs differ:\n%s", s.differ, s.report())
	}
}

// TestSearchUDP: queries for a name and datagrams are packets of a search. Each lost one costs its
// program's timer: 5 s of the resolver, 1 s of f.
func TestSearchUDP(t *testing.T) {
	s := searchFor(t, Search{}, slowPath, func(n *Net) error {
		server := n.Host(Server).ListenPacket(":7")
		go func() {
			b := make([]byte, 100)
			for {
				k, from, err := server.ReadFrom(b)
				if err != nil {
					return
				}
				server.WriteTo(b[:k], from)
			}
		}()
		addrs, err := n.Host(Client).Resolver().LookupNetIP(context.Background(), "ip4", "server.")
		if err != nil {
			return err
		}
		c, err := n.Dial("udp", netip.AddrPortFrom(addrs[0], 7).String())
		if err != nil {
			return err
		}
		for range 3 {
			c.Write([]byte("hello"))
			c.SetReadDeadline(time.Now().Add(time.Second))
			if _, err = c.Read(make([]byte, 100)); err == nil {
				break
			}
		}
		return err
	})
	if len(s.singles) != 4 || len(failures(s.singles)) > 0 || s.differ > 0 {
		t.Errorf("%d singles, %d differ:\n%s", len(s.singles), s.differ, s.report())
	}
	for _, want := range []string{"an answer of the router", "the client's datagram of 5 bytes", "the server's datagram of 5 bytes"} {
		if !strings.Contains(s.report(), want) {
			t.Errorf("no %q in\n%s", want, s.report())
		}
	}
}

// TestOnPurpose is what TestRepeat runs in a process of its own.
func TestOnPurpose(t *testing.T) {
	if os.Getenv("TCPWHEEL_TESTNET_FAIL") == "" {
		t.Skip("TestRepeat runs it")
	}
	get := download(20_000)
	t.Run("loss", func(t *testing.T) {
		EachLoss(t, slowPath, func(t *testing.T, n *Net) {
			if err := get(n); err != nil {
				t.Error(err)
			}
		}, Search{Policies: []string{"bsd"}, Runs: 40})
	})
	t.Run("slow", func(t *testing.T) {
		EachLoss(t, slowPath, func(t *testing.T, n *Net) { get(n) }, Slowest(time.Second), Search{Runs: 5})
	})
	t.Run("hangs", func(t *testing.T) {
		EachLoss(t, slowPath, func(t *testing.T, n *Net) {
			if get(n); n.Counts().Lost > 0 {
				select {} // for ever
			}
		}, Search{Runs: 3})
	})
	t.Run("bad", func(t *testing.T) { EachLoss(t, slowPath, nil, Search{Fault: "dealy=1s"}) })
}

// TestRepeat: a search that fails prints lines that repeat what it has found, and leaves captures.
func TestRepeat(t *testing.T) {
	self, err := os.Executable()
	if err != nil || runtime.GOOS == "js" {
		t.Skip("no process of its own: ", err)
	}
	dir := t.TempDir()
	run := func(pattern string) string {
		c := exec.Command(self, "-test.run="+pattern)
		c.Dir, c.Env = dir, append(os.Environ(), "TCPWHEEL_TESTNET_FAIL=1")
		out, err := c.CombinedOutput()
		if err == nil {
			t.Errorf("-run %s passes:\n%s", pattern, out)
		}
		return string(out)
	}
	wants := func(text string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("no %q in\n%s", w, text)
			}
		}
	}
	out := run("^TestOnPurpose$")
	const line = "^TestOnPurpose$/^loss$/^policy=bsd$/^loss=1$"
	wants(out, "single losses fail: packet 1, the client's SYN", "go test -run '"+line+"'",
		"testnet: it took 1.12s, want at most 1s", "the test has not returned after 24h0m0s", "deadlock: all goroutines in bubble", "select (no cases)",
		`fault "dealy=1s", want loss, delay=DURATION`)
	files, _ := filepath.Glob(filepath.Join(dir, "*.pcapng"))
	if !slices.ContainsFunc(files, func(f string) bool { return strings.HasSuffix(f, "bsd-loss=2.server.pcapng") }) || len(files) > 20 {
		t.Errorf("captures: %q", files)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "TestOnPurpose-loss-policy=bsd-loss=1.client.pcapng")); err != nil ||
		!strings.Contains(string(data), "packet 1 of the search: loss") {
		t.Errorf("the capture of the lost SYN: %v", err)
	}
	if again := run(line); strings.Count(again, "--- FAIL") != 4 {
		t.Errorf("-run %s:\n%s", line, again)
	}
}

// TestMemory: 4,000 runs need no more memory than 1,000, but for what testing and the search keep
// of each run.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("-short")
	}
	heap := func() (bytes, objects uint64) {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc, m.HeapObjects
	}
	var bytes, objects [2]uint64
	runs := 0
	s := searchFor(t, Search{Fault: "seed", Runs: 4000}, Path{Loss: "1%"}, func(n *Net) error {
		if runs++; runs == 1000 {
			bytes[0], objects[0] = heap()
		}
		if runs == 4000 {
			bytes[1], objects[1] = heap()
		}
		return nil
	})
	t.Logf("%d runs: heap of %v bytes, %v objects; %d goroutines", len(s.known), bytes, objects, runtime.NumGoroutine())
	// A name and a record each.
	if grown := int64(bytes[1] - bytes[0]); grown > 3000*600 {
		t.Errorf("the heap has grown by %d bytes a run, want 600", grown/3000)
	}
	if grown := int64(objects[1] - objects[0]); grown > 3000*8 {
		t.Errorf("the heap has grown by %d objects a run, want 8", grown/3000)
	}
	if n := runtime.NumGoroutine(); n > 20 {
		t.Errorf("%d goroutines", n)
	}
}
