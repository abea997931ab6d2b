package record

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// Field is a column of a record type: a field that is no struct. Those of nested structs have both
// names, as rtt_min_s. A map is a column for each of its keys, whose type implements Keyed.
type Field struct {
	Name string
	Head string // for people
	Help string
	// Column is the name in the claims of a study, if it is not the one in JSON.
	Column string

	// Optional values are unknown if they are missing: pointers, texts and packet numbers that JSON
	// omits, and those of the tag known.
	Optional bool

	Type     reflect.Type // without the pointer
	OmitZero bool         // a zero value is unknown

	unit   string // the tag
	index  []int  // of the fields that lead to it
	known  []int  // fields next to it without which it is unknown
	key    reflect.Value
	people bool   // in tables for people only
	shown  string // the tag cell
	digits int    // of a number after the point; below 0 is as its unit wants
}

// Keyed is a type of map keys whose values are known.
type Keyed interface {
	Keys() []any // all values of the type, in the order of the columns
}

// Columns returns a column for each cell of a field of type []Cell, which no other table has, with
// these headings: columns that are known only when the program runs. It panics if there is no such
// field.
func Columns(record reflect.Type, name string, heads []string) (all []Field) {
	f, ok := record.FieldByName(name)
	if !ok || f.Type != reflect.SliceOf(cellType) {
		panic(fmt.Sprintf("BUG: %v has no cells %s", record, name))
	}
	for i, head := range heads {
		all = append(all, Field{Name: name, Head: head, Type: cellType, index: append(slices.Clone(f.Index), i), people: true, digits: -1})
	}
	return all
}

// KeysTo returns the values 0 to n-1 of a type, as Keyed wants them.
func KeysTo[T ~uint8](n int) []any {
	all := make([]any, n)
	for i := range all {
		all[i] = T(i)
	}
	return all
}

// ParseKey sets a value to the one of 0 to n-1 with that name, for encoding.TextUnmarshaler.
func ParseKey[T interface {
	~uint8
	fmt.Stringer
}](to *T, n int, name []byte) error {
	for i := range n {
		if T(i).String() == string(name) {
			*to = T(i)
			return nil
		}
	}
	return fmt.Errorf("%q is no %T", name, *to)
}

// Fields returns the columns of a record type for programs, in the order of its fields. It leaves
// out "type", pointers without a name that are not embedded, slices and arrays of structs, and maps
// whose keys are not known. A later column with the name of an earlier one gets the prefix "flow_".
func Fields(record reflect.Type) []Field { return known(record).programs }

// allFields is Fields with those for people only.
func allFields(record reflect.Type) []Field { return known(record).all }

// fields are what is known of a record type.
type fields struct{ all, programs []Field }

func known(record reflect.Type) *fields {
	if f, ok := fieldsOf.Load(record); ok {
		return f.(*fields)
	}
	all := appendFields(nil, record, "", nil, false)
	for i := range all {
		if slices.ContainsFunc(all[:i], func(f Field) bool { return f.Name == all[i].Name }) {
			all[i].Name = "flow_" + all[i].Name
		}
	}
	f := &fields{all, slices.DeleteFunc(slices.Clone(all), func(f Field) bool { return f.people })}
	fieldsOf.Store(record, f)
	return f
}

// fieldsOf has the results of known.
var fieldsOf sync.Map

var (
	marshaler = reflect.TypeFor[encoding.TextMarshaler]()
	spanType  = reflect.TypeFor[time.Duration]()
)

// Describe returns what the tags of a field of a struct say of it. Its Name is that in JSON, "" or
// "-" without one.
func Describe(f reflect.StructField) Field {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return Field{Name: name, Help: f.Tag.Get("help"), Column: f.Tag.Get("column"), Type: f.Type, index: f.Index,
		unit: f.Tag.Get("unit"), shown: f.Tag.Get("cell"), digits: -1}
}

func appendFields(all []Field, t reflect.Type, prefix string, index []int, optional bool) []Field {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		head, shown := f.Tag.Lookup("head")
		people := shown && (name == "" || name == "-")
		switch {
		case name == "type", !f.IsExported() && !f.Anonymous:
			continue
		case people:
			name = f.Name
		case name == "-", name == "" && f.Type.Kind() == reflect.Pointer && !f.Anonymous:
			continue
		case prefix != "" && name != "":
			name = prefix + "_" + name
		}
		path := append(slices.Clone(index), i)
		c := Describe(f)
		c.Name, c.Head, c.index, c.people, c.known = name, head, path, people, knownBy(t, f)
		c.Optional = optional || c.known != nil
		if f.Type.Kind() == reflect.Pointer {
			c.Optional, c.Type = true, f.Type.Elem()
		} else if strings.Contains(options, "omitempty") && (c.Type.Kind() == reflect.String || strings.HasSuffix(name, "_packet")) {
			c.Optional, c.OmitZero = true, true
		}
		if !shown {
			c.Head = strings.ReplaceAll(strings.TrimSuffix(name, "_"+c.Unit()), "_", " ")
		}
		switch kind := c.Type.Kind(); {
		case c.Type == cellType, c.Type.Implements(marshaler):
			all = append(all, c)
		case kind == reflect.Struct:
			all = appendFields(all, c.Type, name, path, c.Optional)
		case kind == reflect.Map:
			for _, key := range keysOf(c.Type.Key()) {
				m := c
				m.key, m.Type = reflect.ValueOf(key), c.Type.Elem()
				m.Name = name + "_" + textOf(m.key)
				all = append(all, m)
			}
		case kind == reflect.Array, kind == reflect.Slice:
			if c.Type.Elem().Kind() != reflect.Struct {
				all = append(all, c)
			}
		case name != "":
			all = append(all, c)
		}
	}
	return all
}

// knownBy returns which fields of a struct the tag known of one names.
func knownBy(t reflect.Type, f reflect.StructField) (all []int) {
	for name := range strings.FieldsSeq(f.Tag.Get("known")) {
		by, ok := t.FieldByName(name)
		if !ok {
			panic(fmt.Sprintf("BUG: %v has no field %s", t, name))
		}
		all = append(all, by.Index[0])
	}
	return all
}

// isKnown reports whether none of these fields is zero.
func isKnown(record reflect.Value, by []int) bool {
	return !slices.ContainsFunc(by, func(i int) bool { return record.Field(i).IsZero() })
}

func keysOf(t reflect.Type) []any {
	if keyed, ok := reflect.Zero(t).Interface().(Keyed); ok {
		return keyed.Keys()
	}
	return nil
}

// Unit returns the unit: the tag's, or "s", "ns" or "bytes" at the end of the name, else "".
func (f *Field) Unit() string {
	if f.unit != "" {
		return f.unit
	}
	for _, unit := range [...]string{"s", "ns", "bytes"} {
		if strings.HasSuffix(f.Name, "_"+unit) {
			return unit
		}
	}
	return ""
}

// Key returns the name of the map that the column is a key of, and the key; "" is none.
func (f *Field) Key() (name, key string) {
	if !f.key.IsValid() {
		return f.Name, ""
	}
	key = textOf(f.key)
	return strings.TrimSuffix(f.Name, "_"+key), key
}

// Value returns the column's value in a record, and false if it is behind a nil pointer.
func (f *Field) Value(record reflect.Value) (reflect.Value, bool) {
	v := record
	for n, i := range f.index {
		if n == len(f.index)-1 && f.known != nil && !isKnown(v, f.known) {
			return v.Field(i), false
		}
		if v.Kind() == reflect.Slice {
			v = v.Index(i)
		} else if v = v.Field(i); v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return v, false
			}
			v = v.Elem()
		}
	}
	if !f.key.IsValid() {
		return v, true
	}
	if m := v.MapIndex(f.key); m.IsValid() {
		return m, true
	}
	return reflect.Zero(f.Type), true
}

// A Term is a column as the help of the program lists it.
type Term struct{ Name, Unit, Help string }

// Terms returns the fields of a record type that have a help. A map is one term.
func Terms(record reflect.Type) (all []Term) {
	var last []int
	for _, f := range Fields(record) {
		switch {
		case f.Help == "", f.key.IsValid() && slices.Equal(last, f.index):
			continue
		}
		last = f.index
		name, key := f.Key()
		if key != "" {
			name += "_*"
		}
		all = append(all, Term{name, f.Unit(), f.Help})
	}
	return all
}
