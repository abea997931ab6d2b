package testbed

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestRoundsAreInterleaved(t *testing.T) {
	order := ""
	add := func(name string, ops int) Piece {
		return func() int { order += name; return ops }
	}
	pieces := []Piece{add("a", 1), add("b", 10)}
	ns, err := TimeRounds(t.Context(), 3, pieces)
	if err != nil || order != "abababab" || len(ns) != 2 || len(ns[0]) != 3 || len(ns[1]) != 3 {
		t.Errorf("ran %s, rounds %v, %v: want one to warm up and three", order, ns, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := TimeRounds(ctx, 3, pieces); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if got := fmt.Sprint(MedianOf([]float64{3, 1, 2})); got != "{2 1 3}" {
		t.Errorf("MedianOf = %s", got)
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
