package wheel

import (
	"math/rand"
	"testing"
)

// TestSchemesAgreeWithTheTwin plays random scripts, always the same ones, on every scheme, eager and lazy.
func TestSchemesAgreeWithTheTwin(t *testing.T) {
	scripts := 300
	if testing.Short() {
		scripts = 100
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
