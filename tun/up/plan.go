package up

import (
	"fmt"
	"io"
	"os"

	"tcpwheel/netstack/sim"
	"tcpwheel/tun"
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

// ReadPlan reads a plan file: a JSON object as tun.ParseLinks reads it, with from_stack and to_stack.
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
	links, seed, err := tun.ParseLinks(text, [2]string{"from_stack", "to_stack"})
	return &LinkPlan{links[0], links[1], seed}, err
}
