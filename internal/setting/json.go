package setting

import (
	"bytes"
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Marshal writes the settings of a struct, or of a pointer to one, as a JSON object without its
// zero values. A setting "a.b" becomes the field b of an object a. Durations, and types that write
// text, are text.
func Marshal(of any) ([]byte, error) {
	v := reflect.Indirect(reflect.ValueOf(of))
	if !v.CanAddr() { // a composite wants a pointer
		p := reflect.New(v.Type())
		p.Elem().Set(v)
		v = p.Elem()
	}
	var b bytes.Buffer
	open := ""
	b.WriteByte('{')
	for _, f := range fieldsOf(v.Type()).all {
		value := f.json(v.FieldByIndex(f.index))
		if value == nil {
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		object, name, nested := strings.Cut(f.Name, ".")
		if !nested {
			object, name = "", f.Name
		}
		if open != object && open != "" {
			b.WriteByte('}')
		}
		if c := b.Bytes()[b.Len()-1]; c != '{' {
			b.WriteByte(',')
		}
		if open != object && object != "" {
			b.WriteString(`"` + object + `":{`)
		}
		open = object
		b.WriteString(`"` + name + `":`)
		b.Write(text)
	}
	if open != "" {
		b.WriteByte('}')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// json returns the value for package json, nil for none.
func (f *field) json(v reflect.Value) any {
	switch {
	case f.composite != nil && f.composite.json != nil:
		return f.composite.json(v.Addr().Interface())
	case f.composite != nil || f.group || v.IsZero():
		return nil
	}
	switch x := v.Interface().(type) {
	case time.Duration:
		return x.String()
	case encoding.TextMarshaler:
		return x
	case Named:
		return f.rule.text(v)
	default:
		return x
	}
}

// Unmarshal sets the settings of the struct that into points to from a JSON object: what Marshal
// writes, or any text or number that Set takes. It refuses unknown fields.
func Unmarshal(into any, text []byte) error { return unmarshal(into, "", text) }

// unmarshal sets the fields of a JSON object. It puts prefix before their names.
func unmarshal(into any, prefix string, object []byte) error {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(object, &values); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		raw := bytes.TrimSpace(values[name])
		var err error
		switch name = prefix + name; {
		case string(raw) == "null":
		case raw[0] == '{' && prefix == "":
			err = unmarshal(into, name+".", raw)
		case raw[0] == '"':
			var s string
			if err = json.Unmarshal(raw, &s); err == nil {
				err = Set(into, name, s)
			}
		default:
			err = Set(into, name, string(raw))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
