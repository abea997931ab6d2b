package objectstore

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tcpwheel/pcaps/corpus"
)

// fakeAzure is a container named "c" with the requests that package objectstore makes. It answers
// each second request with a fault: status 500, or a broken connection in the middle.
type fakeAzure struct {
	mu      sync.Mutex
	blobs   map[string]string
	etags   map[string]string
	calls   int
	stored  map[string]int
	perPage int
	problem string
}

func (f *fakeAzure) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	f.calls++
	switch f.calls % 4 {
	case 1:
		w.Header().Set("x-ms-error-code", "InternalError")
		w.WriteHeader(http.StatusInternalServerError)
		return
	case 3:
		f.answer(httptest.NewRecorder(), r, body) // it happens, and the answer is cut short
		if r.Method != http.MethodGet {
			panic(http.ErrAbortHandler)
		}
		whole := httptest.NewRecorder()
		f.answer(whole, r, body)
		maps.Copy(w.Header(), whole.Header())
		w.Header().Set("Content-Length", fmt.Sprint(whole.Body.Len()))
		w.WriteHeader(whole.Code)
		w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	f.answer(w, r, body)
}

func (f *fakeAzure) answer(w http.ResponseWriter, r *http.Request, body []byte) {
	key := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/c"), "/")
	fail := func(status int, code string) {
		w.Header().Set("x-ms-error-code", code)
		w.WriteHeader(status)
	}
	if !strings.HasPrefix(r.Header.Get("Authorization"), "SharedKey account:") && r.URL.Query().Get("sig") == "" {
		fail(http.StatusForbidden, "AuthenticationFailed")
		return
	}
	_, exists := f.blobs[key]
	switch {
	case r.URL.Query().Get("comp") == "list":
		f.list(w, r)
	case r.Method == http.MethodPut && exists && r.Header.Get("If-None-Match") == "*":
		fail(http.StatusConflict, "BlobAlreadyExists")
	case r.Method == http.MethodPut:
		f.put(key, string(body))
		w.WriteHeader(http.StatusCreated)
	case !exists:
		fail(http.StatusNotFound, "BlobNotFound")
	case r.Header.Get("If-Match") != "" && r.Header.Get("If-Match") != f.etags[key]:
		fail(http.StatusPreconditionFailed, "ConditionNotMet")
	case r.Method == http.MethodDelete:
		delete(f.blobs, key)
		w.WriteHeader(http.StatusAccepted)
	default:
		from := 0
		if text := r.Header.Get("x-ms-range"); text != "" {
			if _, err := fmt.Sscanf(text, "bytes=%d-", &from); err != nil {
				f.problem = text
			}
		}
		w.Header().Set("ETag", f.etags[key])
		io.WriteString(w, f.blobs[key][from:])
	}
}

func (f *fakeAzure) put(key, body string) {
	sum := md5.Sum([]byte(body))
	f.blobs[key], f.etags[key] = body, `"`+hex.EncodeToString(sum[:])+`"`
	f.stored[key]++
}

func (f *fakeAzure) list(w http.ResponseWriter, r *http.Request) {
	type item struct {
		Name       string
		Properties struct {
			ContentLength int64  `xml:"Content-Length"`
			ETag          string `xml:"Etag"`
		}
	}
	var page struct {
		XMLName    xml.Name `xml:"EnumerationResults"`
		Blobs      []item   `xml:"Blobs>Blob"`
		NextMarker string
	}
	for _, key := range slices.Sorted(maps.Keys(f.blobs)) {
		if !strings.HasPrefix(key, r.URL.Query().Get("prefix")) || key < r.URL.Query().Get("marker") {
			continue
		}
		if len(page.Blobs) == f.perPage {
			page.NextMarker = key
			break
		}
		i := item{Name: key}
		i.Properties.ContentLength, i.Properties.ETag = int64(len(f.blobs[key])), f.etags[key]
		page.Blobs = append(page.Blobs, i)
	}
	w.Header().Set("Content-Type", "application/xml")
	xml.NewEncoder(w).Encode(page)
}

type manifestRow struct {
	File string `json:"file"`
}

// names returns the names of objects below a folder.
func names(dir string, all []corpus.Object) string {
	var out []string
	for _, o := range all {
		out = append(out, strings.TrimPrefix(strings.TrimPrefix(o.Name, dir), "/"))
	}
	return strings.Join(out, " ")
}

// TestAzure lists, reads and writes a container whose every second answer is a fault.
func TestAzure(t *testing.T) {
	f := &fakeAzure{blobs: map[string]string{}, etags: map[string]string{}, stored: map[string]int{}, perPage: 3}
	long := strings.Repeat("0123456789", 10_000)
	for i := range 8 {
		f.put(fmt.Sprintf("captures/%d/x.pcap", i), fmt.Sprint(i, long))
	}
	f.put("other", "text")
	clear(f.stored)
	server := httptest.NewServer(f)
	defer server.Close()
	env := map[string]string{"AZURE_STORAGE_ACCOUNT": "account", "AZURE_STORAGE_KEY": "a2V5", "AZURE_STORAGE_ENDPOINT": server.URL + "/"}
	o := corpus.Options{Stores: Stores(), Format: corpus.JSONLines{}, Env: func(name string) string { return env[name] }, Retry: corpus.Retry{Pause: time.Millisecond}}
	all, err := corpus.List(t.Context(), []string{"azblob://c/captures"}, o)
	if err != nil || len(all) != 8 {
		t.Fatalf("%d objects, %v, want 8", len(all), err)
	}
	if some, err := corpus.List(t.Context(), []string{"azblob://c/captures/[2-4]/*.pcap"}, o); err != nil || names("azblob://c", some) != "captures/2/x.pcap captures/3/x.pcap captures/4/x.pcap" {
		t.Errorf("%s, %v", names("azblob://c", some), err)
	}
	for i := range all {
		r, err := all[i].Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != fmt.Sprint(i, long) {
			t.Errorf("%s: %d bytes, %v", all[i].Name, len(got), err)
		}
		r.Close()
	}
	manifest := corpus.NewTable[manifestRow]("files")
	for range 2 {
		tables, err := corpus.OpenTables(t.Context(), "azblob://c/tables", o, manifest)
		if err != nil {
			t.Fatal(err)
		}
		for i := range all {
			if tables.State(&all[i]) != corpus.Missing {
				continue
			}
			p := tables.Begin(&all[i])
			p.SetRow(manifestRow{File: all[i].Name})
			if err := p.Commit(t.Context(), time.Time{}, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(f.stored) != 9 || f.problem != "" {
		t.Errorf("%d parts stored, want 9; %s", len(f.stored), f.problem)
	}
	for key, n := range f.stored {
		if n != 1 {
			t.Errorf("%s is stored %d times", key, n)
		}
	}
	// A new version of an object removes the part of the old one.
	all[0].Tag = "new"
	tables, err := corpus.OpenTables(t.Context(), "azblob://c/tables/", o, manifest)
	if err != nil {
		t.Fatal(err)
	}
	p := tables.Begin(&all[0])
	p.SetRow(manifestRow{File: all[0].Name})
	if err := p.Commit(t.Context(), time.Time{}, false); err != nil || len(f.blobs) != 9+9 {
		t.Errorf("%v, %d objects, want 18", err, len(f.blobs))
	}
	if _, err := all[0].Open(t.Context()); err == nil || !strings.Contains(err.Error(), "has changed since it was listed") {
		t.Errorf("a changed object: %v", err)
	}
	env["AZURE_STORAGE_KEY"], env["AZURE_STORAGE_SAS_TOKEN"] = "", "sig=x"
	if some, err := corpus.List(t.Context(), []string{"azblob://c/other"}, o); err != nil || len(some) != 1 {
		t.Errorf("with a token: %d, %v", len(some), err)
	}
	env["AZURE_STORAGE_SAS_TOKEN"] = ""
	if _, err := corpus.List(t.Context(), []string{"azblob://c/other"}, o); err == nil || !strings.Contains(err.Error(), "no credentials") {
		t.Errorf("without credentials: %v", err)
	}
}
