package setting_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"tcpwheel/internal/setting"
)

// colour is a type with names.
type colour uint8

func (colour) Names() []string { return []string{"red", "green"} }

// span reads "FROM-TO".
type span struct {
	From uint8 `set:"from" max:"9"`
	To   uint8 `set:"to"`
}

func (s *span) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "%d-%d", &s.From, &s.To)
	return err
}

func (*span) Allowed() string { return "a span such as 1-2" }

type inner struct {
	Min time.Duration `set:"min" alias:"floor" min:"1us" max:"1s"`
	Max time.Duration `set:"max" zero:"ok" min:"1ms" max:"24h"`
}

type outer struct {
	Bounds inner `prefix:"rto-"`
	Inner  struct {
		Deep bool `set:"deep_switch"`
	}
	Tick   time.Duration `set:"tick" max:"500ms" word:"exact=1us" help:"the tick"`
	Share  float64       `set:"share" unit:"probability" max:"0.5"`
	Number float64       `set:"number"`
	Size   uint32        `set:"size" unit:"size" min:"1"`
	Rate   uint64        `set:"rate" unit:"rate"`
	Count  int           `set:"count" min:"-5" max:"1e3"`
	Power  int           `set:"power" power:"two"`
	Seed   uint64        `set:"seed"`
	Word   string        `set:"word"`
	Choice string        `set:"choice" oneof:"a b"`
	Colour colour        `set:"colour"`
	Addr   netip.Addr    `set:"addr"`
	Span   span          `set:"span" prefix:"span."`
	Other  chan int      // no setting
}

// Composites implements setting.Composer.
func (*outer) Composites() []setting.Composite {
	both := setting.Derive("both", `max:"10"`, func(o *outer, n int) { o.Count, o.Power = n, n })
	return []setting.Composite{setting.JSON(both, func(o *outer) any {
		if o.Count == o.Power {
			return o.Count
		}
		return nil
	}), setting.Derive("twice", "", func(o *outer, on bool) { o.Inner.Deep = on })}
}

// valid passes Check.
func valid() outer { return outer{Bounds: inner{Min: 1e6}, Size: 1, Power: 1, Choice: "a"} }

func TestSet(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       func(o *outer) any
		value      any
	}{
		{"tick", "20ms", func(o *outer) any { return o.Tick }, 20 * time.Millisecond},
		{"tick", "exact", func(o *outer) any { return o.Tick }, time.Microsecond},
		{"rto-min", "1s", func(o *outer) any { return o.Bounds.Min }, time.Second},
		{"rto_min", "2us", func(o *outer) any { return o.Bounds.Min }, 2 * time.Microsecond},
		{"floor", "3us", func(o *outer) any { return o.Bounds.Min }, 3 * time.Microsecond},
		{"rto-max", "0", func(o *outer) any { return o.Bounds.Max }, time.Duration(0)},
		{"deep-switch", "on", func(o *outer) any { return o.Inner.Deep }, true},
		{"deep-switch", "1", func(o *outer) any { return o.Inner.Deep }, true},
		{"twice", "true", func(o *outer) any { return o.Inner.Deep }, true},
		{"share", "2%", func(o *outer) any { return o.Share }, 0.02},
		{"number", "-1.5", func(o *outer) any { return o.Number }, -1.5},
		{"size", "64KiB", func(o *outer) any { return o.Size }, uint32(65536)},
		{"rate", "1Mbit", func(o *outer) any { return o.Rate }, uint64(1e6)},
		{"count", "-5", func(o *outer) any { return o.Count }, -5},
		{"count", "1e3", func(o *outer) any { return o.Count }, 1000},
		{"power", "64", func(o *outer) any { return o.Power }, 64},
		{"seed", "0x10", func(o *outer) any { return o.Seed }, uint64(16)},
		{"word", "any text", func(o *outer) any { return o.Word }, "any text"},
		{"choice", "b", func(o *outer) any { return o.Choice }, "b"},
		{"colour", "green", func(o *outer) any { return o.Colour }, colour(1)},
		{"addr", "10.0.0.1", func(o *outer) any { return o.Addr }, netip.MustParseAddr("10.0.0.1")},
		{"span", "3-4", func(o *outer) any { return o.Span }, span{3, 4}},
		{"span.to", "7", func(o *outer) any { return o.Span.To }, uint8(7)},
		{"both", "8", func(o *outer) any { return [2]int{o.Count, o.Power} }, [2]int{8, 8}},
	} {
		o := valid()
		if err := setting.Set(&o, test.name, test.text); err != nil {
			t.Errorf("%s=%s: %v", test.name, test.text, err)
		} else if got := test.want(&o); got != test.value {
			t.Errorf("%s=%s sets %v, want %v", test.name, test.text, got, test.value)
		}
	}
}

// TestErrorsNameTheBound checks that an error names the setting, the text and what is accepted, and
// that it changes nothing.
func TestErrorsNameTheBound(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"tick", "1s", `tick "1s", want exact, or a duration such as 20ms, 0s to 500ms`},
		{"tick", "5", `tick "5", want exact, or a duration such as 20ms, 0s to 500ms`},
		{"rto_min", "0s", `rto_min "0s", want a duration such as 20ms, 1us to 1s`},
		{"floor", "2s", `floor "2s", want a duration such as 20ms, 1us to 1s`},
		{"rto-max", "1us", `rto-max "1us", want a duration such as 20ms, 1ms to 24h, or 0`},
		{"deep_switch", "maybe", `deep_switch "maybe", want true or false`},
		{"share", "0.6", `share "0.6", want a probability such as 0.02 or 2%, 0 to 0.5`},
		{"share", "NaN", `share "NaN", want a probability such as 0.02 or 2%, 0 to 0.5`},
		{"size", "0", `size "0", want a number of bytes such as 64KiB or 1e6, 1 or more`},
		{"size", "8GiB", `size "8GiB", want a number of bytes such as 64KiB or 1e6, 1 or more`},
		{"count", "1001", `count "1001", want a whole number, -5 to 1e3`},
		{"power", "3", `power "3", want a power of two`},
		{"choice", "c", `choice "c", want one of a, b`},
		{"colour", "blue", `colour "blue", want one of red, green`},
		{"addr", "10.0", `addr "10.0", ParseAddr("10.0"): IPv4 address too short`},
		{"span", "x", `span "x", expected integer; want a span such as 1-2`},
		{"span.from", "10", `span.from "10", want a whole number, at most 9`},
		{"both", "11", `both "11", want a whole number, at most 10`},
		{"ticks", "1ms", `setting "ticks", want one of addr, both, choice, colour, count, deep_switch, `},
	} {
		o, before := valid(), valid()
		err := setting.Set(&o, test.name, test.text)
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s=%s: %v, want %s", test.name, test.text, err, test.want)
		}
		if o != before {
			t.Errorf("%s=%s: an error, and it has changed %+v", test.name, test.text, o)
		}
	}
}

func TestCheck(t *testing.T) {
	o := valid()
	if err := setting.Check(&o); err != nil {
		t.Errorf("valid settings: %v", err)
	}
	for want, change := range map[string]func(o *outer){
		"rto-min 2s, want 1us to 1s":         func(o *outer) { o.Bounds.Min = 2 * time.Second },
		"rto-max 1µs, want 1ms to 24h, or 0": func(o *outer) { o.Bounds.Max = 1000 },
		"tick -1ns, want 0s to 500ms":        func(o *outer) { o.Tick = -1 },
		"share -1, want 0 to 0.5":            func(o *outer) { o.Share = -1 },
		"colour 2, want one of red, green":   func(o *outer) { o.Colour = 2 },
		"choice , want one of a, b":          func(o *outer) { o.Choice = "" },
		"power 0, want a power of two":       func(o *outer) { o.Power = 0 },
		"span.from 10, want at most 9":       func(o *outer) { o.Span.From = 10 },
	} {
		o := valid()
		change(&o)
		if err := setting.Check(&o); err == nil || err.Error() != want {
			t.Errorf("Check: %v, want %s", err, want)
		}
	}
}

func TestWords(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"linux", "linux []"},
		{"linux@1ms", "linux [{tick 1ms}]"},
		{"linux-jiffies@exact-twice+deep-switch", "linux-jiffies [{tick exact} {twice false} {deep-switch true}]"},
		{" linux  tick=1ms +twice  -deep_switch size=3-twice", "linux [{tick 1ms} {twice true} {deep_switch false} {size 3} {twice false}]"},
		{"linux+size=3+span.from=4-twice", "linux [{size 3} {span.from 4} {twice false}]"},
		{"linux +size=3", "linux [{size 3}]"},
		{"linux+word=hystart+++twice+speed=3", "linux [{word hystart++} {twice true} {speed 3}]"},
		{"linux -twice+twice", "linux [{twice false} {twice true}]"},
		{"", " []"},
		{"@1ms", " [{tick 1ms}]"},
		{"linux twice", `"twice", want KEY=VALUE, or + or - with one of twice, deep_switch`},
		{"linux +magic", `"+magic", want KEY=VALUE, or + or - with one of twice, deep_switch`},
	} {
		name, changes, err := setting.Words(test.text, outer{})
		got := fmt.Sprint(name, " ", changes)
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("Words(%q) = %s, want %s", test.text, got, test.want)
		}
	}
}

func TestAllDescribes(t *testing.T) {
	all := setting.All(&outer{})
	i := slices.IndexFunc(all, func(s setting.Setting) bool { return s.Name == "tick" })
	if s := all[i]; s.Help != "the tick" || s.Kind != "duration" || s.Want != "exact, or a duration such as 20ms, 0s to 500ms" {
		t.Errorf("tick is %+v", s)
	}
	if s, ok := setting.Find(outer{}, "colour"); !ok || fmt.Sprint(s.Values) != "[red green]" {
		t.Errorf("colour is %+v, %v", s, ok)
	}
	if s, ok := setting.Find(outer{}, "twice"); !ok || fmt.Sprint(s.Values) != "[true false]" {
		t.Errorf("twice is %+v, %v", s, ok)
	}
}

func TestJSON(t *testing.T) {
	o := outer{Tick: 1e6, Seed: 7, Colour: 1, Addr: netip.MustParseAddr("::1"), Span: span{1, 2}, Bounds: inner{Max: 1e9}, Count: 1}
	text, err := setting.Marshal(o)
	want := `{"rto-max":"1s","tick":"1ms","count":1,"seed":7,"colour":"green","addr":"::1","span":{"from":1,"to":2}}`
	if err != nil || string(text) != want {
		t.Errorf("Marshal = %s, %v, want %s", text, err, want)
	}
	var again outer
	if err := setting.Unmarshal(&again, text); err != nil || again != o {
		t.Errorf("Unmarshal = %+v, %v, want %+v", again, err, o)
	}
	if err := setting.Unmarshal(&again, []byte(`{"span": "3-4", "tick": null, "both": 4}`)); err != nil || again.Span.To != 4 || again.Power != 4 {
		t.Errorf("Unmarshal = %+v, %v", again, err)
	}
	for _, text := range []string{`{"speed": 1}`, `{"tick": 5}`, `[]`, `{`, `{"span": {"to": {}}}`} {
		if err := setting.Unmarshal(&again, []byte(text)); err == nil {
			t.Errorf("Unmarshal(%s) did not fail", text)
		}
	}
}

// FuzzWords checks that no text makes the parser panic.
func FuzzWords(f *testing.F) {
	f.Add("linux@1ms-twice rto-min=5ms +deep-switch")
	f.Fuzz(func(t *testing.T, text string) {
		_, changes, err := setting.Words(text, outer{})
		if err == nil {
			o := valid()
			_ = setting.Apply(&o, changes)
		}
	})
}

func Example() {
	type timers struct {
		Tick time.Duration `set:"tick" min:"1us" max:"500ms" help:"tick at which timers expire"`
		TLP  bool          `set:"tlp" help:"loss probes"`
	}
	name, changes, err := setting.Words("linux@10ms -tlp", timers{})
	t := timers{TLP: true}
	fmt.Println(name, changes, err, setting.Apply(&t, changes), t)
	fmt.Println(setting.Set(&t, "tick", "1s"))
	// Output:
	// linux [{tick 10ms} {tlp false}] <nil> <nil> {10ms false}
	// tick "1s", want a duration such as 20ms, 1us to 500ms
}
