package plan

import (
	"reflect"
	"strings"

	"tcpwheel/internal/setting"
)

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
