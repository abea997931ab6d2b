// Package stores tests corpora in object stores: in gofakes3, and in versitygw as a real server. A
// proxy cuts connections and answers with errors.
package stores

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"tcpwheel/pcaps/corpus/peers"
)

const id, secret = "tester", "secret-of-the-tester"

// server is a store behind a proxy with faults.
type server struct {
	*testing.T
	client   *minio.Client // past the proxy
	proxy    *httptest.Server
	faults   *faults
	env      []string
	binary   string
	captures int
}

// newServer puts the captures into bucket "captures" of a store.
func newServer(t *testing.T, endpoint string) *server {
	t.Helper()
	u, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{T: t, binary: peers.Build(t)}
	s.faults = newFaults(u)
	s.proxy = httptest.NewServer(s.faults)
	t.Cleanup(s.proxy.Close)
	s.client, err = minio.New(u.Host, &minio.Options{Creds: credentials.NewStaticV4(id, secret, ""), Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, bucket := range []string{"captures", "tables"} {
		if err := s.client.MakeBucket(t.Context(), bucket, minio.MakeBucketOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range peers.Captures(t) {
		key := path.Join(path.Base(path.Dir(name)), path.Base(name))
		if _, err := s.client.FPutObject(t.Context(), "captures", key, name, minio.PutObjectOptions{}); err != nil {
			t.Fatal(err)
		}
		s.captures++
	}
	s.env = []string{"AWS_ENDPOINT_URL=" + s.proxy.URL, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=" + id, "AWS_SECRET_ACCESS_KEY=" + secret}
	return s
}

// tables returns the objects of a corpus of tables: content by key.
func (s *server) tables(name string) map[string]string {
	s.Helper()
	all := map[string]string{}
	for o := range s.client.ListObjects(s.Context(), "tables", minio.ListObjectsOptions{Prefix: name + "/", Recursive: true}) {
		if o.Err != nil {
			s.Fatal(o.Err)
		}
		r, err := s.client.GetObject(s.Context(), "tables", o.Key, minio.GetObjectOptions{})
		if err != nil {
			s.Fatal(err)
		}
		body, err := io.ReadAll(r)
		r.Close()
		if err != nil {
			s.Fatal(err)
		}
		all[strings.TrimPrefix(o.Key, name+"/")] = string(body)
	}
	return all
}

func (s *server) analyze(name string, args ...string) string {
	s.Helper()
	return peers.Run(s, 0, s.env, s.binary, append([]string{"analyze", "-j", "8", "--parquet", "s3://tables/" + name, "s3://captures"}, args...)...)
}

// same compares two corpora of tables byte for byte.
func (s *server) same(got, want string) {
	s.Helper()
	have, wanted := s.tables(got), s.tables(want)
	if a, b := slices.Sorted(maps.Keys(have)), slices.Sorted(maps.Keys(wanted)); !slices.Equal(a, b) {
		s.Errorf("%s has %d parts, %s %d:\n%v\n%v", got, len(a), want, len(b), a, b)
	}
	for key, body := range wanted {
		if have[key] != body {
			s.Errorf("%s differs", key)
		}
	}
}

// test reads the corpus without faults, with faults, killed in the middle, and twice at once.
func (s *server) test() {
	s.analyze("clean")
	if got := len(s.tables("clean")); got < 2*s.captures {
		s.Fatalf("%d parts of %d captures", got, s.captures)
	}
	s.faults.clear()

	s.faults.rate = 0.25
	text := s.analyze("faulty")
	s.Logf("with faults: %s", text)
	s.same("faulty", "clean")
	s.faults.check(s.T, "faulty")
	if text := s.analyze("faulty"); !strings.HasPrefix(text, "0 captures read") {
		s.Errorf("again: %s", text)
	}

	s.faults.rate = 0
	for i := range 3 {
		ctx, cancel := context.WithTimeout(s.Context(), time.Duration(100+rand.IntN(600))*time.Millisecond)
		c := exec.CommandContext(ctx, s.binary, "analyze", "-j", "2", "--parquet", "s3://tables/killed", "s3://captures")
		c.Env = append(os.Environ(), s.env...)
		err := c.Run()
		cancel()
		s.Logf("killed %d: %v, %d parts", i, err, len(s.tables("killed")))
	}
	s.analyze("killed")
	s.same("killed", "clean")

	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() { s.analyze("twice") })
	}
	wait.Wait()
	s.same("twice", "clean")

	one := peers.Run(s, 0, s.env, s.binary, "analyze", "--json", "s3://captures/tail-one/*.gz")
	if n := strings.Count(one, `"type":"file"`); n < 2 {
		s.Errorf("%d files match:\n%s", n, one)
	}
	peers.Run(s, 1, s.env, s.binary, "analyze", "s3://captures/none/")
	peers.Run(s, 1, s.env, s.binary, "analyze", "s3://no-such-bucket/x")
	wrong := append(slices.Clone(s.env), "AWS_SECRET_ACCESS_KEY=wrong")
	if s.Name() != "TestGofakes3" { // which believes everyone
		peers.Run(s, 1, wrong, s.binary, "analyze", "s3://captures")
	}
}

func TestGofakes3(t *testing.T) {
	backend := httptest.NewServer(gofakes3.New(s3mem.New()).Server())
	defer backend.Close()
	newServer(t, backend.URL).test()
}

// TestVersitygw runs against a server over a directory. Its program takes minutes to build, so the
// test wants TCPWHEEL_LONG or a versitygw in PATH.
func TestVersitygw(t *testing.T) {
	binary, err := exec.LookPath("versitygw")
	if err != nil && os.Getenv("TCPWHEEL_LONG") == "" {
		t.Skip("no versitygw in PATH, and TCPWHEEL_LONG is not set to build it")
	}
	if err != nil {
		out, err := exec.Command("go", "tool", "-n", "versitygw").Output()
		if err != nil {
			t.Fatal(err)
		}
		binary = strings.TrimSpace(string(out))
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	c := exec.Command(binary, "--access", id, "--secret", secret, "--port", address, "posix", "--sidecar", t.TempDir(), t.TempDir())
	var log bytes.Buffer
	c.Stdout, c.Stderr = &log, &log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		c.Process.Kill()
		c.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	}()
	for range 100 {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	newServer(t, "http://"+address).test()
}

// faults is a proxy that fails. Each request has one of the faults, by chance.
type faults struct {
	proxy *httputil.ReverseProxy
	rate  float64

	mu      sync.Mutex
	random  *rand.Rand
	count   map[string]int
	stored  map[string]int // PUTs of a key that the store accepted
	careful map[string]int // PUTs with If-None-Match
}

func newFaults(to *url.URL) *faults {
	f := &faults{random: rand.New(rand.NewPCG(1, 2))}
	f.clear()
	// The request keeps its Host, which is signed.
	f.proxy = &httputil.ReverseProxy{
		Director: func(r *http.Request) { r.URL.Scheme, r.URL.Host = to.Scheme, to.Host },
		ModifyResponse: func(r *http.Response) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			if r.Request.Method == http.MethodPut && r.StatusCode == http.StatusOK {
				f.stored[r.Request.URL.Path]++
				if r.Request.Header.Get("If-None-Match") == "*" {
					f.careful[r.Request.URL.Path]++
				}
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	return f
}

func (f *faults) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count, f.stored, f.careful = map[string]int{}, map[string]int{}, map[string]int{}
}

// The faults.
const (
	refuse = iota // the connection is closed without an answer
	fail          // status 500, 503 or 429; nothing happened
	cut           // the answer ends in the middle
	forget        // it happened, and no answer comes
	kinds
)

// ServeHTTP passes a request on, or fails.
func (f *faults) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	kind, status := -1, 0
	if f.random.Float64() < f.rate {
		kind, status = f.random.IntN(kinds), []int{500, 503, 429}[f.random.IntN(3)]
		f.count[fmt.Sprint(r.Method, " ", kind)]++
	}
	part := f.random.Float64()
	f.mu.Unlock()
	switch kind {
	case refuse:
		panic(http.ErrAbortHandler)
	case fail:
		io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
	case cut, forget:
		answer := httptest.NewRecorder()
		f.proxy.ServeHTTP(answer, r)
		if kind == cut && r.Method == http.MethodGet {
			maps.Copy(w.Header(), answer.Header())
			w.Header().Set("Content-Length", fmt.Sprint(answer.Body.Len()))
			w.WriteHeader(answer.Code)
			w.Write(answer.Body.Bytes()[:int(part*float64(answer.Body.Len()))])
			http.NewResponseController(w).Flush()
		}
		panic(http.ErrAbortHandler)
	default:
		f.proxy.ServeHTTP(w, r)
	}
}

// check checks that there were faults of each kind, and that nothing was stored twice.
func (f *faults) check(t *testing.T, name string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, method := range []string{"GET", "PUT"} {
		for kind := range kinds {
			if f.count[fmt.Sprint(method, " ", kind)] == 0 {
				t.Errorf("no fault %d of a %s", kind, method)
			}
		}
	}
	if len(f.stored) < 50 {
		t.Errorf("%d objects stored", len(f.stored))
	}
	for key, n := range f.stored {
		if n != 1 || f.careful[key] != 1 || !strings.HasPrefix(key, "/tables/"+name+"/") {
			t.Errorf("%s: stored %d times, %d with If-None-Match", key, n, f.careful[key])
		}
	}
	t.Logf("faults by method and kind: %v; %d objects stored once", f.count, len(f.stored))
}
