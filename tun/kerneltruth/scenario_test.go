package kerneltruth

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestScenariosThatCannotBe(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`{}`, "cannot unmarshal"},
		{`[{"name": "x", "near": {}}]`, `scenario "x": no turn, want at least one`},
		{`[{"near": {}, "turns": [{"from": "c", "bytes": 1}]}]`, `turn 0 from "c", want a or b`},
		{`[{"near": {}, "turns": [{"from": "a"}]}]`, "turn 0 of 0 bytes, want 1 to"},
		{`[{"near": {}, "turns": [{"from": "a", "bytes": 1, "times": -1}]}]`, "a number below 0"},
		{`[{"near": {}, "turns": [{"from": "a", "bytes": 1, "pause": "1"}]}]`, `"1", want a duration of 0s or more with a unit`},
		{`[{"near": {}, "connections": 2000, "turns": [{"from": "a", "bytes": 1}]}]`, "2000 connections, want at most 1000"},
		{`[{"near": {}, "rounds": -1, "turns": [{"from": "a", "bytes": 1}]}]`, "-1 rounds"},
		{`[{"near": {}, "what": 1}]`, `unknown field "what"`},
		{`[{"near": {"a_to_b": {"delay": "-1s"}}, "turns": [{"from": "a", "bytes": 1}]}]`, `delay "-1s", want a duration`},
	} {
		if _, err := ParseScenarios([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.text, err, test.want)
		}
	}
}

// TestRandomScenarios: each scenario passes Check, is the same for the same seed, and survives
// JSON.
func TestRandomScenarios(t *testing.T) {
	names := map[string]bool{}
	for seed := range uint64(500) {
		s := Random(seed)
		if err := s.Check(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if names[s.Name] || !reflect.DeepEqual(s, Random(seed)) {
			t.Fatalf("seed %d is not one scenario: %v", seed, s)
		}
		names[s.Name] = true
		text, err := json.Marshal([]Scenario{s})
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseScenarios(text)
		if err != nil || len(again) != 1 || again[0].Name != s.Name || !reflect.DeepEqual(again[0].Turns, s.Turns) {
			t.Fatalf("%s: %v, %v", text, again, err)
		}
	}
}
