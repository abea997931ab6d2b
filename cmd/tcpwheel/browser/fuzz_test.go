package browser

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// damagedInput returns a file that a seed decides, made from a capture: noise, noise behind the
// magic number of a format, and the capture with other bits, without its end, with lengths that
// lie, or with its pieces in another order. Every third one is compressed.
func damagedInput(t *testing.T, seed uint64, whole []byte) (name string, content []byte) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 30))
	noise := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	b := bytes.Clone(whole)
	kind := [...]string{"noise", "magic", "bits", "cut", "lengths", "order"}[seed%6]
	switch kind {
	case "noise":
		b = noise(1 + r.IntN(200_000))
	case "magic":
		magics := []string{"\xd4\xc3\xb2\xa1\x02\x00\x04\x00", "\xa1\xb2\xc3\xd4\x00\x02\x00\x04", "\x4d\x3c\xb2\xa1\x02\x00\x04\x00", "\x0a\x0d\x0d\x0a\x1c\x00\x00\x00\x4d\x3c\x2b\x1a", "\x1f\x8b\x08\x00", "\x28\xb5\x2f\xfd", "snoop\x00\x00\x00"}
		b = append([]byte(magics[seed/6%uint64(len(magics))]), noise(50_000)...)
	case "bits":
		for range 1 + r.IntN(500) {
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
	case "cut":
		b = b[:r.IntN(len(b))]
	case "lengths":
		for range 1 + r.IntN(20) {
			at := 4 * r.IntN(len(b)/4)
			copy(b[at:], []byte{0xff, 0xff, 0xff, byte(r.Uint32())})
		}
	case "order":
		for range 1 + r.IntN(8) {
			at := 4 * r.IntN(len(b)/4)
			b = append(bytes.Clone(b[at:]), b[:at]...)
		}
	}
	name = fmt.Sprintf("%s-%d.pcapng", kind, seed)
	if seed%3 == 0 {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		b, name = packed.Bytes(), name+".gz"
	}
	return name, b
}

// unpacked returns the content of a file that gzip compressed.
func unpacked(t *testing.T, b []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if b, err = io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	return b
}

// crash is what a page must not say: the words of a program that broke.
var crash = regexp.MustCompile(`(?i)panic|goroutine|BUG:|undefined|\bNaN\b|\[object|RuntimeError|fatal error`)

// TestSiteSurvivesHostileFiles drops dozens of damaged files. Each is read, or refused with a
// sentence of its own, within the bound of memory; the whole capture after them gives the command's
// bytes.
func TestSiteSurvivesHostileFiles(t *testing.T) {
	const bound = 1e9
	packed := sample(t, "burst/a.pcapng.gz")
	whole := unpacked(t, packed)
	ctx := openSite(t, 1400, 900, "")
	seeds, refused := uint64(42), 0
	if os.Getenv("TCPWHEEL_LONG") != "" {
		seeds = 420
	}
	most := 0.0
	for seed := range seeds {
		name, content := damagedInput(t, seed, whole)
		done := drop(t, ctx, name, content)
		said := evaluate[string](t, ctx, `document.getElementById("s-state").textContent`)
		if done == "failed" {
			refused++
		}
		if !strings.Contains(said, name) || len(said) > 300 || crash.MatchString(said) {
			t.Errorf("%s, %d bytes: the page says %q", name, len(content), said)
		}
		if shown := evaluate[string](t, ctx, `document.getElementById("s-report").innerText + document.getElementById("s-replay").innerText`); crash.MatchString(shown) {
			t.Errorf("%s: the reports say %q", name, crash.FindString(shown))
		}
		memory := evaluate[float64](t, ctx, `+document.body.dataset.memory || 0`)
		if memory == 0 || memory > bound {
			t.Errorf("%s took %v bytes, want more than none and %v at most", name, memory, bound)
		}
		most = max(most, memory)
	}
	t.Logf("%d of %d refused, at most %.0f MB", refused, seeds, most/1e6)
	if refused == 0 || refused == int(seeds) {
		t.Errorf("%d of %d files are refused, want some", refused, seeds)
	}
	t.Chdir(t.TempDir())
	const name = "whole.pcapng.gz"
	if err := os.WriteFile(name, packed, 0o666); err != nil {
		t.Fatal(err)
	}
	if done := drop(t, ctx, name, packed); done != "replay" {
		t.Fatalf("after hostile files a whole one is %s", done)
	}
	if got, want := output(t, ctx, "analyze"), printed(t, "analyze", "--json", name); got != want || want == "" {
		t.Error("after hostile files the page's JSON of analyze differs from the command's")
	}
}

// TestSiteBoundsMemory has a page whose bound is far lower: the worker ends when the program grows
// beyond it, with a sentence, and the page with its own bound takes the same capture.
func TestSiteBoundsMemory(t *testing.T) {
	dir := siteDir(t)
	const bound = "memoryBound = 1e9"
	page, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(page, []byte(bound)); n != 1 {
		t.Fatalf("the page has %q %d times, want once", bound, n)
	}
	files := http.FileServer(http.Dir(dir))
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/small" {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Write(bytes.Replace(page, []byte(bound), []byte("memoryBound = 1e7"), 1))
			return
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	packed := sample(t, "burst/a.pcapng.gz")
	ctx := open(t, web.URL+"/small", 1400, 900)
	for range 2 { // each in a worker of its own
		if done := drop(t, ctx, "burst.pcapng.gz", packed); done != "failed" {
			t.Errorf("with a bound of 10 MB the capture is %s", done)
		}
		if said := evaluate[string](t, ctx, `document.getElementById("s-state").textContent`); !strings.Contains(said, "needs more than 0.01 GB of memory") || crash.MatchString(said) {
			t.Errorf("the page says %q", said)
		}
	}
	ctx = open(t, web.URL+"/", 1400, 900)
	if done := drop(t, ctx, "burst.pcapng.gz", packed); done != "replay" {
		t.Errorf("with its own bound the page says %s", done)
	}
}
