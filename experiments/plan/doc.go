// Package plan reads plans of studies: YAML files whose keys are the fields of a Go struct.
//
// # Usage
//
//	f, err := plan.Parse("my-plan.yaml", text)
//	p := defaults
//	err = f.Decode(&p, false)
//
// # Plans
//
// A plan is a mapping. The key "study" names its study. "quick" is a mapping with the same keys;
// its values replace the others in a quick run. All other keys are fields of the study's plan:
//
//	type Plan struct {
//		Policies []string      `plan:"policies" oneof:"bsd rfc6298 per-segment"`
//		RTT      time.Duration `plan:"rtt" min:"1us" max:"10s"`
//		Seeds    int           `plan:"seeds" min:"1" max:"10000"`
//	}
//
// A field without the tag is not part of the plan. The other tags and the syntax of values are
// those of package setting, and hold for each element of a list. A single value is a list of one. A
// list may be empty only with optional:"true", and must rise with order:"rising". Keys lists what
// the tags say.
//
// # Errors
//
// The error for a wrong plan lists all faults, with file, line, key, value and what is accepted.
// Plan refuses aliases, anchors and several documents in a file, so no file can grow when it is
// read.
package plan
