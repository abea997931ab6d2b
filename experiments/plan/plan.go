package plan

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MaxSize is the most bytes of a plan.
const MaxSize = 1 << 20

// File is a parsed plan, before Decode.
type File struct {
	Name  string // for errors
	Study string // its study, "" if it names none
	Text  []byte

	root, quick *yaml.Node
}

// Parse reads a plan. Errors show name.
func Parse(name string, text []byte) (*File, error) {
	if len(text) > MaxSize {
		return nil, fmt.Errorf("%s: %d bytes, want at most %d", name, len(text), MaxSize)
	}
	dec := yaml.NewDecoder(strings.NewReader(string(text)))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: empty, want a mapping of keys to values", name)
		}
		return nil, Syntax(name, err)
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s:%d: a document more, want one", name, more.Line)
	}
	f := &File{Name: name, Text: text}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s:%d: want a mapping of keys to values", name, max(doc.Line, 1))
	}
	f.root = doc.Content[0]
	if err := f.plain(f.root); err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(f.root.Content); i += 2 {
		switch key, value := f.root.Content[i], f.root.Content[i+1]; key.Value {
		case "study":
			if value.Kind != yaml.ScalarNode || value.Value == "" {
				return nil, f.fault(value, "study", "want the name of a study")
			}
			f.Study = value.Value
		case "quick":
			if value.Kind != yaml.MappingNode {
				return nil, f.fault(value, "quick", "want a mapping of keys to the values of a quick run")
			}
			f.quick = value
		}
	}
	return f, nil
}

// Question returns the sentences that a plan's text begins with, as a comment: what it asks. It is
// empty without such a comment.
func Question(text string) string {
	var words []string
	for line := range strings.Lines(text) {
		said, isComment := strings.CutPrefix(strings.TrimSpace(line), "#")
		if !isComment {
			break
		}
		words = append(words, strings.Fields(said)...)
	}
	return strings.Join(words, " ")
}

// plain refuses aliases, anchors and duplicate keys.
func (f *File) plain(n *yaml.Node) error {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return fmt.Errorf("%s:%d: anchors and aliases are not read", f.Name, n.Line)
	}
	seen := map[string]bool{}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if c.Kind != yaml.ScalarNode {
				return fmt.Errorf("%s:%d: a key that is no plain word", f.Name, c.Line)
			}
			if seen[c.Value] {
				return fmt.Errorf("%s:%d: %s: appears twice", f.Name, c.Line, c.Value)
			}
			seen[c.Value] = true
		}
		if err := f.plain(c); err != nil {
			return err
		}
	}
	return nil
}

func (f *File) fault(n *yaml.Node, key, want string) error {
	if n.Kind == yaml.ScalarNode {
		return fmt.Errorf("%s:%d: %s: %q, %s", f.Name, n.Line, key, n.Value, want)
	}
	return fmt.Errorf("%s:%d: %s: %s", f.Name, n.Line, key, want)
}

// Decode writes the plan's values into the struct *into, and then, for a quick run, the values of
// the mapping "quick". It leaves other fields alone.
func (f *File) Decode(into any, quickRun bool) error {
	d := decoder{file: f}
	d.document(f.root, into, true)
	if quickRun && f.quick != nil {
		d.document(f.quick, into, false)
	} else if f.quick != nil {
		d.try(f.quick, into)
	}
	return errors.Join(d.faults...)
}

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
