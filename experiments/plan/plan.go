package plan

import (
	"errors"
	"fmt"
	"io"
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
