package plan

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

var (
	syntaxLine = regexp.MustCompile(`^line ([0-9]+): `)
	word       = regexp.MustCompile(`[a-z0-9_]+`)
	numbered   = regexp.MustCompile(`^, number ([0-9]+)`)
)

// Syntax rewrites an error of the YAML decoder in this package's form, file:line: text.
func Syntax(name string, err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	m := syntaxLine.FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("%s: not YAML: %s", name, text)
	}
	line, _ := strconv.Atoi(m[1]) // digits, from a file of at most MaxSize bytes
	text = text[len(m[0]):]
	if strings.HasPrefix(text, "did not find expected") {
		line++ // errors of its parser, unlike those of its scanner, count lines from 0
	}
	return fmt.Errorf("%s:%d: not YAML: %s", name, line, text)
}

// Locate prefixes err with the file's name and the line of the key that err names. The text of err
// begins with the key, such as "tick: 5ms, want ...", or has the key as a word. "expect, number 2:
// metric" names a key of the second item of a list. quickRun is Decode's: a quick run takes values
// from the mapping "quick", so Locate looks there first. It adds no line if the file has no such
// key.
func (f *File) Locate(err error, quickRun bool) error {
	if quickRun && f.quick != nil {
		if line := find(f.quick, err.Error()); line > 0 {
			return &located{fmt.Sprintf("%s:%d", f.Name, line), err}
		}
	}
	if line := find(f.root, err.Error()); line > 0 {
		return &located{fmt.Sprintf("%s:%d", f.Name, line), err}
	}
	return &located{f.Name, err}
}

// located is an error with its place.
type located struct {
	place string
	err   error
}

func (l *located) Error() string { return l.place + ": " + l.err.Error() }

func (l *located) Unwrap() error { return l.err }

// find returns the line of the first key of a mapping that is a word of text, 0 if there is none.
func find(n *yaml.Node, text string) int {
	for _, at := range word.FindAllStringIndex(text, -1) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			if key.Value != text[at[0]:at[1]] {
				continue
			}
			rest := text[at[1]:]
			if m := numbered.FindStringSubmatch(rest); m != nil && value.Kind == yaml.SequenceNode {
				if k, err := strconv.Atoi(m[1]); err == nil && k >= 1 && k <= len(value.Content) {
					key, value = value.Content[k-1], value.Content[k-1]
				}
			}
			if value.Kind == yaml.MappingNode {
				if line := find(value, rest); line > 0 {
					return line
				}
			}
			return key.Line
		}
	}
	return 0
}
