package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"tcpwheel/internal/setting"
)

// mostFaults is the most faults listed for a plan.
const mostFaults = 10

type decoder struct {
	file   *File
	faults []error
}

// Allower is setting.Allower.
type Allower = setting.Allower

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
		d.value(value, v.FieldByIndex(fields[j].Index), join(path, key.Value), fields[j].Tag)
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func (d *decoder) value(n *yaml.Node, v reflect.Value, path string, tag reflect.StructTag) {
	t := v.Type()
	switch {
	case setting.ReadsText(t):
		d.scalar(n, v, path, tag)
	case t.Kind() == reflect.Slice:
		nodes := n.Content
		if n.Kind == yaml.ScalarNode && n.Tag != "!!null" || n.Kind == yaml.MappingNode {
			nodes = []*yaml.Node{n}
		}
		if len(nodes) == 0 && tag.Get("optional") != "true" {
			d.fault(n, path, "want at least one value")
			return
		}
		order, rising := tag.Lookup("order")
		if rising && order != "rising" {
			panic(fmt.Sprintf("BUG: plan: order:%q, want rising", order))
		}
		list := reflect.MakeSlice(t, len(nodes), len(nodes))
		for i, c := range nodes {
			was := len(d.faults)
			d.value(c, list.Index(i), path, tag)
			if rising && i > 0 && len(d.faults) == was && setting.Compare(list.Index(i), list.Index(i-1)) <= 0 {
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
		d.value(n, v.Elem(), path, tag)
	default:
		d.scalar(n, v, path, tag)
	}
}

func (d *decoder) scalar(n *yaml.Node, v reflect.Value, path string, tag reflect.StructTag) {
	r := setting.NewRule(v.Type(), tag)
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		d.fault(n, path, "want %s", r.Want())
	} else if err := r.Set(v, n.Value); err != nil { // which the fault shows before it
		d.fault(n, path, "%s", strings.TrimPrefix(err.Error(), strconv.Quote(n.Value)+", "))
	}
}

// Key is a key of a plan.
type Key struct {
	Name    string `json:"key"`
	Accepts string `json:"accepts"`
	Help    string `json:"help,omitempty"`
}

// Keys returns the keys of a plan, a pointer to a struct.
func Keys(plan any) (all []Key) {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(plan).Elem()) {
		if name := f.Tag.Get("plan"); name != "" {
			all = append(all, Key{name, accepts(f.Type, f.Tag), f.Tag.Get("help")})
		}
	}
	return all
}

// accepts says what a field of a plan accepts.
func accepts(t reflect.Type, tag reflect.StructTag) string {
	switch {
	case setting.ReadsText(t):
	case t.Kind() == reflect.Slice:
		return "list: " + accepts(t.Elem(), tag)
	case t.Kind() == reflect.Pointer:
		return accepts(t.Elem(), tag)
	case t.Kind() == reflect.Struct:
		return "a mapping with the keys " + strings.Join(keys(t), ", ")
	}
	r := setting.NewRule(t, tag)
	return r.Want()
}
