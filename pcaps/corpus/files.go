package corpus

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// files is the local file system. Its keys are paths.
type files struct{}

// partSuffix ends the names of files that are being written.
const partSuffix = ".part"

// List calls add for each regular file in a folder and those below, whose paths begin with prefix.
// It follows links to files, not to folders, and skips hidden names.
func (files) List(ctx context.Context, prefix string, add func(Entry)) error {
	root := prefix
	if !isFolder(root) {
		root = filepath.Dir(root)
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		path = filepath.ToSlash(path)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		case path != filepath.ToSlash(root) && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir() || !strings.HasPrefix(path, prefix):
			return nil
		}
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a dangling link, or removed meanwhile
		}
		if err == nil && info.Mode().IsRegular() {
			add(Entry{Key: path, Size: info.Size(), Tag: fileTag(info)})
		}
		return err
	})
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// fileTag is the modification time in ns since 1970.
func fileTag(info fs.FileInfo) string { return strconv.FormatInt(info.ModTime().UnixNano(), 10) }

// Open implements Store.
func (files) Open(_ context.Context, key string, from int64, _ string) (io.ReadCloser, error) {
	f, err := os.Open(key)
	if err == nil && from > 0 {
		_, err = f.Seek(from, io.SeekStart)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// put writes a temporary file in the same folder, and renames it.
// Put implements Store.
func (files) Put(_ context.Context, key string, body []byte, replace bool) (err error) {
	if _, err := os.Stat(key); !replace && err == nil {
		return &fs.PathError{Op: "write", Path: key, Err: fs.ErrExist}
	}
	if err := os.MkdirAll(filepath.Dir(key), 0o777); err != nil {
		return err
	}
	// Not os.CreateTemp: the umask must apply.
	f, err := os.OpenFile(key+"."+rand.Text()+partSuffix, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(body)
	if err == nil {
		err = f.Sync() // before the rename: else a crash of the machine may leave an empty file
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), key)
	}
	return err
}

// Remove implements Store.
func (files) Remove(_ context.Context, key string) error {
	if err := os.Remove(key); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
