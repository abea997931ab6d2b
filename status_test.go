package tcpwheel_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	testWord = regexp.MustCompile("`((?:Test|Fuzz|Benchmark|Example)[A-Za-z0-9_]*\\*?[A-Za-z0-9_]*)`")
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)[A-Za-z0-9_]*)\(`)
)

// TestStatusNamesTests checks that the tests that the documents point at exist. A name may contain
// a *.
func TestStatusNamesTests(t *testing.T) {
	have := testNames(t)
	for _, doc := range []string{"README.md", "docs/status.md", "docs/findings.md", "docs/performance.md", "docs/accuracy.md", "docs/captures.md"} {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testWord.FindAllStringSubmatch(string(text), -1) {
			found := false
			for name := range have {
				if ok, _ := path.Match(m[1], name); ok {
					found = true
					break
				}
			}
			if !found {
				t.Errorf("%s names %s, which is no test of the project", doc, m[1])
			}
		}
	}
}

// testNames returns the names of all tests, fuzz targets, benchmarks and examples.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, m := range testFunc.FindAllSubmatch(src, -1) {
			names[string(m[1])] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
