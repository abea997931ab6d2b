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
// writes directly to pipes and terminals. If the process is killed, the next run removes the
// temporary file.
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
	removeParts(name)
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

// removeParts removes temporary files and directories of processes that were killed. One of this
// process's number is that of an earlier process.
func removeParts(name string) {
	all, err := os.ReadDir(filepath.Dir(name))
	if err != nil {
		return // making the file says why
	}
	for _, e := range all {
		number, ours := strings.CutPrefix(e.Name(), filepath.Base(name)+".")
		number, part := strings.CutSuffix(number, ".part")
		pid, err := strconv.Atoi(number)
		if ours && part && err == nil && pid > 0 && (pid == os.Getpid() || !isRunning(pid)) {
			_ = os.RemoveAll(filepath.Join(filepath.Dir(name), e.Name())) // it may be another user's
		}
	}
}

// isRunning reports whether there is a process of this number, also where that is not known.
func isRunning(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false // as Windows says
	}
	defer p.Release()
	return !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
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
