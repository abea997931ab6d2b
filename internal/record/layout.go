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
// after the point, and "%-*file" a field as wide as its widest cell.
type Layout[T any] struct {
	columns []column
	tail    string
}

// column is a field with the text before it.
type column struct {
	before string
	width  int  // below 0 is aligned left
	widest bool // width is 1 or -1, times the width of the widest cell
	field  Field
}

var verb = regexp.MustCompile(`%(-?(?:\d+|\*))?(?:\.(\d+))?([A-Za-z]\w*)`)

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
		c.widest = strings.HasSuffix(part(1), "*")
		c.width, _ = strconv.Atoi(strings.Replace(part(1), "*", "1", 1))
		if d := part(2); d != "" {
			c.field.digits, _ = strconv.Atoi(d)
		}
		l.columns = append(l.columns, c)
		last = m[1]
	}
	l.tail = text[last:]
	return l
}

// With returns the layout with more columns behind it, of that width.
func (l *Layout[T]) With(width int, fields []Field) *Layout[T] {
	more := &Layout[T]{slices.Clone(l.columns), l.tail}
	for _, f := range fields {
		more.columns = append(more.columns, column{width: width, field: f})
	}
	return more
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

// Head returns the headings. Some may have several lines.
func (l *Layout[T]) Head() string {
	deep := 1
	for i := range l.columns {
		deep = max(deep, 1+strings.Count(l.columns[i].field.Head, "\n"))
	}
	var b strings.Builder
	for n := range deep {
		l.line(&b, func(f *Field) string {
			lines := strings.Split(f.Head, "\n")
			if skip := deep - len(lines); n >= skip {
				return lines[n-skip]
			}
			return ""
		})
	}
	return b.String()
}

// Row returns the line of a record. Unknown values are a dash.
func (l *Layout[T]) Row(record *T) string {
	var b strings.Builder
	l.row(&b, record)
	return b.String()
}

func (l *Layout[T]) row(b *strings.Builder, record *T) {
	value := reflect.ValueOf(record).Elem()
	l.line(b, func(f *Field) string { return f.Text(value) })
}

// Table returns the headings and the lines of the records.
func (l *Layout[T]) Table(records []T) string {
	fitted := &Layout[T]{slices.Clone(l.columns), l.tail}
	for i := range fitted.columns {
		c := &fitted.columns[i]
		if !c.widest {
			continue
		}
		most := 0
		for line := range strings.SplitSeq(c.field.Head, "\n") {
			most = max(most, utf8.RuneCountInString(line))
		}
		for k := range records {
			most = max(most, utf8.RuneCountInString(c.field.Text(reflect.ValueOf(&records[k]).Elem())))
		}
		c.width *= most
	}
	var b strings.Builder
	b.WriteString(fitted.Head())
	for i := range records {
		fitted.row(&b, &records[i])
	}
	return b.String()
}

// line writes a line without blanks at its end.
func (l *Layout[T]) line(b *strings.Builder, text func(*Field) string) {
	line := ""
	for i := range l.columns {
		c := &l.columns[i]
		cell := text(&c.field)
		blanks := strings.Repeat(" ", max(max(c.width, -c.width)-utf8.RuneCountInString(cell), 0))
		line += c.before
		if c.width < 0 {
			line += cell + blanks
		} else {
			line += blanks + cell
		}
	}
	b.WriteString(strings.TrimRight(line+l.tail, " ") + "\n")
}
