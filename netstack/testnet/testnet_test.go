package testnet_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tcpwheel/netstack/leaktest"
	"tcpwheel/netstack/testnet"
	"tcpwheel/netstack/virtual"
)

func TestMain(m *testing.M) {
	if os.Getenv(failEnv) != "" {
		os.Exit(m.Run()) // the failing test of TestCaptures
	}
	// A goroutine of this package watches bubbles for as long as the process runs.
	os.Exit(leaktest.Main(m, "tcpwheel/wheel", "tcpwheel/netstack/sockets", "tcpwheel/netstack/virtual"))
}

// bubble runs a test in a bubble, with a network.
func bubble(t *testing.T, path testnet.Path, test func(t *testing.T, n *testnet.Net), o ...testnet.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(t, testnet.New(t, path, o...))
	})
}

// page is a handler that writes a page of n bytes.
func page(n int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, strings.Repeat("x", n))
	})
}

// get downloads a page and returns its size.
func get(client *http.Client, url string) (int, error) {
	r, err := client.Get(url)
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	n, err := io.Copy(io.Discard, r.Body)
	return int(n), err
}

// TestHTTP is the package's promise: twenty downloads at 5 % loss, a minute of retransmissions,
// with net/http as it is.
func TestHTTP(t *testing.T) {
	for seed := range testnet.Seed(5) {
		bubble(t, testnet.Path{Delay: 20 * time.Millisecond, Loss: "5%"}, func(t *testing.T, n *testnet.Net) {
			go http.Serve(n.Listen(":80"), page(100_000))
			client := n.HTTPClient()
			for range 20 {
				if got, err := get(client, "http://server/"); got != 100_000 || err != nil {
					t.Fatal(got, err)
				}
			}
			c := n.Counts()
			if c.Lost == 0 || c.FastRetransmits == 0 || n.Now() < 2*time.Second {
				t.Errorf("after %v: %v, want losses and repairs", n.Now(), c)
			}
		}, seed)
	}
}

// TestRealTime: the same program outside of a bubble, with this module's TCP and with gVisor's.
func TestRealTime(t *testing.T) {
	for _, gvisor := range []bool{false, true} {
		t.Run(fmt.Sprintf("gvisor=%v", gvisor), func(t *testing.T) {
			t.Parallel()
			server := testnet.HostConfig{Name: testnet.Server, TCP: func(c *virtual.TCP) { c.GVisor = gvisor }}
			n := testnet.New(t, testnet.Path{Delay: 2 * time.Millisecond, Down: "loss=packets:5"}, server)
			go http.Serve(n.Listen(":80"), page(100_000))
			for range 3 {
				if got, err := get(n.HTTPClient(), "http://server/"); got != 100_000 || err != nil {
					t.Error(got, err)
				}
			}
			if c := n.Host(testnet.Client).Counts(); c.Lost != 1 || c.Packets == 0 {
				t.Errorf("the client's path: %v, want 1 lost", c)
			}
			n.Close() // twice: the test does so, too
		})
	}
}

// TestGVisorInABubble: gVisor's TCP would hang there, so New says so.
func TestGVisorInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := fatal(t, func(t testing.TB) {
			testnet.New(t, testnet.Path{}, testnet.HostConfig{Name: "peer", TCP: func(c *virtual.TCP) { c.GVisor = true }})
		})
		if !strings.Contains(got, `host "peer": gVisor's TCP waits in ways that a bubble does not see`) {
			t.Errorf("New says %q", got)
		}
	})
}

// recorder is a testing.TB that records Fatal.
type recorder struct {
	*testing.T
	text string
}

func (r *recorder) Fatal(args ...any) {
	r.text = fmt.Sprintln(args...)
	runtime.Goexit()
}
func (r *recorder) Fatalf(format string, args ...any) { r.Fatal(fmt.Sprintf(format, args...)) }

// fatal returns the text with which f fails its test, or "".
func fatal(t *testing.T, f func(testing.TB)) string {
	r := &recorder{T: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r.text
}

// TestOutOfBounds: bad options fail the test, with the field and what it may be.
func TestOutOfBounds(t *testing.T) {
	for _, test := range []struct {
		f    func(t testing.TB)
		want string
	}{
		{func(t testing.TB) { testnet.New(t, testnet.Path{Loss: "often"}) }, `host "client": loss "often", want`},
		{func(t testing.TB) { testnet.New(t, testnet.Path{Rate: "-1"}) }, `rate "-1", want`},
		{func(t testing.TB) { testnet.New(t, testnet.Path{Delay: -1}) }, "delay -1ns, want"},
		{func(t testing.TB) { testnet.New(t, testnet.Path{Up: "loss"}) }, `"loss", want FIELD=VALUE`},
		{func(t testing.TB) { testnet.New(t, testnet.Path{More: "colour=red"}) }, `setting "colour", want one of`},
		{func(t testing.TB) { testnet.New(t, testnet.Path{NAT: -1}) }, "NAT -1ns, want"},
		{func(t testing.TB) { testnet.New(t, testnet.Path{}, testnet.HostConfig{}) }, "want a name"},
		{func(t testing.TB) {
			testnet.New(t, testnet.Path{}, testnet.HostConfig{Name: "db", Policy: "hasty"})
		}, `host "db": tcptimers: unknown policy "hasty", want one of`},
		{func(t testing.TB) { testnet.New(t, testnet.Path{}).Host("db") }, `no host "db"`},
		{func(t testing.TB) { testnet.New(t, testnet.Path{}).Listen("80") }, "server: listen tcp"},
		{func(t testing.TB) { testnet.New(t, testnet.Path{}).SetPath(testnet.Path{Queue: "long"}) }, "path of client: queue"},
	} {
		if got := fatal(t, test.f); !strings.Contains(got, test.want) {
			t.Errorf("got %q, want %q in it", got, test.want)
		}
	}
}

// TestAnothersT: with the t of the test around it, the bubble would never end.
func TestAnothersT(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		if got := fatal(t, func(t testing.TB) { testnet.New(t, testnet.Path{}) }); !strings.Contains(got, "the t of another test") {
			t.Errorf("New says %q", got)
		}
	})
}

// TestHosts: hosts dial each other by name and address, over paths of their own.
func TestHosts(t *testing.T) {
	db := testnet.HostConfig{Name: "db", Path: testnet.Path{Delay: 5 * time.Millisecond}}
	cache := testnet.HostConfig{Name: "cache", Path: testnet.Path{Delay: time.Millisecond}, Policy: "datacenter"}
	bubble(t, testnet.Path{Delay: 20 * time.Millisecond}, func(t *testing.T, n *testnet.Net) {
		for _, name := range []string{testnet.Client, testnet.Server, "db", "cache"} {
			l := n.Host(name).Listen(":7")
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					c.Write([]byte(name + " saw " + c.RemoteAddr().(*net.TCPAddr).IP.String()))
					c.Close()
				}
			}()
		}
		for _, test := range []struct {
			from, to string
			rtt      time.Duration
		}{
			{testnet.Client, testnet.Server, 40 * time.Millisecond},
			{testnet.Client, "db", 50 * time.Millisecond},
			{testnet.Server, "db", 10 * time.Millisecond},
			{testnet.Server, "cache", 2 * time.Millisecond},
			{"db", "cache", 12 * time.Millisecond},
			{"cache", testnet.Client, 42 * time.Millisecond},
		} {
			for _, address := range []string{test.to, n.Host(test.to).Addr().String()} {
				begin := n.Now()
				c, err := n.Host(test.from).Dial("tcp", address+":7")
				if err != nil {
					t.Fatal(err)
				}
				if took := (n.Now() - begin).Round(time.Microsecond); took != test.rtt {
					t.Errorf("%s dials %s in %v, want %v", test.from, address, took, test.rtt)
				}
				text, err := io.ReadAll(c)
				if want := test.to + " saw " + n.Host(test.from).Addr().String(); string(text) != want || err != nil {
					t.Errorf("%q, %v, want %q", text, err, want)
				}
				c.Close()
			}
		}
		_, err := n.Dial("tcp", "mail:25")
		if dns, ok := errors.AsType[*net.DNSError](err); !ok || !dns.IsNotFound {
			t.Errorf("dialing an unknown host: %v", err)
		}
		if _, err := n.Dial("tcp", "db:8"); !strings.Contains(fmt.Sprint(err), "connection refused") {
			t.Errorf("dialing a port without a listener: %v", err)
		}
	}, db, cache)
}

// TestContext: the context of a dial counts, on the bubble's clock.
func TestContext(t *testing.T) {
	bubble(t, testnet.Path{Loss: "100%"}, func(t *testing.T, n *testnet.Net) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := n.DialContext(ctx, "tcp", "server:80")
		if !errors.Is(err, context.DeadlineExceeded) || n.Now() != 10*time.Second {
			t.Errorf("after %v: %v", n.Now(), err)
		}
	})
}

// TestClose: the end of the network ends all calls that wait for it, in whatever state the
// connections are, and the bubble ends. No timer keeps it: neither TIME-WAIT's nor keepalive's.
func TestClose(t *testing.T) {
	alive := net.KeepAliveConfig{Enable: true, Idle: time.Hour}
	bubble(t, testnet.Path{Delay: time.Millisecond}, func(t *testing.T, n *testnet.Net) {
		l := n.Listen(":80")
		dial := func() net.Conn {
			c, err := n.Dial("tcp", "server:80")
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		accept := func() net.Conn {
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		// One connection in TIME-WAIT, one that reads at both ends, one whose writer waits.
		a, b := dial(), accept()
		a.Close()
		b.Close()
		time.Sleep(10 * time.Millisecond)
		c, d, e := dial(), accept(), dial()
		accept()
		wait := func(what string, call func() error) {
			begin := time.Now()
			err := call()
			if err == nil || time.Since(begin) < time.Minute {
				t.Errorf("%s returned %v after %v, want an error when the network is closed", what, err, time.Since(begin))
			}
		}
		var all sync.WaitGroup
		for what, call := range map[string]func() error{
			"Read of the client": func() error { _, err := c.Read(make([]byte, 1)); return err },
			"Read of the server": func() error { _, err := d.Read(make([]byte, 1)); return err },
			"Write":              func() error { _, err := e.Write(make([]byte, 64<<20)); return err },
			"Accept":             func() error { _, err := l.Accept(); return err },
			"Dial": func() error {
				time.Sleep(time.Minute - time.Second)
				n.SetPath(testnet.Path{Loss: "100%"})
				time.Sleep(time.Second)
				_, err := n.Dial("tcp", "server:80")
				return err
			},
		} {
			all.Go(func() { wait(what, call) })
		}
		time.Sleep(time.Minute + time.Second)
		n.Close()
		all.Wait()
		if _, err := n.Dial("tcp", "server:80"); err == nil {
			t.Error("a dial after Close has succeeded")
		}
		if _, err := n.Host("client").Dialer().Dial("tcp", "server:80"); err == nil {
			t.Error("a Dialer's dial after Close has succeeded")
		}
	}, testnet.HostConfig{Name: testnet.Client, KeepAlive: alive}, testnet.HostConfig{Name: testnet.Server, KeepAlive: alive})
}

// TestSetPath: an outage in the middle of a download, and a slower path after it.
func TestSetPath(t *testing.T) {
	fast := testnet.Path{Delay: 10 * time.Millisecond, Rate: "100Mbit", Queue: "100"}
	bubble(t, fast, func(t *testing.T, n *testnet.Net) {
		go http.Serve(n.Listen(":80"), page(1_000_000))
		client := n.HTTPClient()
		timed := func() time.Duration {
			begin := n.Now()
			if got, err := get(client, "http://server/"); got != 1_000_000 || err != nil {
				t.Fatal(got, err)
			}
			return n.Now() - begin
		}
		before := timed()
		go func() {
			time.Sleep(before / 4)
			n.SetPath(testnet.Path{Loss: "100%"})
			time.Sleep(10 * time.Second)
			n.SetPath(fast)
		}()
		if took := timed(); took < 10*time.Second || took > 20*time.Second {
			t.Errorf("with an outage of 10 s: %v, without %v", took, before)
		}
		n.SetPath(testnet.Path{Delay: 10 * time.Millisecond, Rate: "1Mbit"})
		if took := timed(); took < 8*time.Second {
			t.Errorf("1 MB at 1 Mbit/s took %v", took)
		}
	})
}

// TestParallel: networks of parallel subtests share nothing.
func TestParallel(t *testing.T) {
	var mu sync.Mutex
	took := map[time.Duration]int{}
	t.Run("all", func(t *testing.T) {
		for i := range 8 {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				bubble(t, testnet.Path{Delay: 20 * time.Millisecond, Down: "loss=packets:3,9-10"}, func(t *testing.T, n *testnet.Net) {
					go http.Serve(n.Listen(":80"), page(50_000))
					if got, err := get(n.HTTPClient(), "http://server/"); got != 50_000 || err != nil {
						t.Error(got, err)
					}
					mu.Lock()
					defer mu.Unlock()
					took[n.Now()]++
				})
			})
		}
	})
	if len(took) > 2 {
		t.Errorf("eight equal downloads took %v", took)
	}
}

// failEnv makes TestCaptures fail on purpose.
const failEnv = "TCPWHEEL_TESTNET_FAIL"
