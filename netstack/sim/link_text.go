package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"tcpwheel/wheel/base/quantity"
)

// linkFields sets a field of a LinkConfig from text, by its name in JSON. Fields of nested objects
// have a dot.
var linkFields = map[string]func(c *LinkConfig, text string) error{
	"rate":                setLinkRate,
	"overhead":            linkField(parseUint32, func(c *LinkConfig) *uint32 { return &c.Overhead }),
	"queue":               linkField(parseLimit, func(c *LinkConfig) *Limit { return &c.Queue }),
	"queue.packets":       linkField(parseUint32, func(c *LinkConfig) *uint32 { return &c.Queue.Packets }),
	"queue.bytes":         linkField(parseBytes, func(c *LinkConfig) *uint64 { return &c.Queue.Bytes }),
	"mark":                linkField(parseLimit, func(c *LinkConfig) *Limit { return &c.Mark }),
	"mark.packets":        linkField(parseUint32, func(c *LinkConfig) *uint32 { return &c.Mark.Packets }),
	"mark.bytes":          linkField(parseBytes, func(c *LinkConfig) *uint64 { return &c.Mark.Bytes }),
	"delay":               linkField(quantity.ParseDuration, func(c *LinkConfig) *time.Duration { return &c.Delay }),
	"jitter":              linkField(quantity.ParseDuration, func(c *LinkConfig) *time.Duration { return &c.Jitter.Amount }),
	"jitter.amount":       linkField(quantity.ParseDuration, func(c *LinkConfig) *time.Duration { return &c.Jitter.Amount }),
	"jitter.normal":       linkField(parseBool, func(c *LinkConfig) *bool { return &c.Jitter.Normal }),
	"jitter.overtake":     linkField(parseBool, func(c *LinkConfig) *bool { return &c.Jitter.Overtake }),
	"jitter.hold":         linkField(quantity.ParseDuration, func(c *LinkConfig) *time.Duration { return &c.Jitter.Hold }),
	"loss":                linkField(ParseLosses, func(c *LinkConfig) *Losses { return &c.Loss }),
	"reorder":             linkField(quantity.ParseProbability, func(c *LinkConfig) *float64 { return &c.Reorder.Probability }),
	"reorder.probability": linkField(quantity.ParseProbability, func(c *LinkConfig) *float64 { return &c.Reorder.Probability }),
	"reorder.gap":         linkField(parseUint32, func(c *LinkConfig) *uint32 { return &c.Reorder.Gap }),
	"reorder.extra":       linkField(quantity.ParseDuration, func(c *LinkConfig) *time.Duration { return &c.Reorder.Extra }),
	"duplicate":           linkField(quantity.ParseProbability, func(c *LinkConfig) *float64 { return &c.Duplicate }),
	"corrupt":             linkField(quantity.ParseProbability, func(c *LinkConfig) *float64 { return &c.Corrupt }),
}

func linkField[T any](parse func(string) (T, error), at func(*LinkConfig) *T) func(*LinkConfig, string) error {
	return func(c *LinkConfig, text string) error {
		v, err := parse(text)
		if err == nil {
			*at(c) = v
		}
		return err
	}
}

func setLinkRate(c *LinkConfig, text string) error {
	r, err := ParseLinkRate(text)
	if err == nil {
		c.Rate, c.Trace = uint64(r.Fixed), r.Trace
	}
	return err
}

func parseBytes(text string) (uint64, error) {
	n, err := quantity.ParseSize(text)
	return uint64(n), err
}

func parseUint32(text string) (uint32, error) {
	n, err := quantity.ParseCount(text)
	if err != nil || n > math.MaxUint32 {
		return 0, fmt.Errorf("%q, want a whole number from 0 to %d, such as 100 or 1e3", text, uint32(math.MaxUint32))
	}
	return uint32(n), nil
}

func parseBool(text string) (bool, error) {
	if text != "true" && text != "false" {
		return false, fmt.Errorf("%q, want true or false", text)
	}
	return text == "true", nil
}

// parseLimit reads a limit in packets ("100") or in bytes ("64KiB").
func parseLimit(text string) (Limit, error) {
	if n, err := parseUint32(text); err == nil {
		return Limit{Packets: n}, nil
	}
	n, err := quantity.ParseSize(text)
	if err != nil || strings.Trim(text, "0123456789_.eE+-") == "" {
		return Limit{}, fmt.Errorf("%q, want packets such as 100, or bytes such as 64KiB", text)
	}
	return Limit{Bytes: uint64(n)}, nil
}

// Set sets the field with that JSON name: "delay", "25ms". Fields of nested objects have a dot:
// "jitter.hold". Short names: "jitter" sets the amount, "reorder" the probability, "queue" and
// "mark" a number of packets, or of bytes if text has a unit. Set does not call Check, and never
// panics.
func (c *LinkConfig) Set(name, text string) error {
	set := linkFields[name]
	if set == nil {
		return fmt.Errorf("field %q, want one of %s", name, strings.Join(slices.Sorted(maps.Keys(linkFields)), ", "))
	}
	if err := set(c, text); err != nil {
		return fmt.Errorf("%s %w", name, err)
	}
	return nil
}

// linkJSON is the JSON form of LinkConfig, for writing.
type linkJSON struct {
	Rate      any                   `json:"rate,omitempty"` // a number, or the text of a trace
	Overhead  uint32                `json:"overhead,omitempty"`
	Queue     Limit                 `json:"queue,omitzero"`
	Mark      Limit                 `json:"mark,omitzero"`
	Delay     quantity.DurationText `json:"delay,omitempty"`
	Jitter    jitterJSON            `json:"jitter,omitzero"`
	Loss      Losses                `json:"loss,omitempty"`
	Reorder   reorderJSON           `json:"reorder,omitzero"`
	Duplicate float64               `json:"duplicate,omitempty"`
	Corrupt   float64               `json:"corrupt,omitempty"`
}

type jitterJSON struct {
	Amount   quantity.DurationText `json:"amount"`
	Normal   bool                  `json:"normal,omitempty"`
	Overtake bool                  `json:"overtake,omitempty"`
	Hold     quantity.DurationText `json:"hold,omitempty"`
}

type reorderJSON struct {
	Probability float64               `json:"probability"`
	Gap         uint32                `json:"gap,omitempty"`
	Extra       quantity.DurationText `json:"extra,omitempty"`
}

// MarshalJSON writes c without its zero fields.
func (c LinkConfig) MarshalJSON() ([]byte, error) {
	var rate any
	if c.Trace != nil {
		rate = LinkRate{Trace: c.Trace}.String()
	} else if c.Rate != 0 {
		rate = c.Rate
	}
	return json.Marshal(linkJSON{rate, c.Overhead, c.Queue, c.Mark, quantity.DurationText(c.Delay),
		jitterJSON{quantity.DurationText(c.Jitter.Amount), c.Jitter.Normal, c.Jitter.Overtake, quantity.DurationText(c.Jitter.Hold)}, c.Loss,
		reorderJSON{c.Reorder.Probability, c.Reorder.Gap, quantity.DurationText(c.Reorder.Extra)}, c.Duplicate, c.Corrupt})
}

// UnmarshalJSON reads what MarshalJSON writes. Each field may also be any text or number that Set
// takes: {"rate": "100Mbit", "jitter": "1ms", "loss": "2%"}. It refuses unknown fields, does not
// call Check, and never panics.
func (c *LinkConfig) UnmarshalJSON(text []byte) error {
	*c = LinkConfig{}
	if err := c.setObject("", text); err != nil {
		return fmt.Errorf("sim: link: %w", err)
	}
	return nil
}

// setObject sets the fields of a JSON object. It puts prefix before their names.
func (c *LinkConfig) setObject(prefix string, object []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(object, &fields); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		raw := bytes.TrimSpace(fields[name])
		var err error
		switch name = prefix + name; {
		case string(raw) == "null":
		case raw[0] == '{' && prefix == "":
			err = c.setObject(name+".", raw)
		case raw[0] == '"':
			var s string
			if err = json.Unmarshal(raw, &s); err == nil {
				err = c.Set(name, s)
			}
		default:
			err = c.Set(name, string(raw))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ParseLinkConfig reads a LinkConfig from JSON and checks it.
func ParseLinkConfig(text []byte) (c LinkConfig, err error) {
	if err = c.UnmarshalJSON(text); err == nil {
		err = c.Check()
	}
	return c, err
}
