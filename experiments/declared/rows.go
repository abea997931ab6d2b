package declared

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"time"

	"tcpwheel/internal/record"
	"tcpwheel/wheel/stat"
)

// Column is a measure or parameter of a study's rows.
type Column struct {
	Name string // as in expressions
	Unit string // such as "bytes"; "" for none and for durations
	Kind string // "a number", "a duration", "a text", "yes or no", "a list" or "a sample"
	Help string // one line, "" if the struct's field has none
}

// rows are the results of a study as a table.
type rows struct {
	names  []string
	index  map[string]int
	values [][]any
	kinds  map[string][]int
}

// kindsOf returns a number for each row: rows with one value in the column have the same.
func (t *rows) kindsOf(column string) []int {
	if kinds, ok := t.kinds[column]; ok {
		return kinds
	}
	kinds, numbers := make([]int, len(t.values)), map[any]int{}
	for i, row := range t.values {
		v := row[t.index[column]]
		switch v.(type) {
		case []any, Sample:
			v = fmt.Sprint(v)
		}
		k, ok := numbers[v]
		if !ok {
			k = len(numbers)
			numbers[v] = k
		}
		kinds[i] = k
	}
	if t.kinds == nil {
		t.kinds = map[string][]int{}
	}
	t.kinds[column] = kinds
	return kinds
}

// Columns returns the columns of a row: the fields of the struct with a name in JSON and a form in
// expressions. The ending _ns of durations is not in their names. See package record for tags.
func Columns(row any) []Column {
	var all []Column
	for _, f := range fieldsOf(reflect.TypeOf(row)) {
		v, _ := asValue(reflect.Zero(f.Type))
		c := Column{f.Column, f.Unit(), kind(v), f.Help}
		if _, ok := v.(time.Duration); ok {
			c.Unit = ""
		}
		all = append(all, c)
	}
	return all
}

// fieldsOf returns the fields of a row that are columns.
func fieldsOf(row reflect.Type) (all []record.Field) {
	for _, of := range reflect.VisibleFields(row) {
		f, form := record.Describe(of), of.Type
		if form.Kind() == reflect.Slice {
			form = form.Elem() // a list of what has no form is none
		}
		_, ok := asValue(reflect.Zero(form))
		f.Column = cmp.Or(f.Column, strings.TrimSuffix(f.Name, "_ns"))
		if ok && of.IsExported() && !of.Anonymous && f.Name != "-" && f.Column != "" {
			all = append(all, f)
		}
	}
	return all
}

// tableOf returns a slice of structs as rows.
func tableOf(slice any) *rows {
	t := &rows{index: map[string]int{}}
	all := reflect.ValueOf(slice)
	fields := fieldsOf(all.Type().Elem())
	for i, f := range fields {
		t.index[f.Column] = i
		t.names = append(t.names, f.Column)
	}
	for i := range all.Len() {
		row := make([]any, len(fields))
		for k := range fields {
			v, _ := fields[k].Value(all.Index(i))
			if x, ok := asValue(v); ok {
				row[k] = plain(x)
			}
		}
		t.values = append(t.values, row)
	}
	return t
}

// planNamed is the values of a plan, for plan.KEY: a column may have the name of a key.
type planNamed map[string]any

// String implements fmt.Stringer.
func (planNamed) String() string { return "the plan" }

// Value implements Valued.
func (p planNamed) Value(name string) (any, bool) {
	v, ok := p[name]
	return v, ok
}

// planValues returns the values of a plan by their keys, and under "plan" all of them.
func planValues(plan any) map[string]any {
	named := map[string]any{}
	defer func() { named["plan"] = planNamed(maps.Clone(named)) }()
	v := reflect.ValueOf(plan).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		if name := f.Tag.Get("plan"); name != "" {
			if x, ok := asValue(v.FieldByIndex(f.Index)); ok {
				named[name] = x
			}
		}
	}
	return named
}

// asValue returns a field as a value of an expression; !ok if it has no such form.
func asValue(v reflect.Value) (value any, ok bool) {
	switch x := v.Interface().(type) {
	case Valued:
		return x, true
	case time.Duration:
		return x, true
	case stat.Interval:
		return x, true
	case Sample:
		return x, true
	case fmt.Stringer:
		return x.String(), true
	}
	switch {
	case v.Kind() == reflect.Bool:
		return v.Bool(), true
	case v.Kind() == reflect.String:
		return v.String(), true
	case v.CanInt():
		return float64(v.Int()), true
	case v.CanUint():
		return float64(v.Uint()), true
	case v.CanFloat():
		return v.Float(), true
	case v.Kind() == reflect.Slice:
		list := []any{}
		for i := range v.Len() {
			x, ok := asValue(v.Index(i))
			if !ok {
				return nil, false
			}
			list = append(list, x)
		}
		return list, true
	}
	return nil, false
}
