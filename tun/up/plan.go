package up

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"tcpwheel/netstack/sim"
)

// LinkPlan is an emulated link whose directions differ. A direction that is left out does nothing
// to packets.
type LinkPlan struct {
	FromStack sim.LinkConfig
	ToStack   sim.LinkConfig
	Seed      *uint64 // nil keeps Config.Seed
}

// maxPlan bounds a plan file in bytes. Loss models may be long lists.
const maxPlan = 16 << 20

// ReadPlan reads a plan file: a JSON object with from_stack and to_stack, each in the form of
// sim.LinkConfig, and seed.
//
//	{"from_stack": {"delay": "25ms", "loss": "packets:3,7-9"}, "to_stack": {"delay": "25ms", "rate": "100Mbit"}, "seed": 7}
//
// Its error names the file, the field, its value and the bound.
func ReadPlan(name string) (*LinkPlan, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPlan+1))
	if err == nil && len(text) > maxPlan {
		err = fmt.Errorf("longer than %d bytes", maxPlan)
	}
	if err != nil {
		return nil, fmt.Errorf("plan %s: %w", name, err)
	}
	p, err := parsePlan(text)
	if err != nil {
		return nil, fmt.Errorf("plan %s: %w", name, err)
	}
	return p, nil
}

// parsePlan reads the content of a plan file.
func parsePlan(text []byte) (*LinkPlan, error) {
	var raw struct {
		FromStack json.RawMessage `json:"from_stack"`
		ToStack   json.RawMessage `json:"to_stack"`
		Seed      *uint64         `json:"seed"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(&raw)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("more than one JSON value, want one")
		}
	}
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		err = fmt.Errorf("line %d: %w", 1+bytes.Count(text[:syntax.Offset], []byte("\n")), err)
	}
	if err != nil {
		return nil, err
	}
	p := &LinkPlan{Seed: raw.Seed}
	for _, way := range []struct {
		name string
		text json.RawMessage
		to   *sim.LinkConfig
	}{{"from_stack", raw.FromStack, &p.FromStack}, {"to_stack", raw.ToStack, &p.ToStack}} {
		if len(way.text) == 0 || string(way.text) == "null" {
			continue
		}
		if *way.to, err = sim.ParseLinkConfig(way.text); err != nil {
			return nil, fmt.Errorf("%s: %w", way.name, err)
		}
	}
	return p, nil
}
