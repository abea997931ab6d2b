package corpus

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/parquet-go/parquet-go"
)

// Table is a table of records of one type.
type Table struct {
	Name string

	record reflect.Type

	once    sync.Once // of prepare, which sets the others
	columns []Column
	row     reflect.Type // a struct with a field for each column
	schema  *parquet.Schema
}

// NewTable returns the table of records of type T, a struct with names for JSON.
//
// Texts and numbers stay what they are in JSON. Texts that are times become stamps in ns, UTC.
// Unknown values are NULL: missing ones, empty texts and packet numbers of 0 that JSON omits.
func NewTable[T any](name string) *Table {
	return &Table{Name: name, record: reflect.TypeFor[T]()}
}

// prepare finds the columns. NewTable leaves it to the first use, as it would delay every start.
func (t *Table) prepare() {
	t.columns = Columns(t.record)
	var fields []reflect.StructField
	for i := range t.columns {
		c := &t.columns[i]
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("C%d", i), Type: c.rowType(), Tag: c.tag()})
	}
	t.row = reflect.StructOf(fields)
	t.schema = parquet.NewSchema(t.Name, parquet.SchemaOf(reflect.New(t.row).Interface()))
}

const (
	// rowsPerGroup bounds the rows that a writer holds in memory.
	rowsPerGroup = 1 << 16
	pageBytes    = 64 << 10
)

// isStamp reports whether a column's texts are times, as JSON writes them, in UTC.
func (c *Column) isStamp() bool {
	switch c.Name {
	case "first", "last", "sent", "retransmission":
		return c.leaf.Kind() == reflect.String
	}
	return false
}

// rowType is the type of a column in Table.row.
func (c *Column) rowType() reflect.Type {
	t := c.leaf
	switch {
	case c.isStamp():
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

func (c *Column) tag() reflect.StructTag {
	name := c.Name
	switch {
	case c.isStamp():
		name += ",timestamp(nanosecond)"
	case c.leaf.Kind() == reflect.Slice:
		name += ",list"
	case c.leaf.Kind() == reflect.String:
		name += ",dict"
	}
	return reflect.StructTag(`parquet:"` + name + `"`)
}

// set stores the column's value of a record in its field of a row.
func (c *Column) set(field, record reflect.Value) error {
	v, ok := c.Value(record)
	if !ok || c.omit && v.IsZero() {
		return nil
	}
	if c.isStamp() {
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
	t    *Table
	out  *parquet.GenericWriter[any]
	body bytes.Buffer
	rows []parquet.Row // one
}

// newWriter makes a writer of its own for each part: after Reset, parquet-go v0.32.0 forgets the
// columns' path_in_schema.
func (t *Table) newWriter() *writer {
	t.once.Do(t.prepare)
	w := &writer{t: t, rows: make([]parquet.Row, 1)}
	w.out = parquet.NewGenericWriter[any](&w.body, t.schema, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(rowsPerGroup),
		parquet.PageBufferSize(pageBytes), parquet.CreatedBy("tcpwheel", "", ""))
	return w
}

// add adds a record, of the table's type.
func (w *writer) add(record any) error {
	v := reflect.ValueOf(record)
	if v.Type() != w.t.record {
		panic(fmt.Sprintf("BUG: a %v in table %s", v.Type(), w.t.Name))
	}
	row := reflect.New(w.t.row)
	for i := range w.t.columns {
		if err := w.t.columns[i].set(row.Elem().Field(i), v); err != nil {
			return fmt.Errorf("table %s: %w", w.t.Name, err)
		}
	}
	w.rows[0] = w.t.schema.Deconstruct(w.rows[0][:0], row.Interface())
	_, err := w.out.WriteRows(w.rows)
	return err
}

// close returns the finished part.
func (w *writer) close() ([]byte, error) {
	err := w.out.Close()
	return w.body.Bytes(), err
}

// Schema describes the table's columns, a line each: name, type, and whether it may be NULL.
func (t *Table) Schema() string {
	t.once.Do(t.prepare)
	var b strings.Builder
	for _, f := range t.schema.Fields() {
		null := ""
		if f.Optional() {
			null = " NULL"
		}
		fmt.Fprintf(&b, "%s %v%s\n", f.Name(), f.Type(), null)
	}
	return b.String()
}
