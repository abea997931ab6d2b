package tun

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"tcpwheel/netstack/sim"
)

// ParseLinks reads the models of the directions of a link from a JSON object with their names, or
// with both, each a sim.LinkConfig, and seed, which may be missing. A direction that is left out
// does nothing to packets. It checks the models, and rejects unknown fields.
func ParseLinks(text []byte, names [2]string) (links [2]sim.LinkConfig, seed *uint64, err error) {
	var fields map[string]json.RawMessage
	d := json.NewDecoder(bytes.NewReader(text))
	err = d.Decode(&fields)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("more than one JSON value, want one")
		}
	}
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		err = fmt.Errorf("line %d: %w", 1+bytes.Count(text[:syntax.Offset], []byte("\n")), err)
	}
	if err != nil {
		return links, nil, err
	}
	if fields["both"] != nil && (fields[names[0]] != nil || fields[names[1]] != nil) {
		return links, nil, fmt.Errorf("both, and %s or %s, want either", names[0], names[1])
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value, i := fields[name], slices.Index(names[:], name)
		switch {
		case name == "seed":
			err = json.Unmarshal(value, &seed)
		case i < 0 && name != "both":
			return links, nil, fmt.Errorf("unknown field %q, want %s, %s, both or seed", name, names[0], names[1])
		case string(value) == "null":
		case i < 0:
			links[0], err = sim.ParseLinkConfig(value)
			links[1] = links[0]
		default:
			links[i], err = sim.ParseLinkConfig(value)
		}
		if err != nil {
			return links, nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return links, seed, nil
}
