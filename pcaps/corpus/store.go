package corpus

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Store is a file system or a bucket. Keys are slash-separated. Methods may be called by several
// goroutines at once.
type Store interface {
	// List calls add for each object whose key begins with prefix. The order is any.
	List(ctx context.Context, prefix string, add func(Entry)) error

	// Open reads an object from an offset on. With a tag other than "" it reads that version or
	// fails. The error wraps fs.ErrNotExist if there is no such object.
	Open(ctx context.Context, key string, from int64, tag string) (io.ReadCloser, error)

	// Put writes an object, whole or not at all. Unless it may replace one, the error wraps
	// fs.ErrExist if the object exists.
	Put(ctx context.Context, key string, body []byte, replace bool) error

	// Remove removes an object. A missing one is no error.
	Remove(ctx context.Context, key string) error
}

// Entry is an object in the list of a store.
type Entry struct {
	Key  string
	Size int64
	Tag  string // changes with the content
}

// OpenStore opens the store that a URL names, given its bucket.
type OpenStore func(ctx context.Context, bucket string, o Options) (Store, error)

// Options are the stores, the format of tables, and their settings. The zero value has files alone,
// and no tables.
type Options struct {
	Stores    map[string]OpenStore // by the scheme of a URL
	Format    Format               // of tables
	Anonymous bool                 // read public buckets without credentials
	Env       func(string) string  // the environment, such as os.Getenv
	Retry     Retry
}

// place is a location in a store: of an object, a folder or a pattern.
type place struct {
	store Store
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
	case o.Stores[scheme] == nil:
		known := []string{"file"}
		for s := range o.Stores {
			known = append(known, s)
		}
		slices.Sort(known)
		return place{}, fmt.Errorf("%s: unknown scheme %q, want one of %s", name, scheme, strings.Join(known, ", "))
	}
	bucket, key, _ := strings.Cut(rest, "/")
	if bucket == "" {
		return place{}, fmt.Errorf("%s: no bucket, want %s://BUCKET/KEY", name, scheme)
	}
	s, err := o.Stores[scheme](ctx, bucket, o)
	if err != nil {
		return place{}, fmt.Errorf("%s: %w", name, err)
	}
	return place{store: s, root: scheme + "://" + bucket + "/", key: key}, nil
}
