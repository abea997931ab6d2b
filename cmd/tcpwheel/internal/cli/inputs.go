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
	"strconv"
	"strings"
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

// shardOf returns the captures of part "i/n", whole files in their order; "" is all. Each part takes
// every n-th of the files by size, so that the sizes of two parts differ by no more than one file.
// The split depends on the files' names and sizes alone: it is the same on each machine.
func shardOf(text string, all []captureFile) ([]captureFile, error) {
	if text == "" {
		return all, nil
	}
	index, of, _ := strings.Cut(text, "/")
	i, err := strconv.Atoi(index)
	n, wrong := strconv.Atoi(of)
	if err != nil || wrong != nil || i < 0 || i >= n {
		return nil, fmt.Errorf("shard %s, want i/n: one of 0/n to n-1/n", text)
	}
	bySize := slices.Clone(all)
	slices.SortStableFunc(bySize, func(a, b captureFile) int { return cmp.Compare(b.Size, a.Size) })
	mine := map[string]bool{}
	for k, f := range bySize {
		mine[f.Name] = k%n == i
	}
	return slices.DeleteFunc(slices.Clone(all), func(f captureFile) bool { return !mine[f.Name] }), nil
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

// fileErrors are the errors of the files of a run, in their order. A file that cannot be read does
// not stop the run, and one that was found in a directory need not be a capture.
type fileErrors struct {
	w     io.Writer
	last  error  // not printed yet: the run ends with it
	other string // the first that is no capture
	n     int    // of these
}

// note takes the error of a file, nil for none.
func (f *fileErrors) note(o *captureFile, err error) {
	switch {
	case err == nil:
	case o.Listed && errors.Is(err, capture.ErrNotCapture):
		f.n++
		f.other = cmp.Or(f.other, o.Name)
	default:
		f.print()
		f.last = err
	}
}

// print prints the latest error, if there is one.
func (f *fileErrors) print() {
	if f.last != nil {
		fmt.Fprintf(f.w, "tcpwheel: error: %s\n", errorText(f.last))
	}
}

// end says which files were left out. It is an error if all are.
func (f *fileErrors) end(files int) error {
	switch {
	case f.n > 0 && f.n == files:
		return fmt.Errorf("no capture in %s, such as %s", quantity.Count(files, "file"), quantity.Printable(f.other))
	case f.n == 1:
		fmt.Fprintf(f.w, "tcpwheel: left out %s, which is no capture\n", quantity.Printable(f.other))
	case f.n > 1:
		fmt.Fprintf(f.w, "tcpwheel: left out %d files that are no captures, such as %s\n", f.n, quantity.Printable(f.other))
	}
	return nil
}
