package up

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestReadPlan(t *testing.T) {
	name := filepath.Join(t.TempDir(), "plan.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"from_stack": {"delay": "25ms", "loss": "packets:3,7-9"}, "seed": 7}`)
	p, err := ReadPlan(name)
	if err != nil || p.FromStack.Delay != 25*time.Millisecond || p.FromStack.Loss.String() != "packets:3,7-9" ||
		p.ToStack.Delay != 0 || p.Seed == nil || *p.Seed != 7 {
		t.Errorf("ReadPlan = %+v, %v", p, err)
	}
	for text, want := range map[string]string{
		"":                               "EOF",
		"{":                              "unexpected EOF",
		"[]":                             "cannot unmarshal array into Go value",
		"{}{}":                           "more than one JSON value",
		"{\n\n,}":                        "line 3: invalid character ','",
		`{"to":1}`:                       `unknown field "to"`,
		`{"to_stack":{"delai":"1s"}}`:    `to_stack: sim: link: setting "delai", want one of corrupt, delay, `,
		`{"to_stack":{"delay":"-1ms"}}`:  `to_stack: sim: link: delay "-1ms", want a duration such as 20ms, 0s to 24h`,
		`{"to_stack":{"delay":25}}`:      `to_stack: sim: link: delay "25", want a duration such as 20ms, 0s to 24h`,
		`{"to_stack":{"delay":"25"}}`:    `to_stack: sim: link: delay "25", want a duration such as 20ms, 0s to 24h`,
		`{"from_stack":{"rate":"fast"}}`: `from_stack: sim: link: rate "fast", want none, or whole bit/s from 1 to 1e15`,
		`{"from_stack":{"queue":{"packets":-1}}}`:            `from_stack: sim: link: queue.packets "-1", want a whole number`,
		`{"from_stack":{"reorder":{"probability":2}}}`:       `from_stack: sim: link: reorder.probability "2", want a probability such as 0.02 or 2%, 0 to 1`,
		`{"from_stack":{"loss":"lost"}}`:                     `from_stack: sim: link: loss "lost", want none, a probability`,
		`{"seed":-1}`:                                        "seed: json: cannot unmarshal number -1 into Go value of type uint64",
		"{\"seed\": 1 " + strings.Repeat(" ", maxPlan) + "}": "longer than 16777216 bytes",
	} {
		write(text)
		_, err := ReadPlan(name)
		if err == nil || !strings.HasPrefix(err.Error(), "plan "+name+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want plan %s: %s", text, err, name, want)
		}
	}
	if _, err := ReadPlan(name + ".not"); err == nil || !strings.Contains(err.Error(), "plan: open "+name+".not") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// FuzzParsePlan: any text is either rejected or read as valid links.
func FuzzParsePlan(f *testing.F) {
	f.Add([]byte(`{"from_stack": {"delay": "25ms", "loss": "packets:3,7-9"}, "to_stack": {"rate": 100000000}, "seed": 7}`))
	f.Add([]byte(`{"to_stack": null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := parsePlan(text)
		if err != nil {
			return
		}
		if err := p.FromStack.Check(); err != nil {
			t.Error(err)
		}
		if err := p.ToStack.Check(); err != nil {
			t.Error(err)
		}
	})
}
