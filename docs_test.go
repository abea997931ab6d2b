package tcpwheel_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// shown are the documents whose commands run as printed. In a block marked sh each line is a
// command. In the first seven documents a block marked text whose first line calls tcpwheel, tcpdump
// or ip is run, too, and the next block marked text is an excerpt of what it prints.
var shown = []string{"README.md", "docs/start.md", "docs/up.md", "docs/demo.md", "docs/captures.md", "docs/link.md", "docs/json.md",
	"CONTRIBUTING.md", "docs/findings.md", "docs/performance.md", "docs/studies.md", "docs/gvisor.md",
	"wheel/peers/README.md"}

// build builds the command for all subtests and returns its directory.
func build(t *testing.T) string {
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", dir, "./cmd/tcpwheel").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for name, text := range standIns {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestDocuments runs the commands of the documents in one built binary.
func TestDocuments(t *testing.T) {
	dir := build(t)
	for i, name := range shown {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all := blocks(string(text))
		if len(all) == 0 {
			t.Errorf("%s shows no command", name)
		}
		cwd := t.TempDir()
		for _, b := range all {
			if !b.shell && i > 6 {
				continue
			}
			t.Run(fmt.Sprintf("%s:%d", filepath.Base(name), b.line), func(t *testing.T) {
				if b.shell {
					for _, line := range b.commands {
						tryCommand(t, dir, line)
					}
					return
				}
				runBlock(t, dir, cwd, b)
			})
		}
	}
}

// standIns capture in the place of programs that would wait for traffic. TestFollowTcpdump has a real
// tcpdump.
var standIns = map[string]string{
	"tcpdump": "exec zcat captures/outage/a.pcapng.gz\n",
	"dumpcap": "exec cat >/dev/null\n",
}

// isRun reports whether the commands of a block marked text are run.
func isRun(lines string) bool {
	return strings.HasPrefix(lines, "tcpwheel ") || strings.HasPrefix(lines, "tcpdump ") || strings.HasPrefix(lines, "ip netns ")
}

// block is commands and an excerpt of their output.
type block struct {
	line     int // of the first command
	shell    bool
	commands []string // a command continues after a backslash
	excerpt  string   // "" is not shown
}

// blocks returns the blocks of commands of a document.
func blocks(text string) (all []block) {
	var lines []string
	kind, after := "", false // the kind of the block that the line is in; a block of commands came last
	for i, line := range strings.Split(text, "\n") {
		switch {
		case kind != "" && line == "```":
			shell := kind == "sh"
			if shell || kind == "text" && isRun(strings.Join(lines, "\n")) {
				commands := strings.Split(strings.ReplaceAll(strings.Join(lines, "\n"), " \\\n", " "), "\n")
				all = append(all, block{line: i - len(lines) + 1, shell: shell, commands: commands})
				after = !shell
			} else if kind == "text" && after {
				all[len(all)-1].excerpt = strings.Join(lines, "\n") + "\n"
				after = false
			}
			kind = ""
		case kind != "":
			lines = append(lines, line)
		case strings.HasPrefix(line, "```"):
			kind, lines = strings.TrimPrefix(line, "```"), nil
		case strings.HasPrefix(line, "#"):
			after = false
		}
	}
	return all
}

// quick are the flags that let a command take no time.
var quick = map[string][]string{
	"wheel bench":          {"--n=100", "--budget=1ms", "--rounds=1"},
	"demo":                 {"--json", "--for=1s"},
	"experiment run paths": {"--quick"},
}

// tryCommand runs a command of tcpwheel, at a small size, and checks that what another one names
// exists.
func tryCommand(t *testing.T, dir, line string) {
	words := regexp.MustCompile(`'[^']*'|\S+`).FindAllString(line, -1)
	for i, w := range words {
		words[i] = strings.Trim(w, "'")
	}
	has := func(file, pattern string) {
		text, err := os.ReadFile(file)
		if err != nil || !regexp.MustCompile(`(?m)`+pattern).Match(text) {
			t.Errorf("%s: %s has no %s (%v)", line, file, pattern, err)
		}
	}
	is := func(prefix string) bool { return strings.HasPrefix(line, prefix) }
	switch {
	case line == "", is("#"), is("go run") && strings.Contains(line, "@latest"):
	case is("go run ./cmd/tcpwheel"):
		args := words[3:]
		for name, flags := range quick {
			if strings.HasPrefix(strings.Join(args, " ")+" ", name+" ") {
				args = append(args, flags...) // the last one counts
			}
		}
		if out, err := exec.Command(filepath.Join(dir, "tcpwheel"), args...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	case is("go install"):
		has(words[2]+"/main.go", `^package main$`)
	case is("go test ./..."):
		has("go.mod", `^module `)
	case is("go test"):
		has(words[2]+"/doc.go", `^package `)
	case is("go -C"):
		has(words[2]+"/go.mod", `^module `)
	case is(".ci/run"):
		has(".ci/run", `^#!`)
	case is("make"):
		has("Makefile", `^`+words[1]+`:`)
	default:
		t.Errorf("%s: teach tryCommand how to try this", line)
	}
}

// runBlock runs a block of commands in cwd and finds its excerpt in the output. Over TUN only the
// form of a figure is the same.
func runBlock(t *testing.T, dir, cwd string, b block) {
	var output, talk bytes.Buffer
	commands, shell := b.commands, []string{"bash", "-o", "pipefail", "-ec"}
	if strings.HasPrefix(commands[0], "ip netns ") {
		if os.Geteuid() != 0 {
			t.Skip("needs root, for namespaces")
		}
		// One script, in namespaces that end with it, so that no other run of the test meets them.
		private := "mkdir -p /run/netns; mount -t tmpfs none /run/netns; ip link set lo up\n"
		commands = []string{private + strings.Join(commands, "\n")}
		shell = append([]string{"unshare", "-nmp", "--fork", "--mount-proc", "--kill-child"}, shell...)
	}
	for _, line := range commands {
		c := exec.Command(shell[0], append(shell[1:], line)...)
		c.Dir, c.Stdout, c.Stderr = cwd, &output, &talk
		c.Env = append(os.Environ(), "TZ=UTC", "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
		if err := c.Run(); err != nil {
			skipWithoutTUN(t, talk.String(), err)
			t.Fatalf("%s: %v\n%s", line, err, &talk)
		}
	}
	got, want := output.String(), b.excerpt
	if len(b.commands) == 2 && strings.Contains(b.commands[1], "tcpwheel up ") {
		checkComparison(t, got, talk.String())
		figures := regexp.MustCompile(`\d+(\.\d+)?`)
		got, want = figures.ReplaceAllString(got, "N"), figures.ReplaceAllString(want, "N")
	}
	if want != "" && !holdsExcerpt(got, want) {
		t.Errorf("shown is\n%s\nand %q prints\n%s", b.excerpt, b.commands, &output)
	}
}

// holdsExcerpt reports whether output has the lines of an excerpt, next to each other and in their
// order. A line with nothing but an ellipsis is any number of lines.
func holdsExcerpt(output, excerpt string) bool {
	rest := "\n" + output
	for i, part := range strings.Split("\n"+excerpt, "\n…\n") {
		part = "\n" + strings.Trim(part, "\n") + "\n"
		if strings.TrimSpace(part) == "" {
			continue
		}
		at := strings.Index(rest, part)
		if at < 0 || i == 0 && at > 0 {
			return false
		}
		rest = rest[at+len(part)-1:]
	}
	return strings.HasSuffix(excerpt, "\n…\n") || strings.TrimSpace(rest) == ""
}

// skipWithoutTUN skips the test where the system forbids namespaces or devices, or lacks a program.
func skipWithoutTUN(t *testing.T, talk string, err error) {
	var exit *exec.ExitError
	for _, reason := range []string{"make a user namespace", "/dev/net/tun", "needs Linux", "curl: ",
		"run as root", "command not found", "executable file not found"} {
		if errors.As(err, &exit) && strings.Contains(talk, reason) {
			t.Skip(talk)
		}
	}
}

// checkComparison checks a comparison over TUN by what decides it, which no slow machine changes:
// both runs lose one packet. The first, 4.4BSD's, repairs it by a timeout, after its floor of 1 s,
// and the second by another timer of the segment.
func checkComparison(t *testing.T, output, talk string) {
	t.Helper()
	times := strings.Fields(output)
	if len(times) != 2 || len(times[0]) < len("1.0") || times[0] < "1.0" {
		t.Errorf("the downloads took %q, want two times, the first above 1 s", times)
	}
	if n := strings.Count(talk, "the link lost 1 of "); n != 2 {
		t.Errorf("%d runs lost one packet, want 2:\n%s", n, talk)
	}
	by := regexp.MustCompile(`retransmitted 1 segment: 1 ([a-z ]+)`).FindAllStringSubmatch(talk, -1)
	if len(by) != 2 || by[0][1] != "timeout" || by[1][1] != "tail loss probe" {
		t.Errorf("the losses were repaired by %q, want a timeout, then a probe:\n%s", by, talk)
	}
}

// TestUserModule pastes the Go code of two documents into a module of its own, which uses this one
// by a replace directive, and runs it there. It also holds the modules that a user of the wheel, the
// engine and the binding compiles.
func TestUserModule(t *testing.T) {
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		c := exec.Command("go", args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false", "GOPROXY=off", "GOWORK=off")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	for _, name := range []string{"go.mod", "go.sum"} { // the same requirements, so that no module has to be looked up
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		write(name, strings.Replace(string(text), "module tcpwheel\n", "module example.org/user\n", 1))
	}
	run("mod", "edit", "-require=tcpwheel@v0.0.0", "-replace=tcpwheel="+root)

	write("main_test.go", `package main

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"tcpwheel/netstack"
	"tcpwheel/netstack/testnet"
)

func TestSwap(t *testing.T) {
`+goCode(t, "README.md")+`
	if got := s.TransportProtocolInstance(netstack.ProtocolNumber).Number(); got != 6 {
		t.Errorf("protocol %d", got)
	}
	s.Destroy()
}

`+goCode(t, "docs/testing-programs.md"))
	got := run("test", "-count=1", "-v", ".")
	for _, want := range []string{"--- PASS: TestSwap", "--- PASS: TestWorstMinute", "--- PASS: TestDownload", "--- PASS: TestHosts"} {
		if !strings.Contains(got, want) {
			t.Errorf("the user's module printed %q, want %s", got, want)
		}
	}

	modules := run("list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}",
		"tcpwheel/wheel", "tcpwheel/tcptimers", "tcpwheel/netstack/tcp", "tcpwheel/netstack")
	want := []string{"github.com/google/btree", "golang.org/x/exp", "golang.org/x/sys", "golang.org/x/time", "gvisor.dev/gvisor", "tcpwheel"}
	if got := slices.Compact(slices.Sorted(strings.FieldsSeq(modules))); !slices.Equal(got, want) {
		t.Errorf("the library's packages are of the modules %v, want %v", got, want)
	}
}

// goCode returns the Go code of a document.
func goCode(t *testing.T, name string) (code string) {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(text), "```go\n")[1:] {
		part, _, _ = strings.Cut(part, "```")
		code += part + "\n"
	}
	if code == "" {
		t.Fatalf("%s shows no Go code", name)
	}
	return code
}
