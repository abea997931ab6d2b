package tcpwheel_test

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// documents are what shows commands, in blocks marked sh, a command on each line.
var documents = []string{"README.md", "CONTRIBUTING.md", "wheel/peers/README.md", "docs/studies.md", "docs/performance.md", "docs/findings.md", "docs/start.md"}

// built returns the command, which is built once for all tests of this package.
func built(t *testing.T) string {
	t.Helper()
	if err := build(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(buildDir, "tcpwheel")
}

// buildDir is where the command was built, "" if no test wanted it.
var buildDir string

var build = sync.OnceValue(func() (err error) {
	if buildDir, err = os.MkdirTemp("", "tcpwheel"); err != nil {
		return err
	}
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", buildDir, "./cmd/tcpwheel").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
})

func TestMain(m *testing.M) {
	status := m.Run()
	if buildDir != "" {
		os.RemoveAll(buildDir)
	}
	os.Exit(status)
}

// TestCommandsOfTheDocumentation tries every command that the documentation shows. It runs those of
// tcpwheel, at a small size, and checks that what the others name exists.
func TestCommandsOfTheDocumentation(t *testing.T) {
	binary := built(t)
	tcpwheel := func(args []string) error {
		out, err := exec.Command(binary, args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("tcpwheel %s: %w\n%s", strings.Join(args, " "), err, out)
		}
		return nil
	}
	for _, name := range documents {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		commands := shellCommands(string(text))
		if len(commands) == 0 {
			t.Errorf("%s shows no command", name)
		}
		for _, c := range commands {
			if err := tryCommand(c.words, os.ReadFile, tcpwheel); err != nil {
				t.Errorf("%s:%d: %v", name, c.line, err)
			}
		}
	}
}

// command is one line of a block marked sh.
type command struct {
	line  int
	words []string
}

func shellCommands(text string) (commands []command) {
	inside := false
	for i, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```sh"
		case inside && line != "" && !strings.HasPrefix(line, "#"):
			commands = append(commands, command{i + 1, words(line)})
		}
	}
	return commands
}

var word = regexp.MustCompile(`'[^']*'|\S+`)

// words splits a command as a shell would, as far as the documentation goes.
func words(line string) []string {
	all := word.FindAllString(line, -1)
	for i, w := range all {
		all[i] = strings.Trim(w, "'")
	}
	return all
}

// quick are the flags that let a command of tcpwheel take no time.
var quick = map[string][]string{
	"wheel bench":    {"--n=100", "--budget=1ms", "--rounds=1"},
	"wheel lateness": {"--for=100ms"},
}

// tryCommand returns what is wrong with a command. read reads the project's files, tcpwheel runs
// its binary.
func tryCommand(words []string, read func(string) ([]byte, error), tcpwheel func([]string) error) error {
	has := func(file, pattern string) error {
		text, err := read(file)
		if err != nil {
			return fmt.Errorf("%s: %w", strings.Join(words, " "), err)
		}
		if !regexp.MustCompile(`(?m)` + pattern).Match(text) {
			return fmt.Errorf("%s: %s has no %s", strings.Join(words, " "), file, pattern)
		}
		return nil
	}
	switch arg := func(i int) string { return strings.Join(words[min(i, len(words)):min(i+1, len(words))], "") }; {
	case arg(0) == "go" && arg(1) == "run" && arg(2) == "./cmd/tcpwheel":
		return tcpwheel(shorten(words[3:]))
	case arg(0) == "go" && arg(1) == "install":
		return has(strings.TrimPrefix(arg(2), "./")+"/main.go", `^package main$`)
	case arg(0) == "go" && arg(1) == "run" && strings.HasSuffix(arg(2), "@latest"):
		return nil // comes from the network
	case arg(0) == "go" && arg(1) == "test" && arg(2) == "./...":
		return has("go.mod", `^module `)
	case arg(0) == "go" && arg(1) == "test" && slices.Contains(words, "-run"):
		// TestProofsExist looks for the test
		return has(strings.TrimPrefix(arg(2), "./")+"/doc.go", `^package `)
	case arg(0) == "go" && arg(1) == "-C" && arg(3) == "test":
		return has(arg(2)+"/go.mod", `^module `)
	case arg(0) == ".ci/run":
		for _, step := range words[1:] {
			if err := has(".ci/run", `^step_`+step+`\(\)`); err != nil {
				return err
			}
		}
		return has(".ci/run", `^#!`)
	case arg(0) == "make":
		return has("Makefile", `^`+arg(1)+`:`)
	}
	return fmt.Errorf("%s: teach readme_test.go how to try this", strings.Join(words, " "))
}

// shorten gives a command of tcpwheel its quick flags, instead of what it says of them.
func shorten(args []string) []string {
	for name, flags := range quick {
		if !strings.HasPrefix(strings.Join(args, " ")+" ", name+" ") {
			continue
		}
		for _, f := range flags {
			key, _, _ := strings.Cut(f, "=")
			if i := slices.Index(args, key); i >= 0 {
				args = slices.Delete(slices.Clone(args), i, min(i+2, len(args)))
			}
			args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, key+"=") })
		}
		return append(args, flags...)
	}
	return args
}

// TestProofsExist looks for each test, fuzz target and benchmark that a document names, and in the
// package of a command for those of the command.
func TestProofsExist(t *testing.T) {
	defined, inFolder := make(map[string]bool), make(map[string][]string)
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)\w*)\(`)
	err := filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range function.FindAllSubmatch(text, -1) {
			defined[string(m[1])] = true
			folder := filepath.ToSlash(filepath.Dir(path))
			inFolder[folder] = append(inFolder[folder], string(m[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`\b((?:Test|Fuzz|Benchmark|Example)[A-Z]\w*)(\*?)`)
	run := regexp.MustCompile("go (?:-C (\\S+) )?test (\\./\\S+)[^`\n]* -run '?\\^?([A-Z][\\w|]*)")
	scenario := regexp.MustCompile("`([a-z0-9-]+\\.pkt)`")
	for _, name := range append([]string{"docs/status.md", "docs/accuracy.md", "docs/captures.md", "docs/differences.md", "docs/link.md", "docs/up.md"}, documents...) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			found := defined[m[1]]
			for test := range defined {
				found = found || m[2] != "" && strings.HasPrefix(test, m[1])
			}
			if !found {
				t.Errorf("%s: there is no %s", name, m[0])
			}
		}
		for _, m := range run.FindAllStringSubmatch(string(text), -1) {
			for _, part := range strings.Split(m[3], "|") {
				if folder := path.Join(m[1], m[2]); !slices.ContainsFunc(inFolder[folder],
					func(test string) bool { return strings.Contains(test, part) }) {
					t.Errorf("%s: %s: no test of %s is %s", name, m[0], folder, part)
				}
			}
		}
		for _, m := range scenario.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join("netstack/tcp/testdata", m[1])); err != nil {
				t.Errorf("%s: there is no scenario %s", name, m[1])
			}
		}
	}
}
