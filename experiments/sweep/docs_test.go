package sweep

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"tcpwheel/experiments/plan"

	"tcpwheel/netstack/sim"
)

var update = flag.Bool("update", false, "rewrite the tables of docs/sweep.md")

const document = "../../docs/sweep.md"

// TestDocumented holds the tables of docs/sweep.md against the code, and runs the plan that it
// shows.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	want := string(text)
	for part, table := range map[string]string{"keys": keyTable(t), "metrics": metricTable()} {
		between := regexp.MustCompile(`(?s)(<!-- ` + part + `: [^\n]*-->\n).*(<!-- end of ` + part + ` -->)`)
		if !between.MatchString(want) {
			t.Fatalf("%s has no place for %s", document, part)
		}
		want = between.ReplaceAllStringFunc(want, func(old string) string {
			m := between.FindStringSubmatch(old)
			return m[1] + "\n" + table + "\n" + m[2]
		})
	}
	if *update {
		if err := os.WriteFile(document, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Errorf("%s is stale: run go test ./experiments/sweep -run TestDocumented -update", document)
	}
	shown := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(want)
	if shown == nil {
		t.Fatalf("%s shows no plan", document)
	}
	plan := strings.Replace(shown[1], "objects: 100", "objects: 20\nseeds: 2", 1)
	if out := run(t, "my-plan.yaml", plan, false); len(out.Claims) != 1 || len(out.Tables) == 0 {
		t.Errorf("the plan shown has %d claims", len(out.Claims))
	}
}

// keyTable has a line for each key of a plan: what it may be, what it is by default, and what it is
// about.
func keyTable(t *testing.T) string {
	t.Helper()
	own, err := plan.Parse("plan.yaml", []byte(Study.Plan()))
	if err != nil {
		t.Fatal(err)
	}
	p := new(Plan)
	if err := own.Decode(p, false); err != nil {
		t.Fatal(err)
	}
	b := &strings.Builder{}
	fmt.Fprintln(b, "| key | may be | default | |\n|---|---|---|---|")
	keyRows(t, b, reflect.ValueOf(p).Elem(), "")
	return b.String()
}

func keyRows(t *testing.T, b *strings.Builder, v reflect.Value, path string) {
	for i, f := range reflect.VisibleFields(v.Type()) {
		key, about := path+f.Tag.Get("plan"), f.Tag.Get("about")
		if about == "" {
			t.Errorf("key %s does not say what it is about", key)
		}
		kind := f.Type
		many := kind.Kind() == reflect.Slice
		if many {
			kind = kind.Elem()
		}
		if kind == reflect.TypeFor[Expectation]() {
			keyRows(t, b, reflect.New(kind).Elem(), key+".")
			continue
		}
		text := mayBe(kind, f.Tag)
		if many {
			text = "list: " + text
		}
		preset := "-"
		if value := v.Field(i); path == "" {
			preset = fmt.Sprint(value.Interface())
			if many {
				preset = strings.ReplaceAll(strings.Trim(preset, "[]"), " ", ", ")
			}
			if preset == "" {
				preset = "-"
			}
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", key, text, preset, about)
	}
}

// mayBe says what a value of a type may be, by its tags.
func mayBe(kind reflect.Type, tag reflect.StructTag) string {
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	lo, hi := tag.Get("min"), tag.Get("max")
	bounds := ""
	if lo != "" {
		bounds = fmt.Sprintf(", %s to %s", lo, hi)
	}
	switch unit := tag.Get("unit"); {
	case unit == "size":
		return "number of bytes such as 64KiB or 1e6" + bounds
	case unit == "probability":
		return "probability such as 0.02 or 2%" + bounds
	case tag.Get("oneof") != "":
		return strings.Join(strings.Fields(tag.Get("oneof")), ", ")
	case tag.Get("plan") == "timers" || tag.Get("plan") == "peer":
		return "timers, see below"
	case tag.Get("plan") == "loss" || tag.Get("plan") == "ack_loss":
		return "losses, see below"
	case kind == reflect.TypeFor[sim.LinkRate]():
		return new(sim.LinkRate).Allowed()
	case kind == reflect.TypeFor[time.Duration]():
		return "duration" + bounds
	case kind == reflect.TypeFor[Where]():
		return "any of " + strings.Join(axisKeys, ", ")
	case kind.Kind() == reflect.Bool:
		return "true or false"
	case kind.Kind() == reflect.Float64:
		return "number" + bounds
	case kind.Kind() == reflect.String:
		return "text"
	}
	return "whole number" + bounds
}

func metricTable() string {
	b := &strings.Builder{}
	fmt.Fprintln(b, "| metric | unit | |\n|---|---|---|")
	for _, m := range metricsOf {
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", m.name, m.unit, m.about)
	}
	return b.String()
}
