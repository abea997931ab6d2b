package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// writeWhole writes a file that is there whole or not at all: what write writes goes to a file beside it, which then takes its name.
// What is no plain file, as a pipe or a terminal, is written as it is.
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
	// Created by name, so that the umask holds.
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

// partOf is the name of what is being written, and called name when it is whole.
func partOf(name string) string { return fmt.Sprintf("%s.%d.part", name, os.Getpid()) }

// checkOutFile tells early what would keep writeWhole from writing the file, as far as that shows: there is no such directory, or the
// file is one of those that are read.
func checkOutFile(flag, name string, inputs []string) error {
	if name == "" || name == "-" {
		return fmt.Errorf("%s %q, want the name of a file", flag, name)
	}
	if info, err := os.Stat(filepath.Dir(name)); err != nil {
		return fmt.Errorf("%s %s: %w", flag, name, errors.Unwrap(err))
	} else if !info.IsDir() {
		return fmt.Errorf("%s %s: %s is no directory", flag, name, filepath.Dir(name))
	}
	out, err := os.Stat(name)
	if err != nil {
		return nil // it is new
	}
	if out.IsDir() {
		return fmt.Errorf("%s %s: is a directory", flag, name)
	}
	for _, input := range inputs {
		if in, err := os.Stat(input); err == nil && os.SameFile(in, out) {
			return fmt.Errorf("%s %s is a file that is read", flag, name)
		}
	}
	return nil
}
