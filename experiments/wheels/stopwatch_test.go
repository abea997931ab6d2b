package wheels

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestRoundsAreInterleaved(t *testing.T) {
	order := ""
	pieces := []piece{{1, func() { order += "a" }}, {10, func() { order += "b" }}}
	ns, err := timeRounds(t.Context(), 3, pieces)
	if err != nil || order != "abababab" || len(ns) != 2 || len(ns[0]) != 3 || len(ns[1]) != 3 {
		t.Errorf("ran %s, rounds %v, %v: want one to warm up and three", order, ns, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := timeRounds(ctx, 3, pieces); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if got := fmt.Sprint(medians([][]float64{{3, 1, 2}})); got != "[{2 1 3}]" {
		t.Errorf("Medians = %s", got)
	}
}

func TestHeapBytes(t *testing.T) {
	before := heapBytes()
	held := make([]byte, 10<<20)
	if grown := heapBytes() - before; grown < 9<<20 || grown > 11<<20 {
		t.Errorf("the heap has grown by %d for %d", grown, len(held))
	}
	held[0] = 1
}
