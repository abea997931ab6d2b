package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"iter"
	"reflect"
	"strconv"
	"strings"

	"tcpwheel/pcaps/track"
)

// writeCSV writes records as CSV with a header.
func writeCSV[T any](w io.Writer, records iter.Seq[T]) error {
	out := csv.NewWriter(w)
	err := out.Write(columnsOf(reflect.TypeFor[T](), ""))
	for r := range records {
		if err != nil {
			break
		}
		err = out.Write(fieldsOf(reflect.ValueOf(r), nil))
	}
	out.Flush()
	return cmp.Or(err, out.Error())
}

// isColumn reports whether a field of a record is a column.
func isColumn(f reflect.StructField) bool {
	return f.Name != "Type" && f.Name != "Flows"
}

// columnsOf returns the column names of values of type t.
func columnsOf(t reflect.Type, name string) (names []string) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Map:
		for kind := range track.Kinds {
			names = append(names, name+"_"+track.Kind(kind).String())
		}
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if !isColumn(f) {
				continue
			}
			column, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != "" {
				column = name + "_" + column
			}
			names = append(names, columnsOf(f.Type, column)...)
		}
	default:
		names = append(names, name)
	}
	return names
}

// fieldsOf appends the columns of a value, one for each name of columnsOf.
func fieldsOf(v reflect.Value, row []string) []string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return append(row, make([]string, len(columnsOf(v.Type(), "")))...)
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Map:
		for kind := range track.Kinds {
			n := v.MapIndex(reflect.ValueOf(track.Kind(kind).String()))
			if !n.IsValid() {
				n = reflect.ValueOf(0)
			}
			row = append(row, fmt.Sprint(n.Interface()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if isColumn(v.Type().Field(i)) {
				row = fieldsOf(v.Field(i), row)
			}
		}
	case reflect.Slice:
		if words, ok := v.Interface().([]string); ok {
			return append(row, strings.Join(words, "; "))
		}
		row = append(row, strings.Trim(fmt.Sprint(v.Interface()), "[]"))
	case reflect.Float64:
		row = append(row, strconv.FormatFloat(v.Float(), 'g', -1, 64))
	default:
		row = append(row, fmt.Sprint(v.Interface()))
	}
	return row
}
