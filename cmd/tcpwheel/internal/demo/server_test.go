package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tcpwheel/cmd/tcpwheel/internal/lanes"
)

var serverAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7070}

func newServer(t *testing.T) *Server {
	t.Helper()
	run, err := lanes.NewRun(1, nil, lanes.DefaultConditions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(run, serverAddr)
	t.Cleanup(s.Close)
	return s
}

// tick does what Drive does n times.
func tick(t testing.TB, s *Server, n int) {
	t.Helper()
	for range n {
		if err := s.locked(func(p *lanes.Player) error { return p.Tick(lanes.FrameEvery) }); err != nil {
			t.Fatal(err)
		}
	}
}

// request sends a request and returns its status and body. header has pairs.
func request(s *Server, method, path, body string, header ...string) (int, string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:7070"
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// TestControlsAreForTheOwner refuses controls without the token, from other sites, and by other
// names, as DNS rebinding would use. Reading needs no token, but the right name.
func TestControlsAreForTheOwner(t *testing.T) {
	s := newServer(t)
	const drop = `{"name":"drop","text":"1"}`
	for _, c := range []struct {
		what   string
		header []string
		want   int
	}{
		{"the owner", []string{"X-Token", s.token}, http.StatusNoContent},
		{"the owner's page", []string{"X-Token", s.token, "Origin", "http://127.0.0.1:7070"}, http.StatusNoContent},
		{"localhost", []string{"X-Token", s.token, "Host", "localhost:7070"}, http.StatusNoContent},
		{"no token", nil, http.StatusForbidden},
		{"a wrong token", []string{"X-Token", "0"}, http.StatusForbidden},
		{"another site", []string{"X-Token", s.token, "Origin", "http://example.org"}, http.StatusForbidden},
		{"a rebound name", []string{"X-Token", s.token, "Host", "example.org:7070"}, http.StatusForbidden},
	} {
		if got, body := request(s, "POST", "/control", drop, c.header...); got != c.want {
			t.Errorf("%s: status %d (%s), want %d", c.what, got, strings.TrimSpace(body), c.want)
		}
	}
	for path, want := range map[string]int{"/": 200, "/other": 404} {
		if got, _ := request(s, "GET", path, ""); got != want {
			t.Errorf("GET %s: status %d, want %d", path, got, want)
		}
		if got, _ := request(s, "GET", path, "", "Host", "example.org"); got != http.StatusForbidden {
			t.Errorf("GET %s as another host: status %d, want 403", path, got)
		}
	}
}

// TestStreamsAreForOwnPages refuses the frames to pages of other sites and ports.
func TestStreamsAreForOwnPages(t *testing.T) {
	s := newServer(t)
	for _, c := range []struct {
		header []string
		want   int
	}{
		{nil, 200}, // curl
		{[]string{"Origin", "http://127.0.0.1:7070", "Sec-Fetch-Site", "same-origin"}, 200},
		{[]string{"Sec-Fetch-Site", "same-origin"}, 200},
		{[]string{"Origin", "http://127.0.0.1:8000", "Sec-Fetch-Site", "same-site"}, 403},
		{[]string{"Origin", "http://example.org"}, 403},
		{[]string{"Origin", "null"}, 403},
		{[]string{"Sec-Fetch-Site", "same-site"}, 403}, // as an image
	} {
		ctx, leave := context.WithCancel(t.Context())
		r, w := httptest.NewRequestWithContext(ctx, "GET", "/frames", nil), httptest.NewRecorder()
		leave() // once it has entered
		r.Host = "127.0.0.1:7070"
		for i := 0; i < len(c.header); i += 2 {
			r.Header.Set(c.header[i], c.header[i+1])
		}
		if s.Handler().ServeHTTP(w, r); w.Code != c.want {
			t.Errorf("%q: status %d, want %d", c.header, w.Code, c.want)
		}
	}
}

// TestControlsSayWhatIsWrong sends controls that cannot be carried out.
func TestControlsSayWhatIsWrong(t *testing.T) {
	s := newServer(t)
	for body, want := range map[string]string{
		`{`: "want {", `{"name":"loss","text":"2"}`: "probability", `{"name":"speed","text":"0"}`: "0.0001 to 10",
		`{"name":"restart","text":"seed=x"}`:     "want a number",
		`{"name":"restart","text":"actions=2s"}`: "TIME:NAME=VALUE", `{"name":"restart","text":"lanes=tahoe"}`: "tahoe",
		`{"name":"restart","text":"initial=loss=2"}`: "probability", `{"name":"lanes","text":"tahoe"}`: "tahoe",
		`{"name":"lanes","text":"bsd,bsd"}`: "lane bsd twice", `{"name":"","text":""}`: "no name", `{"other":1}`: "unknown field",
	} {
		if code, got := request(s, "POST", "/control", body, "X-Token", s.token); code != http.StatusBadRequest || !strings.Contains(got, want) {
			t.Errorf("%s: status %d, %q, want %q", body, code, got, want)
		}
	}
}

// slowPage is a page that takes a frame only when it is let. It implements http.ResponseWriter and
// http.Flusher.
type slowPage struct {
	http.ResponseWriter
	let    chan struct{}
	frames chan []byte // taken
}

func (p *slowPage) Flush() {}

func (p *slowPage) Write(b []byte) (int, error) {
	<-p.let
	p.frames <- bytes.Clone(b)
	return len(b), nil
}

// TestSlowViewer keeps a page open that takes nothing for a second: frames are made all the same,
// and the page gets one of the first and then the latest.
func TestSlowViewer(t *testing.T) {
	s := newServer(t)
	page := &slowPage{httptest.NewRecorder(), make(chan struct{}), make(chan []byte, 20)}
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.frames(page, httptest.NewRequest("GET", "/frames", nil).WithContext(ctx))
	}()
	tick(t, s, 20)
	if n := len(page.frames); n != 0 {
		t.Errorf("the page has %d frames that it did not take", n)
	}
	close(page.let)
	const most = 2 // one that waited in the page, and the latest
	for n := 1; ; n++ {
		var got struct {
			Time float64 `json:"time_s"`
		}
		text, _ := bytes.CutPrefix(<-page.frames, []byte("data: "))
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		latest := time.Duration(s.player.Frame().Time).Seconds()
		if got.Time == latest {
			break
		}
		if n == most {
			t.Fatalf("frame %d is of %v, want the latest, of %v", n, got.Time, latest)
		}
	}
	leave()
	<-ended
	if n := s.viewers.Load(); n != 0 {
		t.Errorf("%d viewers after the page left", n)
	}
}
