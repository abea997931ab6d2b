package experiments

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"reflect"
	"slices"

	"tcpwheel/internal/record"
)

// Records are the runs of a study for other programs. Reports write them as CSV and as JSON lines,
// with a dictionary of their columns.
type Records struct {
	CSV, JSON, Columns func(w io.Writer) error
}

// RecordsOf returns rows as Records. The tags of T say what each column is: see package record.
func RecordsOf[T any](rows []T) *Records {
	return &Records{
		CSV: func(w io.Writer) error { return record.WriteCSV(w, slices.Values(rows)) },
		JSON: func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetEscapeHTML(false)
			for i := range rows {
				if err := e.Encode(&rows[i]); err != nil {
					return err
				}
			}
			return nil
		},
		Columns: func(w io.Writer) error {
			out := csv.NewWriter(w)
			err := out.Write([]string{"column", "unit", "what"})
			for _, f := range record.Fields(reflect.TypeFor[T]()) {
				if err == nil {
					err = out.Write([]string{f.Name, f.Unit(), f.Help})
				}
			}
			out.Flush()
			if err == nil {
				err = out.Error()
			}
			return err
		},
	}
}
