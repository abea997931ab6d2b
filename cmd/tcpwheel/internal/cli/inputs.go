package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tcpwheel/internal/quantity"
	"tcpwheel/pcaps/capture"
)

// inputHelp describes what names captures.
const inputHelp = "A FILE may also be a directory."

// captureFile is a capture that a command reads.
type captureFile struct {
	Name string
	Size int64 // in bytes, as stored; -1 if unknown

	// Listed reports whether the file was found in a directory, rather than named. It need not be a
	// capture.
	Listed bool
}

// listCaptures returns the captures that the arguments name, each once: files, and everything below
// directories. A file that does not exist has no size: opening it fails. A directory without a file
// is an error.
func listCaptures(args []string) ([]captureFile, error) {
	var all []captureFile
	for _, arg := range args {
		some, err := captureFiles(arg)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", arg, err)
		case len(some) == 0:
			return nil, fmt.Errorf("%s: no file in it", arg)
		}
		slices.SortFunc(some, func(a, b captureFile) int { return cmp.Compare(a.Name, b.Name) })
		all = append(all, some...)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(f captureFile) bool {
		twice := seen[f.Name]
		seen[f.Name] = true
		return twice
	}), nil
}

// captureFiles returns the files that an argument names, in any order.
func captureFiles(arg string) (all []captureFile, err error) {
	if arg == "-" || strings.HasPrefix(arg, samplePrefix) {
		return []captureFile{{Name: arg, Size: -1}}, nil
	}
	if scheme, _, ok := strings.Cut(arg, "://"); ok {
		return nil, fmt.Errorf("want a file: a program that reads %s:// writes into 'tcpwheel analyze -', see docs/corpora.md", scheme)
	}
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		err = walkCaptures(filepath.Clean(arg), func(f captureFile) {
			f.Listed = true
			all = append(all, f)
		})
		return all, err
	case err == nil:
		return []captureFile{{Name: arg, Size: info.Size()}}, nil
	}
	return []captureFile{{Name: arg, Size: -1}}, nil
}

// walkCaptures calls add for each regular file below a directory. It follows links to files, not to
// directories, and skips hidden names.
func walkCaptures(root string, add func(captureFile)) error {
	return filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != root && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		}
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a dangling link, or removed meanwhile
		}
		if err == nil && info.Mode().IsRegular() {
			add(captureFile{Name: filepath.ToSlash(name), Size: info.Size()})
		}
		return err
	})
}

// perCapture is what an empty capture costs in a shard, in bytes.
const perCapture = 1 << 20

// shardOf returns the captures of a shard, whole files. The split depends on the order and the sizes
// of the files alone, so that it is the same on each machine. "" is all of them.
func shardOf(text string, all []captureFile) (mine []captureFile, err error) {
	s, err := parseShard(text)
	if err != nil {
		return nil, fmt.Errorf("shard %s: %w", text, err)
	}
	if text == "" {
		return all, nil
	}
	costs := make([]float64, len(all))
	for i := range all {
		costs[i] = float64(max(all[i].Size, 0)) + perCapture
	}
	for _, i := range slices.Sorted(slices.Values(s.share(costs))) {
		mine = append(mine, all[i])
	}
	return mine, nil
}

// readProgress counts the files that a run has read.
type readProgress struct {
	files atomic.Int64
	of    int
}

// show shows the progress on a terminal until stop.
func (p *readProgress) show(w io.Writer) (stop func()) {
	line := statusLine{w: w}
	line.start(func(time.Duration) string { return fmt.Sprintf("%d of %d files", p.files.Load(), p.of) })
	return line.stop
}

// notCaptures counts files found in directories that are no captures.
type notCaptures struct {
	mu    sync.Mutex
	first string
	n     int
}

// has counts the object and returns true if it is such a file.
func (c *notCaptures) has(o *captureFile, err error) bool {
	if !o.Listed || !errors.Is(err, capture.ErrNotCapture) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n++; c.n == 1 || o.Name < c.first {
		c.first = o.Name
	}
	return true
}

// end says how many there were. It is an error if all files are such ones.
func (c *notCaptures) end(w io.Writer, files int) error {
	switch {
	case c.n > 0 && c.n == files:
		return fmt.Errorf("no capture in %s, such as %s", quantity.Count(files, "file"), quantity.Printable(c.first))
	case c.n == 1:
		fmt.Fprintf(w, "tcpwheel: left out %s, which is no capture\n", quantity.Printable(c.first))
	case c.n > 1:
		fmt.Fprintf(w, "tcpwheel: left out %d files that are no captures, such as %s\n", c.n, quantity.Printable(c.first))
	}
	return nil
}
