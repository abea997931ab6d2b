package declared

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// located is a scalar with its line: an expression, a template or a plain text.
type located struct {
	line int
	text string
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (l *located) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode {
		return lineError(n.Line, "want one value, not a list or mapping")
	}
	l.line, l.text = n.Line, strings.TrimSpace(n.Value)
	return nil
}

// formula is an expression of a file.
type formula struct {
	located
	expression
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (f *formula) UnmarshalYAML(n *yaml.Node) (err error) {
	if err := f.located.UnmarshalYAML(n); err != nil {
		return err
	}
	f.expression, err = parse(f.located.text)
	return atLine(n.Line, err)
}

// set reports whether the file has the formula.
func (f *formula) set() bool { return f.tree != nil }

// prose is a template of a file.
type prose struct {
	located
	template
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (p *prose) UnmarshalYAML(n *yaml.Node) (err error) {
	if err := p.located.UnmarshalYAML(n); err != nil {
		return err
	}
	p.template, err = parseTemplate(p.located.text)
	return atLine(n.Line, err)
}

// ordered is a mapping whose order counts.
type ordered[T any] []entry[T]

func (o *ordered[T]) each(f func(key string, of any) error) error {
	for i := range *o {
		if err := f((*o)[i].name, &(*o)[i].of); err != nil {
			return err
		}
	}
	return nil
}

type entry[T any] struct {
	name string
	line int
	of   T
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (o *ordered[T]) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return lineError(n.Line, "want a mapping")
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if slices.ContainsFunc(*o, func(e entry[T]) bool { return e.name == key.Value }) {
			return lineError(key.Line, key.Value+": appears twice")
		}
		e := entry[T]{name: key.Value, line: key.Line}
		if err := strict(value, &e.of); err != nil {
			return fmt.Errorf("%w", within(key.Value, err))
		}
		*o = append(*o, e)
	}
	return nil
}

// fault is an error with its line.
type fault struct {
	line int
	text string
}

func (f *fault) Error() string { return f.text }

func lineError(line int, text string) error { return &fault{line, text} }

// atLine gives an error its line.
func atLine(line int, err error) error {
	if err == nil {
		return nil
	}
	return &fault{line, err.Error()}
}

// within puts a key before the text of an error.
func within(key string, err error) error {
	var f *fault
	if errors.As(err, &f) {
		return &fault{f.line, key + ": " + f.text}
	}
	return fmt.Errorf("%s: %w", key, err)
}

// inFile puts the file's name and the line before an error.
func inFile(name string, err error) error {
	var f *fault
	if errors.As(err, &f) && f.line > 0 {
		return fmt.Errorf("%s:%d: %s", name, f.line, f.text)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// strict decodes a node. It refuses keys that a struct has no field for, and names the nearest one.
func strict(n *yaml.Node, into any) error {
	v := reflect.ValueOf(into).Elem()
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		return strict(n, v.Interface())
	}
	if _, own := into.(yaml.Unmarshaler); own || v.Kind() != reflect.Struct {
		return yamlError(n.Decode(into), n.Line)
	}
	if n.Kind != yaml.MappingNode {
		return lineError(n.Line, "want a mapping")
	}
	var keys []string
	fields := map[string]reflect.Value{}
	for _, f := range reflect.VisibleFields(v.Type()) {
		if key, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); key != "" {
			keys, fields[key] = append(keys, key), v.FieldByIndex(f.Index)
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		field, ok := fields[key.Value]
		if !ok {
			return lineError(key.Line, fmt.Sprintf("%s: no such key%s, want one of %s", key.Value, nearest(key.Value,
				keys), strings.Join(keys, ", ")))
		}
		if err := strict(value, field.Addr().Interface()); err != nil {
			return within(key.Value, err)
		}
	}
	return nil
}

// yamlError keeps our own errors, and gives others the line of their node.
func yamlError(err error, line int) error {
	var f *fault
	if err == nil || errors.As(err, &f) {
		return err
	}
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text = strings.TrimSpace(strings.TrimPrefix(text, "unmarshal errors:"))
	if strings.HasPrefix(text, "line ") {
		_, text, _ = strings.Cut(text, ": ")
	}
	return lineError(line, text)
}

// list is a list whose elements are decoded strictly. A single value is a list of one.
type list[T any] []T

// UnmarshalYAML implements yaml.Unmarshaler.
func (l *list[T]) UnmarshalYAML(n *yaml.Node) error {
	nodes := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		nodes = n.Content
	}
	for _, c := range nodes {
		var x T
		if err := strict(c, &x); err != nil {
			return err
		}
		*l = append(*l, x)
	}
	return nil
}
