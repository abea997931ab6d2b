package sweep

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"tcpwheel/experiments"
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
	between := regexp.MustCompile(`(?s)(<!-- keys: [^\n]*-->\n).*(<!-- end of keys -->)`)
	if !between.MatchString(want) {
		t.Fatalf("%s has no place for keys", document)
	}
	want = between.ReplaceAllStringFunc(want, func(old string) string {
		m := between.FindStringSubmatch(old)
		return m[1] + "\n" + keyTable(t) + "\n" + m[2]
	})
	if *update {
		if err := os.WriteFile(document, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Errorf("%s is stale: run go test ./experiments/sweep -run TestDocumented -update", document)
	}
	shown := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(want, -1)
	if len(shown) != 2 {
		t.Fatalf("%s shows %d files, want a plan and its claims", document, len(shown))
	}
	out := runFolder(t, fstest.MapFS{"plan.yaml": {Data: []byte(shown[0][1])},
		"claims.yaml": {Data: []byte(shown[1][1])}}, ".")
	if len(out.Claims) != 1 || out.Claims[0].Verdict != experiments.Reproduced || len(out.Tables) == 0 {
		t.Errorf("the plan and claims shown: %d tables, %+v", len(out.Tables), out.Claims)
	}
}

// abouts says what each key of a plan is about.
var abouts = map[string]string{
	"subject": "the sender: the engine in the virtual network, the engine in a gVisor stack, or gVisor's own " +
		"TCP with its own timers",
	"timers":     "of the sender; the first is the baseline",
	"names":      "short names for tables and figures, one for each of timers",
	"tick":       "tick of expiry, replaces that of timers",
	"floor":      "RTO floor, replaces that of timers; 0s is none",
	"rtt_tick":   "tick of the RTT clock, replaces that of timers; 0s is exact",
	"wheel":      "scheme of the timing wheel of subject engine, as tcpwheel wheel schemes lists them; default scheme6",
	"control":    "congestion control, replaces that of timers",
	"sack":       "of the sender, replaces that of timers",
	"timestamps": "of the sender, replaces that of timers",
	"peer":       "timers of the receivers with their delayed ACKs, such as linux delack=200ms",
	"rtt":        "RTT of the path without queues",
	"rate":       "of the shared link towards the receivers",
	"queue":      "most packets that wait for the shared link; 0 is no bound",
	"jitter": "uniform variation of the delay towards the receivers, up or down, at most half the RTT; " +
		"packets keep their order",
	"reorder":  "share of packets that are late by reorder_by, so others overtake them",
	"loss":     "towards the receivers, by flow",
	"ack_loss": "towards the sender, by flow; fates and tail lose requests there, not ACKs",
	"workload": "when the objects of a flow begin",
	"bytes":    "size of an object; n times 1400, for n up to 30, is n segments for all subjects",
	"flows":    "flows from one sender, each to its own receiver",
	"jitter_hold": "how long a drawn delay holds: packets sent within it take the same time; 0s draws one for each " +
		"packet",
	"reorder_by": "see reorder",
	"objects":    "objects of each flow, warm-up included; bulk has one",
	"warmup":     "first objects, which fates and tail spare and which do not count",
	"request":    "bytes of a request",
	"think":      "pause between objects, uniform from half to one and a half of it",
	"stagger":    "flows begin at random within this span, so the phase of ticks is random",
	"limit":      "virtual time; an unfinished object counts with its age",
	"mtu":        "of the path",
	"seeds":      "1 to this: each a run of its own",
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
	v := reflect.ValueOf(p).Elem()
	for i, f := range reflect.VisibleFields(v.Type()) {
		key := f.Tag.Get("plan")
		about, ok := abouts[key]
		if !ok {
			t.Errorf("abouts does not say what key %s is about", key)
		}
		kind := f.Type
		many := kind.Kind() == reflect.Slice
		if many {
			kind = kind.Elem()
		}
		text, preset := mayBe(kind, f.Tag), fmt.Sprint(v.Field(i).Interface())
		if many {
			text, preset = "list: "+text, strings.ReplaceAll(strings.Trim(preset, "[]"), " ", ", ")
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", key, text, cmp.Or(preset, "-"), about)
	}
	return b.String()
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
	case kind.Kind() == reflect.Bool:
		return "true or false"
	case kind.Kind() == reflect.Float64:
		return "number" + bounds
	case kind.Kind() == reflect.String:
		return "text"
	}
	return "whole number" + bounds
}
