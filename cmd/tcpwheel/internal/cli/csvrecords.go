package cli

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"iter"
	"reflect"
	"strconv"
	"strings"

	"tcpwheel/pcaps/corpus"
)

// writeCSV writes records as CSV with a header.
func writeCSV[T any](w io.Writer, records iter.Seq[T]) error {
	out := csv.NewWriter(w)
	err := out.Write(columnsOf(reflect.TypeFor[T]()))
	for r := range records {
		if err != nil {
			break
		}
		err = out.Write(fieldsOf(reflect.ValueOf(r)))
	}
	out.Flush()
	return cmp.Or(err, out.Error())
}

// columnsOf returns the column names of records of type t.
func columnsOf(t reflect.Type) (names []string) {
	for _, c := range corpus.Columns(t) {
		names = append(names, c.Name)
	}
	return names
}

// fieldsOf returns the columns of a record, one for each name of columnsOf. Unknown ones are empty;
// several texts are separated by semicolons, several numbers by blanks.
func fieldsOf(record reflect.Value) (row []string) {
	for _, c := range corpus.Columns(record.Type()) {
		v, ok := c.Value(record)
		switch {
		case !ok:
			row = append(row, "")
		case v.Kind() == reflect.Float64:
			row = append(row, strconv.FormatFloat(v.Float(), 'g', -1, 64))
		case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.String:
			row = append(row, strings.Join(v.Interface().([]string), "; "))
		case v.Kind() == reflect.Slice:
			row = append(row, strings.Trim(fmt.Sprint(v.Interface()), "[]"))
		default:
			row = append(row, fmt.Sprint(v.Interface()))
		}
	}
	return row
}
