package up

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/link/loopback"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/tcp/events"
	"tcpwheel/tun/netns"
)

// statusGet requests a path of the host's status server.
func (s *hostTest) statusGet(path string) (status int, body string) {
	s.t.Helper()
	r, err := http.Get("http://" + s.status.listener.Addr().String() + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

// metric returns the value of a metric, with its labels as written.
func (s *hostTest) metric(name string) float64 {
	s.t.Helper()
	_, body := s.statusGet("/metrics")
	found := regexp.MustCompile("(?m)^" + regexp.QuoteMeta(name) + " ([0-9.e+-]+)$").FindStringSubmatch(body)
	if found == nil {
		s.t.Fatalf("no metric %s in\n%s", name, body)
	}
	v, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

// TestStatus transfers data over a lossy link and reads what the status server says, which is not
// reached over that link.
func TestStatus(t *testing.T) {
	t.Parallel()
	c := Config{
		Status: "127.0.0.1:0", Serve: append(DefaultServices(), "pprof"), Policy: "per-segment@2ms", KeepAlive: net.KeepAliveConfig{Enable: true, Idle: time.Minute, Interval: time.Second, Count: 3},
		Link: sim.LinkConfig{Delay: 2 * time.Millisecond, Loss: sim.Losses{sim.Bernoulli{P: 0.05}}}, Seed: 7,
	}
	s := newTestHost(t, c)
	s.getBytes(stackAddrs[0].Addr(), 1<<20)
	idle := s.mustDial(stackAddrs[0].Addr(), EchoPort)
	if _, err := idle.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := idle.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		most float64 // 0 is above 0
	}{
		{`tcpwheel_netstat_Tcp_RetransSegs`, 0}, {`tcpwheel_recovery_seconds_count`, 0}, {`tcpwheel_timers_started_total{kind="rexmit"}`, 0},
		{`tcpwheel_timers_stopped_total{kind="rexmit"}`, 0}, {`tcpwheel_link_packets_total{direction="from_stack",fate="lost"}`, 0},
		{`tcpwheel_connections{state="ESTABLISHED"}`, 0}, {`tcpwheel_timers_running{kind="keepalive"}`, 0},
		{`tcpwheel_device_bytes_total{direction="from_stack"}`, 0}, {`tcpwheel_events_dropped_total`, -1}, {`go_goroutines`, 0},
	} {
		if v := s.metric(test.name); test.most == 0 && v <= 0 || test.most < 0 && v != 0 {
			t.Errorf("%s is %v", test.name, v)
		}
	}
	if v := s.metric(`tcpwheel_info{congestion_control="cubic",device="` + s.device.Name() + `",policy="per-segment@2ms",tcp="ours",tick="2ms"}`); v != 1 {
		t.Errorf("tcpwheel_info is %v, want 1", v)
	}
	if v := s.metric(`tcpwheel_timer_lateness_seconds_bucket{kind="rexmit",le="67.108864"}`); v <= 0 {
		t.Errorf("%v retransmission timers in the last bucket, want some", v)
	}
	if got, want := withLabels("a", "z", `"x"\`, "b", "1"), `a{b="1",z="\"x\"\\"}`; got != want {
		t.Errorf("a metric with labels is %s, want %s", got, want)
	}
	for path, want := range map[string]string{
		"/metrics":                      "# HELP tcpwheel_recovery_seconds Time from the first transmission of a retransmitted segment to its ACK.\n# TYPE tcpwheel_recovery_seconds histogram\n",
		"/":                             "per-segment@2ms, tick 2ms",
		"/info":                         `"seed": 7`,
		"/info?limit=1&connections=all": `"state": "`,
		"/debug/pprof/":                 "goroutine",
	} {
		if status, body := s.statusGet(path); status != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: status %d, %s, want %q in it", path, status, body, want)
		}
	}
	want := `policy per-segment@2ms, tick 2ms, RTO floor 50ms, delayed ACKs 40ms, cubic, keepalive 1m0s,1s,3; link {"delay":"2ms","loss":"bernoulli:0.05"}, seed 7; `
	if got := s.String(); !strings.Contains(got, want) || !strings.HasSuffix(got, "; status at http://"+s.status.listener.Addr().String()) {
		t.Errorf("the banner is %q, want %q in it", got, want)
	}
}

// TestScarce: a burst overflows the queue to the stack, and downloads that nobody reads fill its
// buffers. The end report, /info and /metrics say so.
func TestScarce(t *testing.T) {
	t.Parallel()
	s := newTestHost(t, Config{Status: "127.0.0.1:0", TunQueue: 1, Buffers: 1 << 20})
	for range 8 {
		c := s.mustDial(stackAddrs[0].Addr(), HTTPPort)
		if _, err := io.WriteString(c, "GET /bytes/1000000000 HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	var burst net.Conn
	if err := s.ns.Do(func() (err error) {
		burst, err = net.Dial("udp", netip.AddrPortFrom(stackAddrs[0].Addr(), DiscardPort).String())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer burst.Close()
	for limit := time.Now().Add(testLimit); ; {
		for range 1000 {
			_, _ = burst.Write([]byte("x")) // the stack answers that the port is unreachable
		}
		if r := s.Report(Selection{}); r.KernelDropped > 0 && r.Buffers.Pressures > 0 {
			break
		}
		if time.Now().After(limit) {
			t.Fatalf("nothing is scarce: %q", s.Summary())
		}
	}
	for _, name := range []string{"tcpwheel_kernel_dropped_total", "tcpwheel_netstat_TcpExt_TCPMemoryPressures", "tcpwheel_buffers_bytes"} {
		if v := s.metric(name); v <= 0 {
			t.Errorf("%s is %v", name, v)
		}
	}
	all := strings.Join(s.Summary(), "\n")
	for _, want := range []string{" to it, as its queue of 1 was full", "buffers exceeded two thirds of their 1MiB; "} {
		if !strings.Contains(all, want) {
			t.Errorf("the summary is %s, want %q in it", all, want)
		}
	}
	logged := 0
	s.Host.config.Log = func(string) { logged++ }
	s.sayWhatIsScarce()
	if s.sayWhatIsScarce(); logged != 2 {
		t.Errorf("the host has said %d things, want each once", logged)
	}
}

// TestStatusRefusesOtherNames: a page of another site that rebinds its name gets nothing.
func TestStatusRefusesOtherNames(t *testing.T) {
	t.Parallel()
	handler := checkHost(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }))
	for host, want := range map[string]int{
		"127.0.0.1:7070": 200, "127.0.0.1": 200, "[::1]:7070": 200, "localhost:7070": 200, "localhost": 200,
		"evil.example:7070": 403, "localhost.evil.example": 403, "": 403,
	} {
		w := &statusRecorder{header: http.Header{}, status: 200}
		handler.ServeHTTP(w, &http.Request{Host: host})
		if w.status != want {
			t.Errorf("host %q: status %d, want %d", host, w.status, want)
		}
	}
}

// statusRecorder records the status of a response.
type statusRecorder struct {
	header http.Header
	status int
}

func (r *statusRecorder) Header() http.Header         { return r.header }
func (r *statusRecorder) Write(b []byte) (int, error) { return len(b), nil }
func (r *statusRecorder) WriteHeader(status int)      { r.status = status }

// eventLine is a line of /events.
type eventLine struct {
	T             events.Seconds  `json:"t_s"`
	Event         string          `json:"event"`
	Conn          string          `json:"conn"`
	Timer         string          `json:"timer"`
	Late          *events.Seconds `json:"late_s"`
	Transmission  int             `json:"transmission"`
	Transmissions int             `json:"transmissions"`
	Took          events.Seconds  `json:"took_s"`
	Lines         int             `json:"lines"` // missed
	Len           int             `json:"len"`
}

// parseEvents reads lines, and counts them by event.
func parseEvents(t *testing.T, r io.Reader) (lines []eventLine, count map[string]int) {
	t.Helper()
	count = map[string]int{}
	for scan := bufio.NewScanner(r); scan.Scan(); {
		var e eventLine
		if err := json.Unmarshal(scan.Bytes(), &e); err != nil {
			t.Fatalf("%q: %v", scan.Text(), err)
		}
		lines = append(lines, e)
		count[e.Event]++
	}
	return lines, count
}

// TestTrace writes the events of a lossy transfer to a file. Retransmissions agree with the TCP's
// counter, and each retransmitted segment recovers.
func TestTrace(t *testing.T) {
	t.Parallel()
	for _, whose := range []string{Ours, GVisor} {
		t.Run("tcp="+whose, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "trace.jsonl")
			s := newTestHost(t, Config{
				TCP: whose, Trace: file, Seed: 3,
				Link: sim.LinkConfig{Delay: time.Millisecond, Loss: sim.Losses{sim.Bernoulli{P: 0.03}}},
			})
			s.getBytes(stackAddrs[0].Addr(), 300_000)
			retransmitted := s.stack.Stats().TCP.Retransmits.Value()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines, count := parseEvents(t, bytes.NewReader(b))
			again := 0
			for _, e := range lines {
				switch {
				case e.Event == "segment_sent" && e.Transmission > 1:
					again++
				case e.Event == "recovered" && (e.Transmissions < 2 || e.Took < events.Seconds(time.Millisecond)):
					t.Errorf("%+v, want two transmissions or more, and a round trip", e)
				case strings.HasPrefix(e.Event, "timer_") && e.Timer == "":
					t.Errorf("%+v, want a kind of timer", e)
				case e.Event == "missed":
					t.Errorf("%d lines were missed", e.Lines)
				}
			}
			if again == 0 || uint64(again) > retransmitted+20 || count["recovered"] == 0 || count["segment_received"] == 0 {
				t.Errorf("%d retransmissions, the TCP counts %d; %v", again, retransmitted, count)
			}
			if timers := count["timer_started"]; (timers > 0) != (whose == Ours) {
				t.Errorf("%d timers started with TCP %s", timers, whose)
			}
		})
	}
}

// TestPacing reads from the link's log how the first window of an answer leaves: at once, or, with
// pacing, spread over half of the round trip by timers of the same wheel, none of them early. Load
// on the machine only makes that longer.
func TestPacing(t *testing.T) {
	t.Parallel()
	const delay, segments = 20 * time.Millisecond, 10
	spread := func(paced bool) (first, last time.Duration, releases int) {
		file := filepath.Join(t.TempDir(), "trace.jsonl")
		s := newTestHost(t, Config{Trace: file, Policy: "per-segment@100us pacing=" + strconv.FormatBool(paced), Link: sim.LinkConfig{Delay: delay}})
		s.getBytes(stackAddrs[0].Addr(), 100_000)
		if got := strings.Contains(s.String(), "delayed ACKs 40ms, paced, cubic"); got != paced {
			t.Errorf("the banner is %q with pacing %t", s, paced)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines, _ := parseEvents(t, bytes.NewReader(b))
		sent, late := 0, time.Duration(0)
		for _, e := range lines {
			switch {
			case e.Event == "timer_expired" && e.Timer == "pacing":
				releases++
				late = time.Duration(*e.Late)
				if late < 0 {
					t.Errorf("%+v, want it after its deadline", e)
				}
			case e.Event == "segment_sent" && e.Len > 0 && sent < segments*1448:
				if sent == 0 {
					first = time.Duration(e.T)
				}
				last, sent = time.Duration(e.T), sent+e.Len
				// A release that a loaded machine delays by a gap of 2 ms lets those leave that became due meanwhile.
				if paced && e.Len > 1448 && late < 1800*time.Microsecond {
					t.Errorf("%+v after a release %v late, want single segments", e, late)
				}
			}
		}
		return first, last, releases
	}
	// In slow start a window takes half of the round trip: nine gaps of 2 ms, each less a tick.
	if first, last, releases := spread(true); last-first < 3*delay/4 || releases < segments {
		t.Errorf("paced: %v for %d segments, %d releases by timer", last-first, segments, releases)
	}
	if _, _, releases := spread(false); releases > 0 {
		t.Errorf("%d releases by timer without pacing", releases)
	}
}

// TestEvents reads the events of a request while it is served.
func TestEvents(t *testing.T) {
	t.Parallel()
	s := newTestHost(t, Config{Status: "127.0.0.1:0"})
	if status, body := s.statusGet("/debug/pprof/"); status != 404 {
		t.Errorf("profiles that nobody asked for: status %d, %s", status, body)
	}
	r, err := http.Get("http://" + s.status.listener.Addr().String() + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	s.getBytes(stackAddrs[0].Addr(), 100_000)
	scan := bufio.NewScanner(r.Body)
	for seen := map[string]bool{}; !seen["timer_started"] || !seen["segment_sent"] || !seen["segment_received"]; {
		if !scan.Scan() {
			t.Fatalf("the events ended: %v, seen %v", scan.Err(), seen)
		}
		var e eventLine
		if err := json.Unmarshal(scan.Bytes(), &e); err != nil {
			t.Fatalf("%q: %v", scan.Text(), err)
		}
		if !strings.HasPrefix(e.Conn, "10.7.0.2:80-10.7.0.1:") {
			t.Errorf("%+v, want a connection of port 80", e)
		}
		seen[e.Event] = true
	}
}

// TestSlowEventReader: the stack does not wait for a reader that does not read. The lines that it
// misses are counted, and it is told how many.
func TestSlowEventReader(t *testing.T) {
	t.Parallel()
	stream := newEventStream(endpointName)
	defer stream.close()
	r := stream.subscribe()
	stream.unsubscribe(stream.subscribe()) // has no effect on r
	e, sent := Event{Name: events.SegmentSent}, 0
	for deadline := time.Now().Add(testLimit); stream.dropped.Load() == 0; time.Sleep(100 * time.Microsecond) {
		if time.Now().After(deadline) {
			t.Fatalf("none of %d events was dropped", sent)
		}
		for range 1000 {
			stream.add(e)
		}
		sent += 1000
	}
	lines, missed := 0, 0
	for range chunkQueue {
		parsed, _ := parseEvents(t, bytes.NewReader(<-r.chunks))
		lines += len(parsed)
	}
	stream.add(e)
	sent -= int(stream.queue.Dropped()) - 1
	for limit := time.After(testLimit); lines+missed < sent; { // in one chunk or several
		select {
		case chunk := <-r.chunks:
			parsed, _ := parseEvents(t, bytes.NewReader(chunk))
			for _, l := range parsed {
				if missed += l.Lines; l.Event == "segment_sent" {
					lines++
				}
			}
		case <-limit:
			t.Fatalf("%d lines, and %d missed, of %d", lines, missed, sent)
		}
	}
	if lines+missed != sent || missed == 0 {
		t.Errorf("%d lines, and %d missed, of %d", lines, missed, sent)
	}
}

// TestKeepAlive: an idle connection is probed, by either TCP. When the peer is gone, it ends.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	for _, whose := range []string{Ours, GVisor} {
		t.Run("tcp="+whose, func(t *testing.T) {
			t.Parallel()
			s := newTestHost(t, Config{
				TCP: whose,
				// Even a busy machine answers one of three in time.
				KeepAlive: net.KeepAliveConfig{Enable: true, Idle: 100 * time.Millisecond, Interval: time.Second, Count: 3},
			})
			// Otherwise Linux answers one probe in 500 ms.
			if err := s.ns.Do(func() error {
				return netns.WriteSysctls(map[string]string{"net/ipv4/tcp_invalid_ratelimit": "0"})
			}); err != nil {
				t.Skipf("cannot set the limit on answers: %v", err)
			}
			c := s.mustDial(stackAddrs[0].Addr(), EchoPort)
			before := s.device.Stats().RxPackets
			for deadline := time.Now().Add(testLimit); s.device.Stats().RxPackets < before+3; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the kernel answers no probe")
				}
			}
			if n := s.Report(Selection{}).States["ESTABLISHED"]; n != 1 {
				t.Fatalf("%d connections, want 1", n)
			}
			if err := s.Device().Down(); err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(testLimit); s.Report(Selection{}).States["ESTABLISHED"] != 0; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the connection outlives its peer")
				}
			}
			c.Close()
		})
	}
}

// newLoop makes a stack with a loopback link, and an address on it.
func newLoop(t *testing.T) (*stack.Stack, netip.AddrPort) {
	t.Helper()
	c := Config{Addrs: []netip.Prefix{netip.MustParsePrefix("10.7.0.2/24")}}
	s, err := c.newStack(loopback.New(), tcpip.NewStdClock(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(); s.Destroy() })
	return s, netip.AddrPortFrom(c.Addrs[0].Addr(), 8080)
}

// TestInfoOfManyConnections counts connections, half of them closed. Some of those are in
// TIME-WAIT; with 50,000 the stack reuses the ports of others. The summary is below 100 kB and
// takes less than 50 ms, and it counts what is registered.
func TestInfoOfManyConnections(t *testing.T) {
	conns := 1000
	if os.Getenv("TCPWHEEL_LONG") != "" {
		conns = 50_000
	}
	s, loopAt := newLoop(t)
	l, err := (&sockets.ListenConfig{Stack: s, Backlog: conns}).ListenTCP(loopAt)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i := range conns / 2 { // each is two connections of the stack
		c, err := sockets.Dial(t.Context(), s, loopAt)
		if err != nil {
			t.Fatal(err)
		}
		other, err := l.AcceptTCP()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		defer other.Close()
		if i%2 == 0 {
			c.Close()
			if _, err := other.Read(make([]byte, 1)); err != io.EOF { // else both may be in TIME-WAIT
				t.Fatal(err)
			}
			other.Close()
		}
	}
	var all Report
	settled := func() bool {
		all = Report{}
		all.addEndpoints(s, Selection{State: "all", Limit: 3})
		return all.States["ESTABLISHED"] == conns/2 && all.States["TIME-WAIT"] >= conns/8 && len(all.States) == 2
	}
	for end := time.Now().Add(testLimit); !settled(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("states %v, want %d established", all.States, conns/2)
		}
	}
	var r Report
	var b []byte
	start := time.Now()
	allocs := testing.AllocsPerRun(1, func() { // which calls it twice
		var err error
		r = Report{}
		r.addEndpoints(s, Selection{})
		if b, err = json.Marshal(r); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("%d connections: %d bytes and %v allocations in %v", conns, len(b), allocs, time.Since(start)/2)
	if len(b) > 100_000 || allocs > 100 || !maps.Equal(r.States, all.States) || !slices.Equal(r.Listeners, all.Listeners) || r.Connections != nil {
		t.Errorf("a summary of %d bytes takes %v allocations: states %v of %v, listeners %v", len(b), allocs, r.States, all.States, r.Listeners)
	}
	if n := all.States["ESTABLISHED"] + all.States["TIME-WAIT"]; len(all.Connections) != 3 || all.Omitted != n-3 {
		t.Errorf("%d connections and %d omitted, want 3 of %d", len(all.Connections), all.Omitted, n)
	}
}
