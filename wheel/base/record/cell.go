package record

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Cell is a value in a table for people. A field of this type is shown as it is.
type Cell struct {
	Text    string // "" is unknown
	Words   bool   // aligned left
	Measure bool   // sorted by Value, not by Text
	Value   string

	Title string // shown under the pointer
	Link  string // a place on the page
	Class string // of the text on a page
}

var cellType = reflect.TypeFor[Cell]()

// SpanCell returns a cell of a span, an empty one if it is not known.
func SpanCell(d time.Duration, known bool) Cell {
	if !known {
		return Cell{Measure: true}
	}
	return Cell{Text: SpanText(d), Measure: true, Value: strconv.FormatFloat(d.Seconds(), 'g', -1, 64)}
}

// Cell returns the cell of a field in a record. Spans have three digits and a unit.
func (f *Field) Cell(record reflect.Value) Cell {
	v, known := f.Value(record)
	known = known && !(f.OmitZero && v.IsZero())
	if f.digits >= 0 {
		if !known {
			return Cell{}
		}
		return Cell{Text: strconv.FormatFloat(v.Float(), 'f', f.digits, 64)}
	}
	switch x := reflect.Zero(f.Type).Interface().(type) {
	case Cell:
		x = v.Interface().(Cell)
		x.Words = f.Words()
		x.Measure = !x.Words
		return x
	case time.Duration:
		if known {
			x = v.Interface().(time.Duration)
		}
		return SpanCell(x, known)
	case float64:
		if f.Unit() != "s" {
			break
		}
		if known {
			x = v.Float()
		}
		return SpanCell(time.Duration(float64(x*1e9)+0.5), known)
	}
	c := Cell{Words: f.Words()}
	if known {
		c.Text = f.text(v)
	}
	return c
}

// Words reports whether the field holds words, not a number.
func (f *Field) Words() bool {
	switch k := f.Type.Kind(); {
	case f.Type == cellType:
		return f.shown == "words"
	case f.shown == "number":
		return false
	case f.Type.Implements(reflect.TypeFor[fmt.Stringer]()):
		return f.Type != reflect.TypeFor[time.Duration]()
	default:
		return k == reflect.String || k == reflect.Bool || k == reflect.Slice
	}
}

// text writes a value for people.
func (f *Field) text(v reflect.Value) string {
	text := textOf(v)
	for pair := range strings.FieldsSeq(f.shown) {
		if from, to, ok := strings.Cut(pair, "="); ok && from == text {
			return to
		}
	}
	return text
}

// SpanText returns a span with three digits and its unit, as "631 ms". No time is "0".
func SpanText(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}} {
		if d >= u.unit {
			return sign + threeDigits(float64(d)/float64(u.unit)) + " " + u.name
		}
	}
	return sign + strconv.FormatInt(int64(d), 10) + " ns"
}

// threeDigits writes a number of at least 1.
func threeDigits(x float64) string {
	digits := 0
	if x < 99.95 {
		digits = 1
	}
	if x < 9.995 {
		digits = 2
	}
	return strconv.FormatFloat(x, 'f', digits, 64)
}
