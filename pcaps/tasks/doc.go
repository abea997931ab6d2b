// Package tasks does numbered tasks several at a time: the captures of a corpus, the cells of
// studies.
//
//	err := tasks.Each(ctx, len(files), workers, func(ctx context.Context, i int) error {
//		sums[i], err = read(ctx, files[i])
//		…
//	})
//
// Results that do not depend on the number of workers go to a place of their own for each task.
package tasks
