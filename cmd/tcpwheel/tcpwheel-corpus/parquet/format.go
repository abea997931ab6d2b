package parquet

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/parquet-go/parquet-go"

	"tcpwheel/internal/record"
	"tcpwheel/pcaps/corpus"
)

// Format implements corpus.Format.
//
// Texts and numbers stay what they are in JSON. Texts that are times become stamps in ns, UTC.
// Unknown values are NULL: missing ones, empty texts and packet numbers of 0 that JSON omits.
type Format struct{ tables sync.Map }

// table is what is known of a table.
type table struct {
	name    string
	columns []record.Field
	row     reflect.Type // a struct with a field for each column
	schema  *parquet.Schema
}

// Extension implements corpus.Format.
func (*Format) Extension() string { return ".parquet" }

// table finds the columns of a table at its first use.
func (f *Format) table(of *corpus.Table) *table {
	if known, ok := f.tables.Load(of); ok {
		return known.(*table)
	}
	t := &table{name: of.Name, columns: record.Fields(of.Record)}
	var fields []reflect.StructField
	for i := range t.columns {
		c := &t.columns[i]
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("C%d", i), Type: rowType(c), Tag: tag(c)})
	}
	t.row = reflect.StructOf(fields)
	t.schema = parquet.NewSchema(t.name, parquet.SchemaOf(reflect.New(t.row).Interface()))
	known, _ := f.tables.LoadOrStore(of, t)
	return known.(*table)
}

const (
	// rowsPerGroup bounds the rows that a writer holds in memory.
	rowsPerGroup = 1 << 16
	pageBytes    = 64 << 10
)

// isStamp reports whether a column's texts are times, as JSON writes them, in UTC.
func isStamp(c *record.Field) bool {
	switch c.Name {
	case "first", "last", "sent", "retransmission":
		return c.Type.Kind() == reflect.String
	}
	return false
}

// rowType is the type of a column in table.row.
func rowType(c *record.Field) reflect.Type {
	t := c.Type
	switch {
	case isStamp(c):
		t = reflect.TypeFor[time.Time]()
	case t.Kind() == reflect.Int:
		t = reflect.TypeFor[int64]()
	case t.Kind() == reflect.Uint8, t.Kind() == reflect.Uint16:
		t = reflect.TypeFor[uint32]()
	}
	if c.Optional && t.Kind() != reflect.Slice {
		return reflect.PointerTo(t)
	}
	return t
}

func tag(c *record.Field) reflect.StructTag {
	name := c.Name
	switch {
	case isStamp(c):
		name += ",timestamp(nanosecond)"
	case c.Type.Kind() == reflect.Slice:
		name += ",list"
	case c.Type.Kind() == reflect.String:
		name += ",dict"
	}
	return reflect.StructTag(`parquet:"` + name + `"`)
}

// set stores the column's value of a record in its field of a row.
func set(c *record.Field, field, row reflect.Value) error {
	v, ok := c.Value(row)
	if !ok || c.OmitZero && v.IsZero() {
		return nil
	}
	if isStamp(c) {
		at, err := time.Parse(time.RFC3339Nano, v.String())
		if err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
		v = reflect.ValueOf(at)
	}
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
	}
	field.Set(v.Convert(field.Type()))
	return nil
}

// writer writes a part of a table into memory.
type writer struct {
	t    *table
	out  *parquet.GenericWriter[any]
	body bytes.Buffer
	rows []parquet.Row // one
}

// NewWriter implements corpus.Format. Each part has a writer of its own: after Reset, parquet-go
// v0.32.0 forgets the columns' path_in_schema.
func (f *Format) NewWriter(of *corpus.Table) corpus.Writer {
	t := f.table(of)
	w := &writer{t: t, rows: make([]parquet.Row, 1)}
	w.out = parquet.NewGenericWriter[any](&w.body, t.schema, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(rowsPerGroup),
		parquet.PageBufferSize(pageBytes), parquet.CreatedBy("tcpwheel", "", ""))
	return w
}

// Add adds a record, of the table's type.
func (w *writer) Add(record any) error {
	v := reflect.ValueOf(record)
	row := reflect.New(w.t.row)
	for i := range w.t.columns {
		if err := set(&w.t.columns[i], row.Elem().Field(i), v); err != nil {
			return fmt.Errorf("table %s: %w", w.t.name, err)
		}
	}
	w.rows[0] = w.t.schema.Deconstruct(w.rows[0][:0], row.Interface())
	_, err := w.out.WriteRows(w.rows)
	return err
}

// Close returns the finished part.
func (w *writer) Close() ([]byte, error) {
	err := w.out.Close()
	return w.body.Bytes(), err
}

// Schema describes a table's columns, a line each: name, type, and whether it may be NULL.
func (f *Format) Schema(of *corpus.Table) string {
	var b strings.Builder
	for _, c := range f.table(of).schema.Fields() {
		null := ""
		if c.Optional() {
			null = " NULL"
		}
		fmt.Fprintf(&b, "%s %v%s\n", c.Name(), c.Type(), null)
	}
	return b.String()
}
