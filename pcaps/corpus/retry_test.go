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

func (f *flaky) open(_ context.Context, key string, from int64, _ string) (io.ReadCloser, error) {
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

func (f *flaky) list(context.Context, string, func(entry)) error { return nil }
func (f *flaky) put(context.Context, string, []byte, bool) error { return nil }
func (f *flaky) remove(context.Context, string) error            { return nil }

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

func TestCredentials(t *testing.T) {
	o := Options{Env: func(name string) string {
		return map[string]string{"AWS_EC2_METADATA_DISABLED": "true", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"}[name]
	}}
	for input, want := range map[string]string{
		"s3://bucket/x": "s3://bucket/x: no credentials: set AWS_ACCESS_KEY_ID",
		"gs://bucket/x": "gs://bucket/x: no credentials: set GS_ACCESS_KEY_ID",
		"azblob://c/x":  "azblob://c/x: no account: set AZURE_STORAGE_ACCOUNT",
		"s3:///x":       "s3:///x: no bucket, want s3://BUCKET/KEY",
		"hdfs://host/x": `unknown scheme "hdfs", want one of azblob, file, gs, s3`,
	} {
		if _, err := List(t.Context(), []string{input}, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", input, err, want)
		}
	}
}
