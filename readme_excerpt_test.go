package tcpwheel_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// shown are the documents whose text blocks are run: a block whose lines call tcpwheel, and the
// block after it, which is an excerpt of what these lines print.
var shown = []string{"README.md", "docs/start.md"}

// readmeSize is the largest size of README.md in bytes.
const readmeSize = 8192

func TestReadmeIsShort(t *testing.T) {
	info, err := os.Stat("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > readmeSize {
		t.Errorf("README.md has %d bytes, want %d at most", info.Size(), readmeSize)
	}
}

// transcript is commands and an excerpt of their output.
type transcript struct {
	line     int // of the first command
	commands []string
	excerpt  string // "" is not shown
}

// transcripts returns those of a document. A command continues after a backslash.
func transcripts(text string) (all []transcript) {
	var block []string
	inside, after := false, false
	for i, line := range strings.Split(text, "\n") {
		switch {
		case inside && line == "```":
			inside = false
			if len(block) > 0 && strings.HasPrefix(block[0], "tcpwheel ") {
				commands := strings.ReplaceAll(strings.Join(block, "\n"), " \\\n", " ")
				all = append(all, transcript{line: i - len(block) + 1, commands: strings.Split(commands, "\n")})
				after = true
			} else if after {
				all[len(all)-1].excerpt = strings.Join(block, "\n") + "\n"
				after = false
			}
		case inside:
			block = append(block, line)
		case line == "```text":
			inside, block = true, nil
		case strings.HasPrefix(line, "```"), strings.HasPrefix(line, "#"):
			after = false
		}
	}
	return all
}

// holdsExcerpt reports whether output has the lines of an excerpt, next to each other and in their
// order. A line with nothing but an ellipsis is any number of lines.
func holdsExcerpt(output, excerpt string) bool {
	rest := "\n" + output
	for i, part := range strings.Split("\n"+excerpt, "\n…\n") {
		part = "\n" + strings.TrimPrefix(part, "\n")
		if strings.TrimSpace(part) == "" {
			continue
		}
		part = strings.TrimSuffix(part, "\n") + "\n"
		at := strings.Index(rest, part)
		if at < 0 || i == 0 && at > 0 {
			return false
		}
		rest = rest[at+len(part)-1:]
	}
	return strings.HasSuffix(excerpt, "\n…\n") || strings.TrimSpace(rest) == ""
}

func TestHoldsExcerpt(t *testing.T) {
	const output = "a\nb\nc\nd\n"
	for excerpt, want := range map[string]bool{
		"a\nb\nc\nd\n": true, "a\n…\n": true, "a\n…\nd\n": true, "…\nb\nc\n…\n": true, "a\nb\n…\nd\n": true,
		"a\n": false, "b\n…\n": false, "a\nc\n…\n": false, "a\n…\nc\n": false, "…\nc\n…\nb\n…\n": false, "…\nx\n…\n": false, "…\nb": false,
	} {
		if got := holdsExcerpt(output, excerpt); got != want {
			t.Errorf("holdsExcerpt(%q) = %v, want %v", excerpt, got, want)
		}
	}
}

var figures = regexp.MustCompile(`\d+(\.\d+)?`)

// TestDocumentsShowWhatIsPrinted runs the commands of the text blocks as printed and finds what the
// documents show. Over TUN only the form of a figure is the same.
func TestDocumentsShowWhatIsPrinted(t *testing.T) {
	dir := filepath.Dir(built(t))
	for _, name := range shown {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all := transcripts(string(text))
		if len(all) == 0 {
			t.Errorf("%s shows no command", name)
		}
		cwd := t.TempDir()
		for _, s := range all {
			t.Run(fmt.Sprintf("%s:%d", filepath.Base(name), s.line), func(t *testing.T) {
				var output, talk bytes.Buffer
				for _, line := range s.commands {
					c := exec.Command("sh", "-c", line)
					c.Dir, c.Stdout, c.Stderr = cwd, &output, &talk
					c.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
					if err := c.Run(); err != nil {
						skipWithoutTUN(t, talk.String(), err)
						t.Fatalf("%s: %v\n%s", line, err, &talk)
					}
				}
				got, want := output.String(), s.excerpt
				if overTUN := strings.Contains(s.commands[0], "tcpwheel up "); overTUN {
					checkComparison(t, got, talk.String())
					got, want = figures.ReplaceAllString(got, "N"), figures.ReplaceAllString(want, "N")
				}
				if want != "" && !holdsExcerpt(got, want) {
					t.Errorf("%s shows\n%s\nand %q prints\n%s", name, s.excerpt, s.commands, &output)
				}
			})
		}
	}
}

// skipWithoutTUN skips the test where the system forbids namespaces or devices.
func skipWithoutTUN(t *testing.T, talk string, err error) {
	var exit *exec.ExitError
	for _, reason := range []string{"make a user namespace", "/dev/net/tun", "needs Linux", "curl: "} {
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

// TestReadmeCountsStudies compares the numbers of studies with docs/results.md.
func TestReadmeCountsStudies(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	results, err := os.ReadFile("docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	all, published := 0, 0
	for _, row := range regexp.MustCompile(`(?m)^\| [A-Z]\w+ \[.*$`).FindAllString(string(results), -1) {
		all++
		if cells := strings.Split(row, " | "); cells[2] != "–" {
			published++
		}
	}
	want := fmt.Sprintf("Of the %d studies, %d compare themselves with published results.", all, published)
	if !strings.Contains(strings.Join(strings.Fields(string(readme)), " "), want) {
		t.Errorf("README.md lacks what docs/results.md says: %q", want)
	}
}
