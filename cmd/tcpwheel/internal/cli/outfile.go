package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"tcpwheel/internal/quantity"
)

// writeWhole writes a complete file or none: it writes to a temporary file and renames that. It
// writes directly to pipes and terminals.
func writeWhole(name string, write func(io.Writer) error) error {
	mode := os.FileMode(0o666)
	if info, err := os.Stat(name); err == nil {
		mode = info.Mode().Perm()
		if !info.Mode().IsRegular() {
			if info.IsDir() {
				return fmt.Errorf("%s: is a directory", name)
			}
			f, err := os.OpenFile(name, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			if err := write(f); err != nil {
				f.Close()
				return err
			}
			return f.Close()
		}
		if name, err = filepath.EvalSymlinks(name); err != nil {
			return err
		}
	}
	dropParts(name)
	// Not os.CreateTemp: the umask must apply.
	f, err := os.OpenFile(partOf(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	err = write(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// writeFile is writeWhole, and says what it wrote.
func writeFile(talk io.Writer, name string, write func(io.Writer) error) error {
	err := writeWhole(name, write)
	if err == nil {
		fmt.Fprintf(talk, "tcpwheel: wrote %s\n", quantity.Printable(name))
	}
	return err
}

// partOf is the name of the temporary file.
func partOf(name string) string { return fmt.Sprintf("%s.%d.part", name, os.Getpid()) }

// dropParts removes the temporary files of name whose processes were killed.
func dropParts(name string) {
	dir, base := filepath.Split(name)
	entries, _ := os.ReadDir(filepath.Clean(dir)) // writeWhole reports what is wrong with the folder
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), base+".")
		text, part := strings.CutSuffix(rest, ".part")
		pid, err := strconv.Atoi(text)
		if !ok || !part || err != nil || pid < 1 || pid == os.Getpid() {
			continue
		}
		if p, err := os.FindProcess(pid); err != nil || errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone) {
			os.Remove(dir + e.Name())
		}
	}
}

// checkOutFile reports early why writeWhole would fail: the directory does not exist, or the file
// is one of the inputs.
func checkOutFile(flag, name string, inputs []string) error {
	if name == "" || name == "-" {
		return fmt.Errorf("%s %q, want the name of a file", flag, name)
	}
	shown := quantity.Printable(name)
	if info, err := os.Stat(filepath.Dir(name)); err != nil {
		return fmt.Errorf("%s %s: %w", flag, shown, errors.Unwrap(err))
	} else if !info.IsDir() {
		return fmt.Errorf("%s %s: %s is no directory", flag, shown, quantity.Printable(filepath.Dir(name)))
	}
	out, err := os.Stat(name)
	if err != nil {
		return nil // a new file
	}
	if out.IsDir() {
		return fmt.Errorf("%s %s: is a directory", flag, shown)
	}
	for _, input := range inputs {
		if in, err := os.Stat(input); err == nil && os.SameFile(in, out) {
			return fmt.Errorf("%s %s is a file that is read", flag, shown)
		}
	}
	return nil
}
