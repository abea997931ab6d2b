package stopwatch

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestRoundsAreInterleaved(t *testing.T) {
	order := ""
	pieces := []Piece{{1, func() { order += "a" }}, {10, func() { order += "b" }}}
	ns, err := Time(t.Context(), 3, pieces)
	if err != nil || order != "abababab" || len(ns) != 2 || len(ns[0]) != 3 || len(ns[1]) != 3 {
		t.Errorf("ran %s, rounds %v, %v: want one to warm up and three", order, ns, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Time(ctx, 3, pieces); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if got := fmt.Sprint(Medians([][]float64{{3, 1, 2}})); got != "[{2 1 3}]" {
		t.Errorf("Medians = %s", got)
	}
}

func TestHeapBytes(t *testing.T) {
	before := HeapBytes()
	held := make([]byte, 10<<20)
	if grown := HeapBytes() - before; grown < 9<<20 || grown > 11<<20 {
		t.Errorf("the heap has grown by %d for %d", grown, len(held))
	}
	held[0] = 1
}
