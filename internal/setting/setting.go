package setting

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Setting describes a setting.
type Setting struct {
	Name   string
	Want   string   // what it accepts
	Kind   string   // in a word, as Rule.Kind
	Bounds string   // "" for none
	Values []string // the only values, if they are words
	Help   string

	Aliases []string
}

// Composite is a setting that is no single field: it changes several, or one in its own way.
type Composite struct {
	Setting
	set  func(into any, text string) error
	json func(of any) any // nil for none: its fields are settings too
}

// Derive returns a setting of structs S that is read like a field of type T with these tags, and
// then set. It has no alias.
func Derive[S, T any](name string, tag reflect.StructTag, set func(into *S, v T)) Composite {
	r := NewRule(reflect.TypeFor[T](), tag)
	return Composite{Setting: describe(name, &r), set: func(into any, text string) error {
		var v T
		if err := r.Set(reflect.ValueOf(&v).Elem(), text); err != nil {
			return err
		}
		set(into.(*S), v)
		return nil
	}}
}

// JSON lets Marshal write what value returns, unless it is nil.
func JSON[S any](c Composite, value func(of *S) any) Composite {
	c.json = func(of any) any { return value(of.(*S)) }
	return c
}

// describe returns the description of a setting with a rule.
func describe(name string, r *Rule) Setting {
	s := Setting{name, r.Want(), r.Kind(), r.bounds(), r.oneOf, r.tag.Get("help"), strings.Fields(r.tag.Get("alias"))}
	if s.Kind == "switch" {
		s.Values = switchChoices
	}
	return s
}

// Composer is a struct, by pointer, with settings besides its fields.
type Composer interface{ Composites() []Composite }

// field is a setting of a struct type.
type field struct {
	Setting
	index     []int // of the field, or of the struct of a composite
	rule      Rule
	composite *Composite
	group     bool // has settings of its own
}

// fields are the settings of a struct type.
type fields struct {
	all    []*field
	byName map[string]*field // also by aliases; "_" is "-"
}

var known sync.Map // reflect.Type → *fields

func fieldsOf(t reflect.Type) *fields {
	if fs, ok := known.Load(t); ok {
		return fs.(*fields)
	}
	fs := &fields{byName: map[string]*field{}}
	fs.walk(t, nil, "")
	known.Store(t, fs)
	return fs
}

// walk adds the settings of t, which lies at index. Their names begin with prefix.
func (fs *fields) walk(t reflect.Type, index []int, prefix string) {
	if c, ok := reflect.New(t).Interface().(Composer); ok {
		for _, c := range c.Composites() {
			c.Name = prefix + c.Name
			fs.add(&field{Setting: c.Setting, index: index, composite: &c})
		}
	}
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(slices.Clone(index), i)
		var own *field
		if name, ok := f.Tag.Lookup("set"); ok {
			r := NewRule(f.Type, f.Tag)
			own = &field{Setting: describe(prefix+name, &r), index: at, rule: r}
			fs.add(own)
		}
		if n := len(fs.all); f.Type.Kind() == reflect.Struct && f.IsExported() {
			fs.walk(f.Type, at, prefix+f.Tag.Get("prefix"))
			if own != nil {
				own.group = len(fs.all) > n
			}
		}
	}
}

func (fs *fields) add(f *field) {
	fs.all = append(fs.all, f)
	for _, name := range append(f.Aliases, f.Name) {
		if name = plain(name); fs.byName[name] != nil {
			panic("BUG: setting: two settings " + name)
		}
		fs.byName[name] = f
	}
}

// plain returns the form of a name by which it is found.
func plain(name string) string { return strings.ReplaceAll(name, "_", "-") }

// All returns the settings of a struct type, given a value of it or a pointer to one. They are in
// the order of the fields.
func All(of any) []Setting {
	fs := fieldsOf(typeOf(of))
	all := make([]Setting, len(fs.all))
	for i, f := range fs.all {
		all[i] = f.Setting
	}
	return all
}

func typeOf(of any) reflect.Type {
	t := reflect.TypeOf(of)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// Find returns a setting by its name or by an alias.
func Find(of any, name string) (s Setting, ok bool) {
	f, ok := fieldsOf(typeOf(of)).byName[plain(name)]
	if ok {
		s = f.Setting
	}
	return s, ok
}

// Switches returns the names of the settings that are on or off.
func Switches(of any) (names []string) {
	for _, f := range fieldsOf(typeOf(of)).all {
		if f.Kind == "switch" {
			names = append(names, f.Name)
		}
	}
	return names
}

// Set sets a setting of the struct that into points to. On an error nothing changes. The error
// names the setting, the text and what is accepted. Set does not look at how settings depend on
// each other.
func Set(into any, name, text string) error {
	v := reflect.ValueOf(into).Elem()
	fs := fieldsOf(v.Type())
	f := fs.byName[plain(name)]
	if f == nil {
		return fmt.Errorf("setting %q, want one of %s", name, fs.names())
	}
	at := v.FieldByIndex(f.index)
	var err error
	if f.composite != nil {
		err = f.composite.set(at.Addr().Interface(), text)
	} else {
		err = f.rule.Set(at, text)
	}
	if err != nil {
		return fmt.Errorf("%s %w", name, err)
	}
	return nil
}

func (fs *fields) names() string {
	var names []string
	for _, f := range fs.all {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// Check returns an error for the first setting of the struct that of points to that is out of its
// bounds. It names the setting, its value and the bounds.
func Check(of any) error {
	v := reflect.ValueOf(of).Elem()
	for _, f := range fieldsOf(v.Type()).all {
		if f.composite != nil {
			continue
		}
		if at := v.FieldByIndex(f.index); !f.rule.Within(at) {
			bounds := f.rule.bounds()
			if bounds == "" {
				bounds = f.Want
			}
			return fmt.Errorf("%s %s, want %s", f.Name, f.rule.text(at), bounds)
		}
	}
	return nil
}
