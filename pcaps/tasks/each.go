package tasks

import (
	"context"
	"sync"
	"sync/atomic"
)

// Each calls do for the tasks 0 to n-1, in this order, so many at a time, and returns the first
// error. After an error, or the end of ctx, it starts no further task.
func Each(ctx context.Context, n, workers int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		wait sync.WaitGroup
		next atomic.Int64
	)
	for range max(1, min(workers, n)) {
		wait.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := do(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}
