package corpus

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/track"
)

// Column is a leaf of a record: a field with a JSON name that is no struct. Nested fields have both
// names, as rtt_min_s. A map is a column for each of its known keys.
type Column struct {
	Name string

	// Optional values are unknown if they are missing: pointers, and texts that JSON omits.
	Optional bool

	Type     reflect.Type // without the pointer
	OmitZero bool         // a zero value is unknown

	index []int  // of the fields that lead to it
	key   string // of a map
}

// mapKeys are the keys of maps by the name of their field.
func mapKeys(name string) (keys []string) {
	switch name {
	case "episodes":
		for kind := range track.Kinds {
			keys = append(keys, track.Kind(kind).String())
		}
	case "outcomes":
		for outcome := range track.Outcomes {
			keys = append(keys, track.Outcome(outcome).String())
		}
	case "unmeasured":
		for gap := int(track.NoGap) + 1; gap < track.Gaps; gap++ {
			keys = append(keys, track.Gap(gap).String())
		}
	case "skipped":
		for _, reason := range capture.Reasons() {
			keys = append(keys, reason.String())
		}
	default:
		panic("BUG: no keys for column " + name)
	}
	return keys
}

// Columns returns the columns of a record type, in the order of its fields. It leaves out "type"
// and slices and arrays of structs. A later column with the name of an earlier one gets the prefix
// "flow_".
func Columns(record reflect.Type) []Column {
	if known, ok := columnsOf.Load(record); ok {
		return known.([]Column)
	}
	all := appendColumns(nil, record, "", nil, false)
	for i := range all {
		if slices.ContainsFunc(all[:i], func(c Column) bool { return c.Name == all[i].Name }) {
			all[i].Name = "flow_" + all[i].Name
		}
	}
	columnsOf.Store(record, all)
	return all
}

// columnsOf has the results of Columns.
var columnsOf sync.Map

func appendColumns(all []Column, t reflect.Type, prefix string, index []int, optional bool) []Column {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "type" || name == "-" {
			continue
		}
		if prefix != "" && name != "" {
			name = prefix + "_" + name
		}
		path := append(slices.Clone(index), i)
		c := Column{Name: name, Optional: optional, Type: f.Type, index: path}
		if f.Type.Kind() == reflect.Pointer {
			c.Optional, c.Type = true, f.Type.Elem()
		} else if strings.Contains(options, "omitempty") && (c.Type.Kind() == reflect.String || strings.HasSuffix(name, "_packet")) {
			c.Optional, c.OmitZero = true, true
		}
		switch c.Type.Kind() {
		case reflect.Struct:
			all = appendColumns(all, c.Type, name, path, c.Optional)
		case reflect.Map:
			for _, key := range mapKeys(name) {
				m := c
				m.Name, m.key, m.Type = name+"_"+key, key, c.Type.Elem()
				all = append(all, m)
			}
		case reflect.Array, reflect.Slice:
			if c.Type.Elem().Kind() != reflect.Struct {
				all = append(all, c)
			}
		default:
			all = append(all, c)
		}
	}
	return all
}

// Value returns the column's value in a record, and false if it is behind a nil pointer.
func (c *Column) Value(record reflect.Value) (reflect.Value, bool) {
	v := record
	for _, i := range c.index {
		if v = v.Field(i); v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return v, false
			}
			v = v.Elem()
		}
	}
	if c.key == "" {
		return v, true
	}
	if m := v.MapIndex(reflect.ValueOf(c.key)); m.IsValid() {
		return m, true
	}
	return reflect.Zero(c.Type), true
}
