package corpus

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Object is a capture of a corpus: a file, or an object of a store.
type Object struct {
	Name string // path or URL
	Size int64  // in bytes, as stored; -1 if unknown
	Tag  string // of this version: the etag, or a file's modification time in ns since 1970

	// Listed reports whether the object was found in a folder, rather than named or matched by a
	// pattern. It need not be a capture.
	Listed bool

	store Store
	key   string
	retry Retry
}

// List returns the captures that the inputs name, each once: files and objects, everything below
// folders, and what matches patterns. In patterns * and ? match within a name, [a-z] one character,
// and ** any number of folders. A file that does not exist is an object without size: opening it
// fails.
//
// An input that leads to no object is an error, as is an unknown scheme.
func List(ctx context.Context, inputs []string, o Options) ([]Object, error) {
	var all []Object
	for _, input := range inputs {
		p, err := locate(ctx, input, o)
		if err != nil {
			return nil, err
		}
		some, err := p.objects(ctx)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", input, err)
		case len(some) == 0 && isPattern(p.key):
			return nil, fmt.Errorf("%s: no file matches", input)
		case len(some) == 0:
			return nil, fmt.Errorf("%s: no file in it", input)
		}
		for i := range some {
			some[i].retry = o.Retry
		}
		slices.SortFunc(some, func(a, b Object) int { return cmp.Compare(a.Name, b.Name) })
		all = append(all, some...)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(o Object) bool {
		twice := seen[o.Name]
		seen[o.Name] = true
		return twice
	}), nil
}

// objects returns the objects of a place, in any order.
func (p *place) objects(ctx context.Context) ([]Object, error) {
	if _, local := p.store.(files); local {
		return p.files(ctx)
	}
	var all []Object
	pattern, prefix := isPattern(p.key), p.key
	if pattern {
		prefix = literalPrefix(p.key)
	}
	folder := strings.TrimSuffix(p.key, "/") + "/"
	err := p.store.List(ctx, prefix, func(e Entry) {
		switch {
		case strings.HasSuffix(e.Key, "/"): // a folder as some tools mark it
		case pattern && match(p.key, e.Key), e.Key == p.key:
			all = append(all, p.object(e, false))
		case !pattern && (p.key == "" || strings.HasPrefix(e.Key, folder)):
			all = append(all, p.object(e, true))
		}
	})
	return all, err
}

// files is objects for the local file system.
func (p *place) files(ctx context.Context) (all []Object, err error) {
	info, err := os.Stat(p.key)
	switch {
	case err == nil && !info.IsDir():
		return []Object{p.object(Entry{p.key, info.Size(), fileTag(info)}, false)}, nil
	case err == nil:
		err = p.store.List(ctx, filepath.ToSlash(filepath.Clean(p.key)), func(e Entry) { all = append(all, p.object(e, true)) })
		return all, err
	case !isPattern(p.key):
		return []Object{p.object(Entry{Key: p.key, Size: -1}, false)}, nil
	}
	pattern := filepath.ToSlash(filepath.Clean(p.key))
	err = p.store.List(ctx, literalPrefix(pattern), func(e Entry) {
		if match(pattern, e.Key) {
			all = append(all, p.object(e, false))
		}
	})
	return all, err
}

func (p *place) object(e Entry, listed bool) Object {
	return Object{Name: p.root + e.Key, Size: e.Size, Tag: e.Tag, Listed: listed, store: p.store, key: e.Key}
}

// Open reads the object from its beginning. If the connection to its store breaks, the stream
// continues where it broke, within the limits of Options.Retry; it fails if the object has changed
// meanwhile. The caller closes it.
func (o *Object) Open(ctx context.Context) (io.ReadCloser, error) {
	if _, local := o.store.(files); local {
		return o.store.Open(ctx, o.key, 0, "")
	}
	return openStream(ctx, o)
}

func isPattern(key string) bool { return strings.ContainsAny(key, "*?[") }

// literalPrefix returns the folder that all matches of a pattern are in, with its slash.
func literalPrefix(pattern string) string {
	i := strings.IndexAny(pattern, "*?[")
	return pattern[:strings.LastIndexByte(pattern[:i], '/')+1]
}

// match reports whether a pattern matches a key. A malformed pattern matches nothing.
func match(pattern, key string) bool {
	return matchParts(strings.Split(pattern, "/"), strings.Split(key, "/"))
}

func matchParts(pattern, key []string) bool {
	for ; len(pattern) > 0; pattern, key = pattern[1:], key[1:] {
		if pattern[0] == "**" {
			for i := range len(key) + 1 {
				if matchParts(pattern[1:], key[i:]) {
					return true
				}
			}
			return false
		}
		if len(key) == 0 {
			return false
		}
		if ok, err := path.Match(pattern[0], key[0]); err != nil || !ok {
			return false
		}
	}
	return len(key) == 0
}
