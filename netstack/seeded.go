package netstack

import (
	"math/rand"
	"sync"
)

// SeededSource is a source of numbers for stack.Options.RandSource and SecureRNG in virtual time: its numbers are always
// those of its seed. Anybody can foresee them, so it is for nothing else. Multiple goroutines may invoke its methods.
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

// Seed implements rand.Source, and does nothing: who shares it must not begin anew.
func (*SeededSource) Seed(int64) {}

// Read implements io.Reader, and fills b. It spends one number on each octet.
func (r *SeededSource) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(r.Int63())
	}
	return len(b), nil
}
