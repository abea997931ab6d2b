package tcpwheel_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDifferences checks docs/differences.md: each scenario and test that it names exists, each row
// names one, and its table of RFCs has exactly the sections of the DEVIATION comments.
func TestDifferences(t *testing.T) {
	page, err := os.ReadFile("docs/differences.md")
	if err != nil {
		t.Fatal(err)
	}
	deviations, tests := map[string]string{}, map[string]bool{}
	section := regexp.MustCompile(`RFC \d+ §[\d.]*\d`)
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	comment := regexp.MustCompile(`DEVIATION (RFC \d+ §[\d.]*\d(?: and §[\d.]*\d)?)`)
	err = filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") {
			return err
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if strings.HasSuffix(name, "_test.go") {
			for _, m := range function.FindAllStringSubmatch(string(src), -1) {
				tests[m[1]] = true
			}
			return nil
		}
		for _, m := range comment.FindAllStringSubmatch(string(src), -1) {
			number, _, _ := strings.Cut(m[1], " §")
			for _, s := range strings.Split(m[1], " and ") {
				if !strings.HasPrefix(s, "RFC") {
					s = number + " " + s
				}
				deviations[s] = name
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([\\w-]+\\.pkt|Test\\w+)`")
	rows := map[string]bool{}
	heading := ""
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "## ") {
			heading = strings.TrimSpace(line[3:])
		}
		cells := strings.Split(line, "|")
		if len(cells) < 3 || strings.Contains(line, "---") || strings.Contains(line, "scenario or test |") {
			continue
		}
		names := named.FindAllStringSubmatch(cells[len(cells)-2], -1)
		if len(names) == 0 {
			t.Errorf("no scenario or test: %s", line)
		}
		for _, m := range names {
			_, err := os.Stat(filepath.Join("netstack/tcp/testdata", m[1]))
			if strings.HasSuffix(m[1], ".pkt") && err != nil || strings.HasPrefix(m[1], "Test") && !tests[m[1]] {
				t.Errorf("%s does not exist: %s", m[1], line)
			}
		}
		if s := section.FindString(cells[1]); heading == "RFCs" {
			if rows[s] {
				t.Errorf("%s has two rows", s)
			}
			if rows[s] = true; deviations[s] == "" {
				t.Errorf("%s: no DEVIATION in the code", s)
			}
		}
	}
	for s, name := range deviations {
		if !rows[s] {
			t.Errorf("%s: DEVIATION %s has no row in docs/differences.md", name, s)
		}
	}
	if len(rows) < 20 || len(tests) < 1000 {
		t.Errorf("%d rows and %d tests found: the page or the tree cannot be read", len(rows), len(tests))
	}
}
