package script

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// scripts returns the names of the scripts in testdata/parse.
func scripts(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob("testdata/parse/*.pkt")
	if err != nil || len(names) < 10 {
		t.Fatalf("testdata has %d scripts, want 10 at least (%v)", len(names), err)
	}
	return names
}

// TestGolden compares the tree of each script with its golden file.
func TestGolden(t *testing.T) {
	for _, name := range scripts(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			s, err := Parse(filepath.Base(name), src)
			if err != nil {
				t.Fatal(err)
			}
			got := dump(s)
			golden := strings.TrimSuffix(name, ".pkt") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s: differs from %s: rerun with -update and explain the difference; got:\n%s", name, golden, got)
			}
			checkRoundTrip(t, s)
		})
	}
}

// checkRoundTrip checks that Parse reads what String writes of times, packets, messages and calls.
func checkRoundTrip(t testing.TB, s *Script) {
	t.Helper()
	for _, e := range events(s) {
		text := fmt.Sprint(e.Time, " ", e.Action)
		switch e.Action.(type) {
		case *Settings, *Code:
			continue
		}
		again, err := Parse(s.Name, []byte(text))
		if err != nil {
			t.Fatalf("Parse(%q): %v", text, err)
		}
		stripPositions(reflect.ValueOf(e))
		stripPositions(reflect.ValueOf(again))
		if len(again.Items) != 1 || !reflect.DeepEqual(again.Items[0], Item(e)) {
			t.Errorf("Parse(%q):\n%s\nwant:\n%s", text, dump(again), dump(&Script{Items: []Item{e}}))
		}
	}
}

// TestScriptsCoverNotation lists the notation that no script in testdata/parse uses.
func TestScriptsCoverNotation(t *testing.T) {
	var all strings.Builder
	for _, name := range scripts(t) {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse(name, src)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(src)
		all.WriteString(dump(s))
	}
	var parts []string
	for name := range calls {
		parts = append(parts, " "+name+"(")
	}
	for name := range ecnNames {
		parts = append(parts, "["+name+"]")
	}
	for name, typ := range icmpTypes {
		parts = append(parts, "icmp "+name)
		if typ.codes != nil {
			parts = append(parts, typ.codes[0])
		}
	}
	for op := range binding {
		parts = append(parts, fmt.Sprintf("Op:%q", op))
	}
	for _, e := range eachFlag {
		parts = append(parts, string(e.letter))
	}
	for kind := TimeUnset; kind <= TimeAny; kind++ {
		parts = append(parts, fmt.Sprintf("Kind:%d", kind))
	}
	parts = append(parts, "--ip_version", "--mtu", "--tcp_ts_tick_usecs", "--tolerance_usecs", "sackOK", "nop", "eol", "wscale ", "mss ",
		"TS val ", "TS val ... ecr ...", "sack ...", "<...>", ",...>", " urg ", " - ", "MSG_MORE", "EINPROGRESS (", "# ", "// ", "/* ",
		`Op:"not"`, `Hex:true`, "assert", "print(", "(Wildcard", "(String", "Braced:true", "mtu ", "[1:2(1)]")
	for _, part := range parts {
		if !strings.Contains(all.String(), part) {
			t.Errorf("no script in testdata/parse uses %q", part)
		}
	}
}

// stripPositions sets all positions below v to zero.
func stripPositions(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			stripPositions(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			stripPositions(v.Index(i))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[Pos]() {
			v.SetZero()
			return
		}
		for i := range v.NumField() {
			stripPositions(v.Field(i))
		}
	}
}

// dump formats a tree, one item a line, with positions and without zero fields.
func dump(s *Script) string {
	var b strings.Builder
	for _, item := range s.Items {
		dumpValue(&b, reflect.ValueOf(item))
		b.WriteByte('\n')
	}
	return b.String()
}

func dumpValue(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		dumpValue(b, v.Elem())
	case reflect.Slice:
		b.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				b.WriteByte(' ')
			}
			dumpValue(b, v.Index(i))
		}
		b.WriteByte(']')
	case reflect.String:
		fmt.Fprintf(b, "%q", v.String())
	case reflect.Struct:
		switch p := v.Interface().(type) {
		case Pos:
			fmt.Fprintf(b, "%d:%d", p.Line, p.Column)
			return
		case Span:
			fmt.Fprintf(b, "%d:%d-%d:%d", p.Start.Line, p.Start.Column, p.End.Line, p.End.Column)
			return
		}
		fmt.Fprintf(b, "(%s", v.Type().Name())
		for i := range v.NumField() {
			switch field, typ := v.Field(i), v.Type().Field(i); {
			case typ.Anonymous:
				b.WriteByte(' ')
				dumpValue(b, field)
			case !field.IsZero() || typ.Name == "Kind":
				fmt.Fprintf(b, " %s:", typ.Name)
				dumpValue(b, field)
			}
		}
		b.WriteByte(')')
	default:
		fmt.Fprintf(b, "%v", v.Interface())
	}
}
