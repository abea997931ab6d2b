package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
)

// TestWriteWhole leaves the old file or the complete new one, and no temporary file.
func TestWriteWhole(t *testing.T) {
	dir := t.TempDir()
	name, link := filepath.Join(dir, "page.html"), filepath.Join(dir, "link")
	write := func(text string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			io.WriteString(w, text)
			return err
		}
	}
	want := func(text string) {
		t.Helper()
		if b, err := os.ReadFile(name); err != nil || string(b) != text {
			t.Errorf("got %q and %v, want %q", b, err, text)
		}
	}
	if err := writeWhole(name, write("half", io.ErrShortWrite)); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("got %v, want %v", err, io.ErrShortWrite)
	}
	if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("half a file is there: %v", err)
	}
	if err := writeWhole(name, write("one", nil)); err != nil {
		t.Fatal(err)
	}
	want("one")
	if err := os.Chmod(name, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeWhole(name, write("ha", io.ErrShortWrite)); err == nil {
		t.Error("no error")
	}
	want("one")
	if err := os.Symlink("page.html", link); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	if err := writeWhole(link, write("two", nil)); err != nil {
		t.Fatal(err)
	}
	want("two")
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v and %v, want that of before", info.Mode(), err)
	}
	if err := writeWhole(os.DevNull, write("three", nil)); err != nil {
		t.Error(err)
	}
	if all, _ := os.ReadDir(dir); len(all) != 2 {
		t.Errorf("%v, want the file and the link", all)
	}
}

// TestCopyWhole leaves no directory or a complete one, and no temporary one.
func TestCopyWhole(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "copy")
	if err := copyWhole(name, unreadable{fstest.MapFS{"a": {Data: []byte("a")}, "b": {}}}); err == nil {
		t.Error("a file that cannot be read was copied")
	}
	if all, _ := os.ReadDir(dir); len(all) != 0 {
		t.Errorf("%v is left", all)
	}
	whole := fstest.MapFS{"a": {Data: []byte("a")}}
	if err := copyWhole(name, whole); err != nil {
		t.Fatal(err)
	}
	if err := copyWhole(name, whole); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over one that is there: %v, want %v", err, fs.ErrExist)
	}
	if got, err := os.ReadFile(filepath.Join(name, "a")); string(got) != "a" {
		t.Errorf("%q, %v, want a", got, err)
	}
	if all, _ := os.ReadDir(dir); len(all) != 1 {
		t.Errorf("%v, want one", all)
	}
}

// unreadable has a file b that cannot be opened.
type unreadable struct{ fs.FS }

func (u unreadable) Open(name string) (fs.File, error) {
	if name == "b" {
		return nil, fs.ErrPermission
	}
	return u.FS.Open(name)
}
