package record

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// JSON writes records of type T as encoding/json does, several times as fast. T has numbers, texts
// and booleans, pointers to them, embedded structs, and other values, which encoding/json writes.
type JSON[T any] struct{ fields []jsonField }

type jsonField struct {
	key   string // with a comma before it
	index []int
	omit  bool // if it is zero
	other bool // encoding/json writes it
}

// NewJSON returns the writer of a type.
func NewJSON[T any]() *JSON[T] {
	j := &JSON[T]{}
	j.add(reflect.TypeFor[T](), nil)
	return j
}

func (j *JSON[T]) add(t reflect.Type, index []int) {
	for i := range t.NumField() {
		f, path := t.Field(i), append(index[:len(index):len(index)], i)
		switch name, options, _ := strings.Cut(f.Tag.Get("json"), ","); {
		case f.Anonymous && name == "":
			j.add(f.Type, path)
		case name != "-" && name != "":
			j.fields = append(j.fields, jsonField{`,"` + name + `":`, path, strings.Contains(options, "omitempty"), f.Type.Implements(marshaler)})
		}
	}
}

// Append adds a record.
func (j *JSON[T]) Append(b []byte, r *T) []byte {
	value, begin := reflect.ValueOf(r).Elem(), len(b)
	for i := range j.fields {
		f := &j.fields[i]
		v := value.FieldByIndex(f.index)
		if f.omit && (v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0) {
			continue
		}
		b = appendJSON(append(b, f.key...), v, f.other)
	}
	if len(b) == begin {
		b = append(b, '{')
	}
	b[begin] = '{'
	return append(b, '}')
}

func appendJSON(b []byte, v reflect.Value, other bool) []byte {
	switch {
	case other:
	case v.CanInt():
		return strconv.AppendInt(b, v.Int(), 10)
	case v.CanUint():
		return strconv.AppendUint(b, v.Uint(), 10)
	case v.Kind() == reflect.Bool:
		return strconv.AppendBool(b, v.Bool())
	case v.Kind() == reflect.String && plain(v.String()):
		return append(append(append(b, '"'), v.String()...), '"')
	case v.Kind() == reflect.Pointer && !v.IsNil():
		return appendJSON(b, v.Elem(), false)
	}
	text, err := json.Marshal(v.Interface())
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return append(b, text...)
}

// plain reports whether a text needs no escapes.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}
