package corpus

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// store is a file system or a bucket. Keys are slash-separated. Methods may be called by several
// goroutines at once.
type store interface {
	// list calls add for each object whose key begins with prefix. The order is any.
	list(ctx context.Context, prefix string, add func(entry)) error

	// open reads an object from an offset on. With a tag other than "" it reads that version or
	// fails. The error wraps fs.ErrNotExist if there is no such object.
	open(ctx context.Context, key string, from int64, tag string) (io.ReadCloser, error)

	// put writes an object, whole or not at all. Unless it may replace one, the error wraps
	// fs.ErrExist if the object exists.
	put(ctx context.Context, key string, body []byte, replace bool) error

	// remove removes an object. A missing one is no error.
	remove(ctx context.Context, key string) error
}

// entry is an object in the list of a store.
type entry struct {
	key  string
	size int64
	tag  string // changes with the content
}

// Options are settings of object stores.
type Options struct {
	Anonymous bool                // read public buckets without credentials
	Env       func(string) string // the environment, such as os.Getenv
	Retry     Retry
}

// schemes open the stores of a URL's scheme, given the bucket.
var schemes = map[string]func(ctx context.Context, bucket string, o Options) (store, error){
	"s3": openS3, "gs": openGS, "azblob": openAzure,
}

// place is a location in a store: of an object, a folder or a pattern.
type place struct {
	store store
	root  string // what comes before keys in names, such as "s3://bucket/"
	key   string
}

// locate finds the store of a path or URL.
func locate(ctx context.Context, name string, o Options) (place, error) {
	scheme, rest, ok := strings.Cut(name, "://")
	switch {
	case !ok:
		return place{store: files{}, key: name}, nil
	case scheme == "file":
		path, ok := strings.CutPrefix(rest, "/")
		if !ok {
			return place{}, fmt.Errorf("%s: want file:///path, with an absolute path", name)
		}
		return place{store: files{}, key: "/" + path}, nil
	case schemes[scheme] == nil:
		known := []string{"file"}
		for s := range schemes {
			known = append(known, s)
		}
		slices.Sort(known)
		return place{}, fmt.Errorf("%s: unknown scheme %q, want one of %s", name, scheme, strings.Join(known, ", "))
	}
	bucket, key, _ := strings.Cut(rest, "/")
	if bucket == "" {
		return place{}, fmt.Errorf("%s: no bucket, want %s://BUCKET/KEY", name, scheme)
	}
	s, err := schemes[scheme](ctx, bucket, o)
	if err != nil {
		return place{}, fmt.Errorf("%s: %w", name, err)
	}
	return place{store: s, root: scheme + "://" + bucket + "/", key: key}, nil
}
