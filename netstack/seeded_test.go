package netstack

import (
	"bytes"
	"slices"
	"sync"
	"testing"
)

// TestSeeded has goroutines share a source: together they get the numbers of its seed, each once.
func TestSeeded(t *testing.T) {
	const each, readers = 100, 4
	want := make([]byte, readers*each)
	NewSeededSource(7).Read(want)
	shared := NewSeededSource(7)
	shared.Seed(8) // changes nothing
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
		t.Error("another seed has the same numbers")
	}
	slices.Sort(want)
	if !bytes.Equal(got, want) {
		t.Error("who shares a source gets other numbers than those of its seed")
	}
}
