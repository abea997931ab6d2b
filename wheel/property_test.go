package wheel

import (
	"math/rand"
	"os"
	"testing"
)

// long is whether tests run in full: see CONTRIBUTING.md.
var long = os.Getenv("TCPWHEEL_LONG") != ""

// TestSchemesAgreeWithTheTwin plays random scripts, the same in every run, on every scheme, eager
// and lazy.
func TestSchemesAgreeWithTheTwin(t *testing.T) {
	scripts := 100
	if long {
		scripts = 300
	}
	for _, scheme := range Schemes() {
		for _, mode := range []string{"eager", "lazy"} {
			t.Run(scheme+"/"+mode, func(t *testing.T) {
				for seed := range scripts {
					rng := rand.New(rand.NewSource(int64(seed)))
					bytes := make([]byte, 50+rng.Intn(400))
					rng.Read(bytes)
					cfg, rest := decodeConfig(bytes)
					cfg.Lazy = mode == "lazy"
					onItsClock(t, scheme, func(t *testing.T) {
						if err := playTwice(scheme, cfg, rest); err != nil {
							t.Fatalf("script %d: %v", seed, err)
						}
					})
				}
			})
		}
	}
}
