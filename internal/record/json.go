package record

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"tcpwheel/wheel"
)

// Marshal returns a record, or a pointer to one, as JSON. It does what encoding/json does, and more:
// it leaves out what is unknown by the tag known, and it writes spans as seconds and instants as
// stamps. Fields without a name are left out. Records with such fields call it in MarshalJSON.
func Marshal(record any) ([]byte, error) {
	b := bytes.NewBufferString("{")
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false) // as who asks for it: encoding/json escapes what MarshalJSON returns
	if err := marshal(b, enc, reflect.Indirect(reflect.ValueOf(record))); err != nil {
		return nil, err
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// marshal writes the fields of a record.
func marshal(b *bytes.Buffer, enc *json.Encoder, record reflect.Value) error {
	for i := range record.NumField() {
		f, v := record.Type().Field(i), record.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			if err := marshal(b, enc, reflect.Indirect(v)); err != nil {
				return err
			}
			continue
		}
		if !f.IsExported() || name == "" || name == "-" || options == "omitempty" && v.IsZero() || !isKnown(record, knownBy(record.Type(), f)) {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + name + `":`)
		x := v.Interface()
		switch t := x.(type) {
		case time.Duration:
			x = t.Seconds()
		case wheel.Time:
			x = Stamp(t)
		}
		if err := enc.Encode(x); err != nil {
			return err
		}
	}
	return nil
}
