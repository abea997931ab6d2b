package cli

import (
	"encoding/json"
	"io"
	"iter"
	"reflect"
	"slices"

	"tcpwheel/internal/record"
)

// newJSONLines returns an encoder that writes each record as a line and keeps <, > and &.
func newJSONLines(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}

// writeRecords writes each record as a line of JSON.
func writeRecords[T any](w io.Writer, all []T) error {
	return encodeAll(newJSONLines(w), slices.Values(all))
}

// encodeAll writes each record as a line of JSON.
func encodeAll[T any](enc *json.Encoder, records iter.Seq[T]) error {
	for x := range records {
		if err := enc.Encode(x); err != nil {
			return err
		}
	}
	return nil
}

// list writes each record as a line of JSON, or all as a table of these fields.
func list[T any](w io.Writer, asJSON bool, names string, all []T) error {
	if asJSON {
		return writeRecords(w, all)
	}
	return writeFields(w, names, all)
}

// writeFields prints a table of these fields of records, as writeColumns does.
func writeFields[T any](w io.Writer, names string, all []T) error {
	fields := record.Select(reflect.TypeFor[T](), names)
	head, flush, rows := make([]string, len(fields)), make([]bool, len(fields)), make([][]string, len(all))
	for c := range fields {
		f := &fields[c]
		head[c], flush[c] = f.Head, !f.Words()
		for i := range all {
			rows[i] = append(rows[i], f.Text(reflect.ValueOf(&all[i]).Elem()))
		}
	}
	return writeColumns(w, head, rows, flush)
}
