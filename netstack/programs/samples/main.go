//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: samples DIR [NAME...]")
		os.Exit(2)
	}
	if err := makeAll(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "samples: error:", err)
		os.Exit(1)
	}
}

// makeAll makes the samples of these names, all if there are none, from the scenarios in the
// directory.
func makeAll(dir string, only []string) error {
	text, err := os.ReadFile(filepath.Join(dir, "scenarios.json"))
	if err != nil {
		return err
	}
	all, err := parseScenarios(text)
	if err != nil {
		return err
	}
	for _, name := range only {
		if !slices.ContainsFunc(all, func(s scenario) bool { return s.Name == name }) {
			return fmt.Errorf("no scenario %q", name)
		}
	}
	for _, s := range all {
		if len(only) > 0 && !slices.Contains(only, s.Name) {
			continue
		}
		fmt.Fprintln(os.Stderr, "samples:", s.Name)
		if err := run(s, filepath.Join(dir, s.Name)); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return nil
}
