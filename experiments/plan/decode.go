package plan

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"tcpwheel/wheel/base/quantity"
)

// mostFaults is the most faults listed for a plan.
const mostFaults = 10

type decoder struct {
	file   *File
	faults []error
}

// Allower is a type that says what text it accepts, such as "a policy: bsd, rfc6298 or
// per-segment".
type Allower interface{ Allowed() string }

var durationType = reflect.TypeFor[time.Duration]()

func (d *decoder) fault(n *yaml.Node, key, format string, args ...any) {
	if len(d.faults) < mostFaults {
		d.faults = append(d.faults, d.file.fault(n, key, fmt.Sprintf(format, args...)))
	}
}

// document decodes a mapping. The outermost one also has the keys of the file itself.
func (d *decoder) document(n *yaml.Node, into any, outer bool) {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		panic("BUG: plan: Decode wants a pointer to a struct")
	}
	d.mapping(n, v.Elem(), "", outer)
}

// try decodes a mapping into a copy, to find its faults.
func (d *decoder) try(n *yaml.Node, into any) {
	c := reflect.New(reflect.TypeOf(into).Elem())
	c.Elem().Set(reflect.ValueOf(into).Elem())
	d.document(n, c.Interface(), false)
}

// keys returns the names of the fields of a plan, in order.
func keys(t reflect.Type) (all []string) {
	for _, f := range reflect.VisibleFields(t) {
		if name := f.Tag.Get("plan"); name != "" {
			all = append(all, name)
		}
	}
	return all
}

func (d *decoder) mapping(n *yaml.Node, v reflect.Value, path string, outer bool) {
	if n.Kind != yaml.MappingNode {
		d.fault(n, path, "want a mapping with the keys %s", strings.Join(keys(v.Type()), ", "))
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if outer && (key.Value == "study" || key.Value == "quick") {
			continue
		}
		fields := reflect.VisibleFields(v.Type())
		j := slices.IndexFunc(fields, func(f reflect.StructField) bool {
			return key.Value != "" && f.Tag.Get("plan") == key.Value
		})
		if j < 0 {
			allowed := keys(v.Type())
			if outer {
				allowed = append(allowed, "quick", "study")
			}
			d.faults = append(d.faults, fmt.Errorf("%s:%d: %s: no such key, want one of %s", d.file.Name, key.Line,
				join(path, key.Value),
				strings.Join(allowed, ", ")))
			continue
		}
		d.value(value, v.FieldByIndex(fields[j].Index), join(path, key.Value), rules{fields[j].Tag})
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func (d *decoder) value(n *yaml.Node, v reflect.Value, path string, r rules) {
	t := v.Type()
	switch {
	case v.CanAddr() && isText(v):
		d.scalar(n, v, path, r)
	case t.Kind() == reflect.Slice:
		nodes := n.Content
		if n.Kind == yaml.ScalarNode && n.Tag != "!!null" || n.Kind == yaml.MappingNode {
			nodes = []*yaml.Node{n}
		}
		if len(nodes) == 0 && !r.optional() {
			d.fault(n, path, "want at least one value")
			return
		}
		list := reflect.MakeSlice(t, len(nodes), len(nodes))
		for i, c := range nodes {
			was := len(d.faults)
			d.value(c, list.Index(i), path, r)
			if r.rising() && i > 0 && len(d.faults) == was && !above(list.Index(i), list.Index(i-1)) {
				d.fault(c, path, "want more than the value before it")
			}
		}
		v.Set(list)
	case t.Kind() == reflect.Struct:
		d.mapping(n, v, path, false)
	case t.Kind() == reflect.Pointer:
		if n.Tag == "!!null" {
			v.SetZero()
			return
		}
		if v.IsNil() {
			v.Set(reflect.New(t.Elem()))
		}
		d.value(n, v.Elem(), path, r)
	default:
		d.scalar(n, v, path, r)
	}
}

func isText(v reflect.Value) bool {
	_, ok := v.Addr().Interface().(encoding.TextUnmarshaler)
	return ok
}

func (d *decoder) scalar(n *yaml.Node, v reflect.Value, path string, r rules) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		d.fault(n, path, "want %s", r.want(v))
		return
	}
	if err := set(v, n, r); err != nil || !r.within(v) {
		if err != nil && isTextOf(v) {
			if want := r.want(v); says(err, want) {
				// The fault already shows the value; the error may begin with it, too.
				d.fault(n, path, "%s", strings.TrimPrefix(err.Error(), strconv.Quote(n.Value)+", "))
			} else {
				d.fault(n, path, "%v; want %s", err, want)
			}
			return
		}
		d.fault(n, path, "want %s", r.want(v))
	}
}

func isTextOf(v reflect.Value) bool { return v.CanAddr() && isText(v) }

// set parses a scalar into v.
func set(v reflect.Value, n *yaml.Node, r rules) error {
	text := n.Value
	if isTextOf(v) {
		return v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text))
	}
	switch {
	case v.Type() == durationType:
		d, err := quantity.ParseDuration(text)
		if err != nil {
			return err
		}
		v.SetInt(int64(d))
	case v.Kind() == reflect.Bool:
		if text != "true" && text != "false" {
			return strconv.ErrSyntax
		}
		v.SetBool(text == "true")
	case v.CanInt():
		digits, minus := strings.CutPrefix(text, "-")
		x, err := whole(digits, r.unit())
		if err != nil || x > math.MaxInt64 || v.OverflowInt(int64(x)) {
			return strconv.ErrRange
		}
		if v.SetInt(int64(x)); minus {
			v.SetInt(-int64(x))
		}
	case v.CanUint():
		x, err := whole(text, r.unit())
		if err != nil || v.OverflowUint(x) {
			return strconv.ErrRange
		}
		v.SetUint(x)
	case v.CanFloat() && r.unit() == "probability":
		x, err := quantity.ParseProbability(text)
		if err != nil {
			return err
		}
		v.SetFloat(x)
	case v.CanFloat():
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || x != x || x-x != 0 {
			return strconv.ErrSyntax
		}
		v.SetFloat(x)
	case v.Kind() == reflect.String:
		v.SetString(text)
	default:
		panic("BUG: plan: a field of type " + v.Type().String())
	}
	return nil
}

// whole reads a whole number in a unit.
func whole(text, unit string) (uint64, error) {
	switch unit {
	case "rate":
		x, err := quantity.ParseRate(text)
		return uint64(x), err
	case "size":
		x, err := quantity.ParseSize(text)
		return uint64(x), err
	}
	return quantity.ParseCount(text)
}
