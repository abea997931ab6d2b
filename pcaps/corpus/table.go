package corpus

import "reflect"

// Table is a table of records of one type.
type Table struct {
	Name   string
	Record reflect.Type
}

// NewTable returns the table of records of type T, a struct with names for JSON.
func NewTable[T any](name string) *Table { return &Table{Name: name, Record: reflect.TypeFor[T]()} }

// Format encodes the parts of tables. Multiple goroutines may invoke its methods.
type Format interface {
	Extension() string       // of the names of parts, such as ".parquet"
	NewWriter(*Table) Writer // for one part
}

// Writer writes a part of a table into memory.
type Writer interface {
	Add(record any) error // of the table's type
	Close() ([]byte, error)
}
