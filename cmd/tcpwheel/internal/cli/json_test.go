package cli

import (
	"encoding"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"tcpwheel/internal/record"
	pages "tcpwheel/pcaps/report"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// TestJSONPage compares the tables of docs/json.md with the tags of the records, and its exit statuses
// with those of the program. With -update it rewrites them.
func TestJSONPage(t *testing.T) {
	const name = "../../../../docs/json.md"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	statuses := ""
	for _, s := range exitStatuses {
		statuses += fmt.Sprintf("| %s | %s |\n", s.name, s.meaning)
	}
	for _, part := range []struct{ name, table string }{
		{"statuses", "| status | meaning |\n|---|---|\n" + statuses},
		{"episode", fieldList(reflect.TypeFor[track.Episode]())},
		{"connection", fieldList(reflect.TypeFor[track.ConnRecord]())},
		{"flow", fieldList(reflect.TypeFor[track.FlowRecord]())},
		{"host", fieldList(reflect.TypeFor[track.HostRecord]())},
		{"file", fieldList(reflect.TypeFor[fileRecord]())},
		{"recovery", fieldList(reflect.TypeFor[pages.LossRow]())},
		{"policy", fieldList(reflect.TypeFor[policyRecord]())},
	} {
		begin, end := "<!-- written: "+part.name+" -->\n", "<!-- end -->"
		before, rest, ok := strings.Cut(page, begin)
		shown, after, closed := strings.Cut(rest, end)
		switch {
		case !ok || !closed:
			t.Errorf("%s has no place for %s", name, part.name)
		case *update:
			page = before + begin + part.table + end + after
		case shown != part.table:
			t.Errorf("%s: %s is\n%swant\n%s", name, part.name, shown, part.table)
		}
	}
	if *update {
		if err := os.WriteFile(name, []byte(page), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// fieldList lists the fields of a record, with their types if they are no numbers, and what their tags
// say of them.
func fieldList(of reflect.Type) string {
	help := map[string]string{}
	for _, t := range record.Terms(of) {
		help[t.Name] = t.Help
	}
	var rows [][]string
	var list func(of reflect.Type)
	list = func(of reflect.Type) {
		for i := range of.NumField() {
			f := of.Field(i)
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			kind := f.Type
			for kind.Kind() == reflect.Pointer {
				kind = kind.Elem()
			}
			if f.Anonymous && name == "" && kind.Kind() == reflect.Struct {
				list(kind)
				continue
			}
			if name == "" || name == "-" || name == "type" {
				continue
			}
			about := help[name]
			if about == "" {
				about = f.Tag.Get("help")
			}
			if strings.Contains(options, "omitempty") || f.Tag.Get("known") != "" {
				name += "?"
			}
			rows = append(rows, []string{name, jsonType(kind), about})
		}
	}
	list(of)
	var b strings.Builder
	writeColumns(&b, []string{"field", "type", "what it is"}, rows, nil)
	return "```text\n" + b.String() + "```\n"
}

// jsonType is the type of a value, "" for a number.
func jsonType(t reflect.Type) string {
	if t == reflect.TypeFor[wheel.Time]() || t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return "text"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "text"
	case reflect.Slice, reflect.Array:
		return "list"
	case reflect.Map, reflect.Struct:
		return "object"
	}
	return ""
}
