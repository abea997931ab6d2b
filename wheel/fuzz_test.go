package wheel

import (
	"math/rand"
	"testing"
)

// FuzzTwin plays scripts on a facility and its twin. The first byte selects the scheme, the
// second the mode, the next six the configuration. The rest is the script.
func FuzzTwin(f *testing.F) {
	for i := range Schemes() {
		for mode := range 2 {
			seed := []byte{byte(i), byte(mode)}
			rng := rand.New(rand.NewSource(int64(i)))
			script := make([]byte, 200)
			rng.Read(script)
			f.Add(append(seed, script...))
		}
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		if len(bytes) < 8 {
			return
		}
		scheme := Schemes()[int(bytes[0])%len(Schemes())]
		cfg, rest := decodeConfig(bytes[2:])
		cfg.Lazy = bytes[1]%2 == 1
		onItsClock(t, scheme, func(t *testing.T) {
			if err := playTwice(scheme, cfg, rest[:min(len(rest), 2000)]); err != nil {
				t.Fatal(err)
			}
		})
	})
}
