package corpus

import (
	"context"
	"errors"
	"io"
	"strings"
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
			t.Errorf("object %d: %d times", i, seen[i].Load())
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
		t.Errorf("%v after %d objects", err, begun.Load())
	}
	if err := Each(t.Context(), 0, 4, nil); err != nil {
		t.Errorf("no objects: %v", err)
	}
}

func TestProgress(t *testing.T) {
	var p Progress
	p.Start([]Object{{Size: 100}, {Size: -1}})
	if _, err := io.Copy(io.Discard, p.Count(strings.NewReader("12345"))); err != nil {
		t.Fatal(err)
	}
	p.Done()
	if objects, of, bytes, ofBytes, since := p.Now(); objects != 1 || of != 2 || bytes != 5 || ofBytes != 100 || since < 0 {
		t.Errorf("%d of %d, %d of %d, %v", objects, of, bytes, ofBytes, since)
	}
}
