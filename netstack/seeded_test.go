package netstack

import (
	"bytes"
	"slices"
	"sync"
	"testing"
)

// TestSeeded shares a source between goroutines: together they get its numbers, each once.
func TestSeeded(t *testing.T) {
	const each, readers = 100, 4
	want := make([]byte, readers*each)
	NewSeededSource(7).Read(want)
	shared := NewSeededSource(7)
	shared.Seed(8) // no effect
	parts := make([][]byte, readers)
	var all sync.WaitGroup
	for i := range parts {
		all.Go(func() {
			parts[i] = make([]byte, each)
			if n, err := shared.Read(parts[i]); n != each || err != nil {
				t.Errorf("read %d, %v, want %d", n, err, each)
			}
		})
	}
	all.Wait()
	got := slices.Concat(parts...)
	slices.Sort(got)
	other := make([]byte, len(want))
	NewSeededSource(8).Read(other)
	if bytes.Equal(other, want) {
		t.Error("two seeds give equal numbers")
	}
	slices.Sort(want)
	if !bytes.Equal(got, want) {
		t.Error("goroutines that share a source got other numbers than its seed's")
	}
}
