package corpus

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"
)

// flaky is a store with one object. Each connection brings so many bytes and then breaks.
type flaky struct {
	text  string
	bytes []int // of the connections in turn; -1 is one that cannot be made
	opens []int64
}

func (f *flaky) Open(_ context.Context, key string, from int64, _ string) (io.ReadCloser, error) {
	f.opens = append(f.opens, from)
	if key == "none" {
		return nil, &permanent{fs.ErrNotExist}
	}
	n := len(f.text)
	if len(f.bytes) > 0 {
		n, f.bytes = f.bytes[0], f.bytes[1:]
	}
	if n < 0 {
		return nil, errors.New("refused")
	}
	rest := f.text[from:]
	if n >= len(rest) {
		return io.NopCloser(strings.NewReader(rest)), nil
	}
	return io.NopCloser(io.MultiReader(strings.NewReader(rest[:n]), broken{})), nil
}

func (f *flaky) List(context.Context, string, func(Entry)) error { return nil }
func (f *flaky) Put(context.Context, string, []byte, bool) error { return nil }
func (f *flaky) Remove(context.Context, string) error            { return nil }

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

func TestStreamSurvivesBrokenConnections(t *testing.T) {
	text := strings.Repeat("0123456789", 100)
	for _, c := range []struct {
		bytes []int
		want  string
	}{
		{nil, ""},
		{[]int{10, 0, 500, -1, -1, 3}, ""},
		{[]int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, ""}, // more breaks than attempts, with progress
		{[]int{10, 0, -1, 0, 0}, "connection reset (4 attempts)"},
		{[]int{-1, -1, -1, -1}, "refused (4 attempts)"},
	} {
		o := Object{Name: "x", key: "x", Size: int64(len(text)), store: &flaky{text: text, bytes: c.bytes}, retry: Retry{Attempts: 4, Pause: time.Microsecond}}
		r, err := o.Open(t.Context())
		var got []byte
		if err == nil {
			got, err = io.ReadAll(r)
			r.Close()
		}
		var failed *StoreError
		switch {
		case c.want == "" && (err != nil || string(got) != text):
			t.Errorf("%v: %d bytes, %v", c.bytes, len(got), err)
		case c.want != "" && (!errors.As(err, &failed) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%v: %v, want %s", c.bytes, err, c.want)
		}
	}
	none := &flaky{text: text}
	o := Object{Name: "none", key: "none", store: none}
	if _, err := o.Open(t.Context()); !errors.Is(err, fs.ErrNotExist) || len(none.opens) != 1 {
		t.Errorf("no object: %v after %d attempts", err, len(none.opens))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o = Object{Name: "x", key: "x", store: &flaky{text: text, bytes: []int{-1, -1}}}
	if _, err := o.Open(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// TestURLs names stores that a program has not, or not so.
func TestURLs(t *testing.T) {
	o := Options{Stores: map[string]OpenStore{"s3": func(context.Context, string, Options) (Store, error) {
		return nil, errors.New("no credentials")
	}}}
	for input, want := range map[string]string{
		"s3://bucket/x": "s3://bucket/x: no credentials",
		"s3:///x":       "s3:///x: no bucket, want s3://BUCKET/KEY",
		"hdfs://host/x": `unknown scheme "hdfs", want one of file, s3`,
	} {
		if _, err := List(t.Context(), []string{input}, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", input, err, want)
		}
	}
	if _, err := OpenTables(t.Context(), t.TempDir(), o, NewTable[manifestRow]("files")); err == nil || !strings.Contains(err.Error(), "no format") {
		t.Errorf("tables without a format: %v", err)
	}
}
