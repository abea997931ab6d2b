package tcp_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tcpwheel/netstack/sim/script"
)

// scenarioFiles returns the scenarios in testdata.
func scenarioFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.pkt")
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata has %d scenarios (%v)", len(files), err)
	}
	return files
}

// TestScenarios runs each of testdata/*.pkt. testdata/README.md describes the format.
func TestScenarios(t *testing.T) {
	for _, file := range scenarioFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".pkt"), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := script.RunSource(file, src, script.Config{}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

var (
	scenarioName     = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)+\.pkt$`)
	scenarioCitation = regexp.MustCompile(`^// RFC \d+ §(\d+|[A-Z])(\.\d+)*( \([^)]*\))?: .`)
)

// TestScenariosCite checks that each scenario starts with the sentence that it proves, and is named
// after its topic.
func TestScenariosCite(t *testing.T) {
	for _, file := range scenarioFiles(t) {
		if name := filepath.Base(file); !scenarioName.MatchString(name) {
			t.Errorf("%s: want a name of small words and dashes that tells the topic, such as close-passive.pkt", name)
		}
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if first, _, _ := strings.Cut(string(src), "\n"); !scenarioCitation.MatchString(first) {
			t.Errorf(`%s:1: want a comment "// RFC n §m: ..." with the sentence that the scenario proves`, file)
		}
	}
}

// TestScenarioExample runs the example of README.md.
func TestScenarioExample(t *testing.T) {
	text, err := os.ReadFile("testdata/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "## An example\n\n```\n")
	example, _, ok := strings.Cut(example, "```\n")
	if !ok {
		t.Fatal("testdata/README.md has no example between ```")
	}
	if _, err := script.RunSource("README.md", []byte(example), script.Config{}); err != nil {
		t.Error(err)
	}
}
