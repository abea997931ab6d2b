package netstack

import (
	"math/rand"
	"sync"
)

// SeededSource generates reproducible numbers from a seed, for stack.Options.RandSource and
// SecureRNG in virtual time. They are predictable: do not use it elsewhere. Multiple goroutines may
// invoke its methods.
type SeededSource struct {
	mu  sync.Mutex
	src rand.Source
}

// NewSeededSource makes a source.
func NewSeededSource(seed int64) *SeededSource { return &SeededSource{src: rand.NewSource(seed)} }

// Int63 implements rand.Source.
func (r *SeededSource) Int63() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.src.Int63()
}

// Seed implements rand.Source. It does nothing, as the source is shared.
func (*SeededSource) Seed(int64) {}

// Read implements io.Reader. It fills b and uses one number per byte.
func (r *SeededSource) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(r.Int63())
	}
	return len(b), nil
}
