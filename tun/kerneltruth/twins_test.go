package kerneltruth

import (
	"testing"

	"tcpwheel/netstack/sim"
)

// TestTwins: the settings' policies and the scenarios are valid, and differ.
func TestTwins(t *testing.T) {
	names := map[string]bool{}
	for _, s := range Settings() {
		if err := s.Policy.Check(); err != nil || names[s.Name] {
			t.Errorf("%s: %v, twice %v", s.Name, err, names[s.Name])
		}
		names[s.Name] = true
	}
	for seed := range uint64(50) {
		s := Twin(seed, sim.LostRanges{{From: 0, To: 1, Attempt: 1}})
		if err := s.Check(); err != nil {
			t.Error(err)
		}
	}
}
