package watch

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestServer serves the page, its stream and the metrics of a sample.
func TestServer(t *testing.T) {
	w, all := pipeSample(t, "burst/a.pcapng.gz", Config{Interface: "eth0"})
	s := httptest.NewServer(w.Handler())
	defer s.Close()
	get := func(path string) (int, string, http.Header) {
		r, err := http.Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(text), r.Header
	}
	if code, text, h := get("/"); code != 200 || !strings.Contains(text, "Hosts that lose most") || strings.Contains(text, "{{") ||
		!strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("the page: %d", code)
	}
	if code, _, _ := get("/other"); code != 404 {
		t.Errorf("/other: %d, want 404", code)
	}
	_, text, _ := get("/snapshot")
	var snapshot Snapshot
	if err := json.Unmarshal([]byte(text), &snapshot); err != nil || snapshot.Total.All.Episodes != len(all) {
		t.Errorf("%v: %s", err, text)
	}
	_, text, _ = get("/metrics")
	for _, want := range []string{
		`tcpwheel_watch_recovery_seconds_count{direction="unknown",interface="eth0",kind="fast"} 2`,
		`tcpwheel_watch_episodes_total{direction="unknown",interface="eth0",kind="fast",spurious="no"} 2`,
		`tcpwheel_watch_outcomes_total{interface="eth0",of="established"} 1`, `tcpwheel_watch_unmeasured_total{interface="eth0",of="echo"} 0`,
		`tcpwheel_watch_never_repaired_total{interface="eth0"} 0`, `tcpwheel_watch_unrepaired_seconds_total{interface="eth0"} 0`,
		`tcpwheel_watch_clients_lacking_total{interface="eth0"} 0`,
		`tcpwheel_watch_kernel_dropped_total{interface="eth0"} 0`, `tcpwheel_watch_connections{interface="eth0"} 0`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("/metrics has no %s", want)
		}
	}
	if strings.Contains(text, "10.77.") {
		t.Error("/metrics has a host in a label")
	}
	r, err := http.Get(s.URL + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	line, err := bufio.NewReader(r.Body).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, `data: {"type":"summary","interface":"eth0"`) {
		t.Errorf("%v, %.80s", err, line)
	}
}

// TestForeignHostIsRefused: a page of another site, whose name leads here, gets nothing.
func TestForeignHostIsRefused(t *testing.T) {
	for host, want := range map[string]int{"evil.example:80": 403, "127.0.0.1:9100": 200, "localhost": 200, "[::1]:9100": 200, "::1": 200, "": 403} {
		r := httptest.NewRequest("GET", "/snapshot", nil)
		r.Host = host
		out := httptest.NewRecorder()
		New(Config{}).Handler().ServeHTTP(out, r)
		if out.Code != want {
			t.Errorf("host %q: %d, want %d", host, out.Code, want)
		}
	}
}

// TestTooManyViewers are refused, not served slowly.
func TestTooManyViewers(t *testing.T) {
	s := httptest.NewServer(New(Config{}).Handler())
	defer s.Close()
	defer s.CloseClientConnections()
	for i := range maxViewers + 1 {
		r, err := http.Get(s.URL + "/events")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		if want := map[bool]int{true: 503, false: 200}[i == maxViewers]; r.StatusCode != want {
			t.Errorf("page %d: %d, want %d", i, r.StatusCode, want)
		}
	}
}

// TestTexts are what a terminal and a log show.
func TestTexts(t *testing.T) {
	w, _ := pipeSample(t, "outage/a.pcapng.gz", Config{Interface: "eth0"})
	s := w.Snapshot()
	for _, text := range []string{s.Screen(), s.Summary()} {
		for line := range strings.SplitSeq(text, "\n") {
			if len([]rune(line)) > 80 && !strings.Contains(line, "were lost in") {
				t.Errorf("%d columns: %s", len([]rune(line)), line)
			}
		}
		if !strings.Contains(text, "most lost with host") || !strings.Contains(text, "\nall ") {
			t.Errorf("incomplete:\n%s", text)
		}
	}
	if line := s.Line(); strings.Count(line, "\n") > 0 || !strings.Contains(line, " recoveries in ") || !strings.Contains(line, "p95 ") {
		t.Error(line)
	}
	empty := New(Config{Interface: "eth0"})
	empty.Close()
	if s := empty.Snapshot(); !strings.Contains(s.Summary(), "No loss.") || s.Duration != 0 {
		t.Errorf("%v s, %s", s.Duration, s.Summary())
	}
}
