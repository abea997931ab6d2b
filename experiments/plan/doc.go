// Package plan reads the plans of studies: YAML files whose keys are the fields of a Go struct, read strictly.
//
// # Usage
//
//	f, err := plan.Parse("my-plan.yaml", text)
//	p := defaults
//	err = f.Decode(&p, false)
//
// # What a plan is
//
// A plan is a mapping. The key "study" names the study that it is for. "quick" is a mapping with the same keys, whose values
// stand in place of the others in a quick run. All other keys are fields of the study's plan:
//
//	type Plan struct {
//		Policies []string      `plan:"policies" oneof:"bsd rfc6298 per-segment"`
//		RTT      time.Duration `plan:"rtt" min:"1us" max:"10s"`
//		Seeds    int           `plan:"seeds" min:"1" max:"10000"`
//	}
//
// A field without the tag is not part of the plan. Bounds are inclusive, and hold for each element of a list, as does
// power:"two", by which whole numbers are powers of two. A single value may stand for a list of one; a list may not be
// empty unless its field is tagged optional:"true", and its elements rise if it is tagged order:"rising". Durations are
// text such as "20ms", whole numbers may be written 1_000_000 or 1e6. A number tagged unit:"rate" may have a unit as in
// "100Mbit", unit:"size" as in "64KiB", and unit:"probability" a percent sign. Package netstack/sim has the parsers. Types with
// UnmarshalText may say what they allow by a method Allowed() string.
//
// # Errors
//
// A wrong plan gives an error that names file, line, key, value and what is allowed; all of them, not only the first.
// Aliases, anchors and several documents in a file are refused, so that a plan is what it looks like, and no file can grow.
package plan
