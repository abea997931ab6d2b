package tasks

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

func TestEach(t *testing.T) {
	var seen [50]atomic.Int32
	err := Each(t.Context(), len(seen), 4, func(_ context.Context, i int) error { seen[i].Add(1); return nil })
	if err != nil {
		t.Fatal(err)
	}
	for i := range seen {
		if seen[i].Load() != 1 {
			t.Errorf("task %d: %d times", i, seen[i].Load())
		}
	}
	full := errors.New("full")
	var begun atomic.Int32
	err = Each(t.Context(), 1000, 2, func(_ context.Context, i int) error {
		if begun.Add(1); i == 3 {
			return full
		}
		return nil
	})
	if err != full || begun.Load() == 1000 {
		t.Errorf("%v after %d tasks", err, begun.Load())
	}
	if err := Each(t.Context(), 0, 4, nil); err != nil {
		t.Errorf("no tasks: %v", err)
	}
}
