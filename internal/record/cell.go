package record

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"tcpwheel/wheel"
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
	Aside bool   // in parentheses on a page: it does not count
}

var cellType = reflect.TypeFor[Cell]()

// SpanCell returns a cell of a span, an empty one if it is not known.
func SpanCell(d time.Duration, known bool) Cell {
	if !known {
		return Cell{Measure: true}
	}
	return Cell{Text: SpanText(d), Measure: true, Value: strconv.FormatFloat(d.Seconds(), 'g', -1, 64)}
}

// Seconds returns a span for a field that may be unknown.
func Seconds(d time.Duration) *float64 {
	s := d.Seconds()
	return &s
}

// Span returns the span of a number of seconds, to the nearest nanosecond.
func Span(seconds float64) time.Duration { return time.Duration(math.Round(seconds * 1e9)) }

// Stamp returns a time since 1970 as records have it: in UTC, with up to nine decimals.
func Stamp(t wheel.Time) string { return time.Unix(0, int64(t)).UTC().Format(time.RFC3339Nano) }

// Cell returns the cell of a field in a record. Spans have three digits and a unit.
func (f *Field) Cell(record reflect.Value) Cell {
	v, known := f.Value(record)
	known = known && !(f.OmitZero && v.IsZero())
	if f.isNumber() {
		if !known {
			return Cell{}
		}
		x := v
		if v.Type() == spanType {
			x = reflect.ValueOf(time.Duration(v.Int()).Seconds())
		}
		return Cell{Text: f.instead(f.number(x.Float()))}
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
		return SpanCell(Span(x), known)
	}
	c := Cell{Words: f.Words()}
	if known {
		c.Text = f.instead(textOf(v))
	}
	return c
}

// Text returns the text of a field in a record; a dash is unknown.
func (f *Field) Text(record reflect.Value) string {
	if text := f.Cell(record).Text; text != "" {
		return text
	}
	return "-"
}

// isNumber reports whether the layout or the tag says how a number is written.
func (f *Field) isNumber() bool {
	return f.digits >= 0 || f.shown == "%" || strings.HasPrefix(f.shown, "digits")
}

func (f *Field) number(x float64) string {
	switch {
	case f.shown == "%" && f.digits < 0:
		return strconv.FormatFloat(100*x, 'f', 1, 64)
	case f.shown == "%":
		return strconv.FormatFloat(100*x, 'f', f.digits, 64)
	case f.digits >= 0:
		return strconv.FormatFloat(x, 'f', f.digits, 64)
	default:
		return Digits(x)
	}
}

// Words reports whether the field holds words, not a number.
func (f *Field) Words() bool {
	switch k := f.Type.Kind(); {
	case f.Type == cellType:
		return f.shown == "words"
	case f.shown == "number":
		return false
	case f.Type.Implements(reflect.TypeFor[fmt.Stringer]()):
		return f.Type != spanType
	default:
		return k == reflect.String || k == reflect.Bool || k == reflect.Slice
	}
}

// instead returns what the tag says that people read instead of a text, or else the text.
func (f *Field) instead(text string) string {
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
	}{{8766 * time.Hour, "years"}, {time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}} {
		if d >= u.unit {
			return sign + Digits(float64(d)/float64(u.unit)) + " " + u.name
		}
	}
	return sign + strconv.FormatInt(int64(d), 10) + " ns"
}

// Digits writes a number with three digits, or with all digits before the point if there are more.
func Digits(x float64) string {
	digits := 0
	switch size := math.Abs(x); {
	case size == 0:
	case size < 9.995:
		digits = 2
	case size < 99.95:
		digits = 1
	}
	return strconv.FormatFloat(x, 'f', digits, 64)
}
