package record

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Layout is a row of a text table about records of type T. It is a text with the names of fields:
// "%-7kind" is the field kind, aligned left in seven columns, "%8.3at_s" a number with three digits
// after the point.
type Layout[T any] struct {
	columns []column
	tail    string
}

// column is a field with the text before it.
type column struct {
	before string
	width  int // below 0 is aligned left
	field  Field
}

var verb = regexp.MustCompile(`%(-?\d+)?(?:\.(\d+))?([A-Za-z]\w*)`)

// NewLayout returns the layout that a text describes. It panics if T has no such field.
func NewLayout[T any](text string) *Layout[T] {
	l, last := &Layout[T]{}, 0
	for _, m := range verb.FindAllStringSubmatchIndex(text, -1) {
		part := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return text[m[2*i]:m[2*i+1]]
		}
		c := column{before: text[last:m[0]], field: find(reflect.TypeFor[T](), part(3))}
		c.width, _ = strconv.Atoi(part(1))
		if d := part(2); d != "" {
			c.field.digits, _ = strconv.Atoi(d)
		}
		l.columns = append(l.columns, c)
		last = m[1]
	}
	l.tail = text[last:]
	return l
}

// Select returns the fields of a record type by their names, with blanks between them. A number
// after a point is how many digits are shown, as in "at_s.6". "" is all fields, and names that
// begin with a dash are all others.
func Select(record reflect.Type, names string) (all []Field) {
	if names == "" || names[0] == '-' {
		return slices.DeleteFunc(slices.Clone(allFields(record)), func(f Field) bool { return slices.Contains(strings.Fields(names), "-"+f.Name) })
	}
	for name := range strings.FieldsSeq(names) {
		name, digits, ok := strings.Cut(name, ".")
		f := find(record, name)
		if ok {
			f.digits, _ = strconv.Atoi(digits)
		}
		all = append(all, f)
	}
	return all
}

func find(record reflect.Type, name string) Field {
	for _, f := range allFields(record) {
		if f.Name == name {
			return f
		}
	}
	panic(fmt.Sprintf("BUG: %v has no field %s", record, name))
}

// Head returns the line of headings.
func (l *Layout[T]) Head() string { return l.line(func(f *Field) string { return f.Head }) }

// Row returns the line of a record. Unknown values are a dash.
func (l *Layout[T]) Row(record *T) string {
	value := reflect.ValueOf(record).Elem()
	return l.line(func(f *Field) string {
		if text := f.Cell(value).Text; text != "" {
			return text
		}
		return "-"
	})
}

// Table returns the line of headings and those of the records.
func (l *Layout[T]) Table(records []T) string {
	var b strings.Builder
	b.WriteString(l.Head())
	for i := range records {
		b.WriteString(l.Row(&records[i]))
	}
	return b.String()
}

func (l *Layout[T]) line(text func(*Field) string) string {
	var b strings.Builder
	for i := range l.columns {
		c := &l.columns[i]
		cell := text(&c.field)
		blanks := strings.Repeat(" ", max(max(c.width, -c.width)-utf8.RuneCountInString(cell), 0))
		b.WriteString(c.before)
		if c.width < 0 {
			b.WriteString(cell + blanks)
		} else {
			b.WriteString(blanks + cell)
		}
	}
	b.WriteString(l.tail)
	b.WriteByte('\n')
	return b.String()
}
