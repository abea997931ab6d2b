package record

import (
	"cmp"
	"encoding"
	"encoding/csv"
	"fmt"
	"io"
	"iter"
	"reflect"
	"strconv"
	"strings"
	"time"

	"tcpwheel/internal/quantity"
)

// WriteCSV writes records as CSV with a header.
func WriteCSV[T any](w io.Writer, records iter.Seq[T]) error {
	out := csv.NewWriter(w)
	err := out.Write(Header[T]())
	for r := range records {
		if err != nil {
			break
		}
		err = out.Write(Row(&r))
	}
	out.Flush()
	return cmp.Or(err, out.Error())
}

// Header returns the names of the columns of a record type.
func Header[T any]() (names []string) {
	for _, f := range Fields(reflect.TypeFor[T]()) {
		names = append(names, f.Name)
	}
	return names
}

// Row returns the columns of a record as texts, one for each name of Header. Unknown ones are
// empty; several texts are separated by semicolons, several numbers by blanks. Control characters
// are escaped, as CSV is shown on terminals and read line by line.
func Row[T any](record *T) (row []string) {
	value := reflect.ValueOf(record).Elem()
	fields := Fields(value.Type())
	row = make([]string, 0, len(fields))
	for i := range fields {
		f := &fields[i]
		if v, ok := f.Value(value); ok {
			row = append(row, textOf(v))
		} else {
			row = append(row, "")
		}
	}
	return row
}

// textOf writes a value for programs.
func textOf(v reflect.Value) string {
	if v.Type().NumMethod() == 0 {
		switch {
		case v.CanInt():
			return strconv.FormatInt(v.Int(), 10)
		case v.CanUint():
			return strconv.FormatUint(v.Uint(), 10)
		case v.Kind() == reflect.String:
			return quantity.Printable(v.String())
		case v.Kind() == reflect.Bool:
			return strconv.FormatBool(v.Bool())
		}
	}
	switch x := v.Interface().(type) {
	case encoding.TextMarshaler:
		text, err := x.MarshalText()
		if err != nil {
			panic("BUG: " + err.Error())
		}
		return string(text)
	case time.Duration:
		return strconv.FormatFloat(float64(x)/1e9, 'f', -1, 64) // in seconds
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	case []string:
		return strings.Join(x, "; ")
	}
	if v.Kind() == reflect.Slice {
		return strings.Trim(fmt.Sprint(v.Interface()), "[]")
	}
	return fmt.Sprint(v.Interface())
}
