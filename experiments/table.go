package experiments

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"tcpwheel/internal/record"
)

// Table has rows of strings, whole numbers, float64s, bools or time.Durations. Durations are shown
// and written in milliseconds, so their columns say "ms".
type Table struct {
	Name    string   `json:"name"`  // of its file, such as "waits": lower case, digits and hyphens
	Title   string   `json:"title"` // in a line
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
	// Data marks a table for other programs: the page names its file and does not show it.
	Data bool `json:"data,omitempty"`
}

// Add appends a row.
func (t *Table) Add(values ...any) { t.Rows = append(t.Rows, values) }

// Text formats a value for people: numbers with four digits, "-" for NaN and infinity.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case time.Duration:
		return Number(milliseconds(v))
	case float32:
		return Text(float64(v))
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return "-"
		}
		return Number(v)
	}
	text := fmt.Sprint(v)
	if isWhole(v) {
		text = grouped(text)
	}
	return text
}

// IsNumber reports whether a value is a number, which a table aligns right.
func IsNumber(v any) bool {
	switch v.(type) {
	case time.Duration, float32, float64:
		return true
	}
	return isWhole(v)
}

func isWhole(v any) bool {
	switch v.(type) {
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return true
	}
	return false
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Field formats a value for programs, with all digits, "" for NaN and infinity.
func Field(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case time.Duration:
		return Field(milliseconds(v))
	case float32:
		return Field(float64(v))
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return ""
		}
		if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			return strconv.FormatFloat(v, 'f', -1, 64) // 1000000, not 1e+06
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

// WriteCSV writes the names of the columns and the rows.
func (t *Table) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	c.Write(t.Columns) // c keeps the error
	for _, r := range t.Rows {
		row := make([]string, len(r))
		for i, v := range r {
			row[i] = Field(v)
		}
		c.Write(row)
	}
	c.Flush()
	return c.Error()
}

// ReadRows reads a file of a study that WriteCSV has written, without the names of its columns.
// Lines that begin with # are comments. It panics on an error: the file is part of the program.
func ReadRows(files fs.FS, name string) [][]string {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	c := csv.NewReader(bytes.NewReader(text))
	c.Comment = '#'
	rows, err := c.ReadAll()
	if err != nil {
		panic("BUG: " + name + ": " + err.Error())
	}
	return rows[1:]
}

// MarshalJSON writes durations as milliseconds, NaN and infinity as null.
func (t Table) MarshalJSON() ([]byte, error) {
	type plain Table
	out := plain(t)
	out.Rows = make([][]any, len(t.Rows))
	for i, r := range t.Rows {
		row := make([]any, len(r))
		for k, v := range r {
			switch x := v.(type) {
			case time.Duration:
				v = milliseconds(x)
			case float64:
				if math.IsNaN(x) || math.IsInf(x, 0) {
					v = nil
				}
			}
			row[k] = v
		}
		out.Rows[i] = row
	}
	return json.Marshal(out)
}

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
			var b bytes.Buffer
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			for i := range rows {
				if err := e.Encode(&rows[i]); err != nil {
					return err
				}
			}
			_, err := w.Write(inSeconds(b.Bytes()))
			return err
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
