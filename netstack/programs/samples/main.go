//go:build linux

package main

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: samples DIR [NAME...]")
		os.Exit(2)
	}
	if err := makeAll(ctx, os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "samples: error:", err)
		os.Exit(1)
	}
}

// makeAll makes the samples of these names, all if there are none, from the scenarios in the
// directory, and says there how each was made.
func makeAll(ctx context.Context, dir string, only []string) error {
	text, err := os.ReadFile(filepath.Join(dir, "scenarios.json"))
	if err != nil {
		return err
	}
	all, err := ParseScenarios(text)
	if err != nil {
		return err
	}
	for _, name := range only {
		if !slices.ContainsFunc(all, func(s Scenario) bool { return s.Name == name }) {
			return fmt.Errorf("no scenario %q", name)
		}
	}
	for _, s := range all {
		if len(only) > 0 && !slices.Contains(only, s.Name) {
			continue
		}
		fmt.Fprintln(os.Stderr, "samples:", s.Name)
		if err := Run(ctx, s, filepath.Join(dir, s.Name)); err != nil {
			return err
		}
	}
	return writeReadme(dir, all)
}

const readmeHead = `# Sample captures

Captures of connections between two Linux kernels over an emulated link, made by this project. The losses are known, and
so is the cause of each retransmission.

Make all of them again, as root, by

` + "```text\nmake samples\n```" + `

or one by ` + "`go run -C netstack/programs ./samples ../../pcaps/samples NAME`" + `. [scenarios.json](scenarios.json)
describes each. The same program writes this file. Time stamps and ports differ each time; losses given by bytes do not.

| file | content |
|---|---|
| ` + "`a.pcapng.gz`, `b.pcapng.gz`" + ` | capture at each end; a is 10.77.1.1 or fd77:1::1, b is 10.77.2.1 or fd77:2::1 |
| ` + "`middle.pcapng.gz`" + ` | capture at the router between them, on a's side, if there is one |
| ` + "`fates.jsonl.gz`" + ` | log of the link at a: the fate of each packet, as in [docs/link.md](../../docs/link.md) |
| ` + "`far-fates.jsonl.gz`" + ` | log of the link between the router and b |
| ` + "`kernel.jsonl.gz`" + ` | each retransmission with its cause, and the counters, by the kernels |
| ` + "`analyze.golden`" + ` | output of ` + "`tcpwheel analyze --all`" + `; ` + "`go test ./cmd/tcpwheel/internal/cli -update`" + ` rewrites it |
`

// releaseOf returns the release of the kernel that made a sample.
func releaseOf(name string) (string, error) {
	in, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	var first kernelRecord
	if err := json.NewDecoder(z).Decode(&first); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return first.Release, nil
}

// writeReadme describes how each sample was made.
func writeReadme(dir string, all []Scenario) error {
	var b strings.Builder
	b.WriteString(readmeHead)
	for _, s := range all {
		release, err := releaseOf(filepath.Join(dir, s.Name, "kernel.jsonl.gz"))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s%s.\n\nLinux %s\n\n| file | bytes | SHA-256 |\n|---|---|---|\n", s.Name, strings.ToUpper(s.About[:1]), s.About[1:], release)
		names, err := filepath.Glob(filepath.Join(dir, s.Name, "*.gz"))
		if err != nil {
			return err
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "| %s | %d | `%x` |\n", filepath.Base(name), len(data), sha256.Sum256(data))
		}
	}
	return os.WriteFile(filepath.Join(dir, "README.md"), []byte(b.String()), 0o666)
}
