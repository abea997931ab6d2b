package tail

import (
	"context"
	"fmt"
	"sync"
)

// Run measures all senders with all sizes of the response, one after another. It calls progress,
// unless nil, with the name of each. Its error is that of Config.Check, of the context, of package
// tun, which says what to do, or of a connection that failed.
func Run(ctx context.Context, c Config, progress func(string)) (results []Result, err error) {
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("tail: %w", err)
	}
	for _, segments := range c.Segments {
		for _, sender := range c.Senders {
			if progress != nil {
				progress(fmt.Sprintf("%s, %d segments", sender, segments))
			}
			r := Result{Sender: sender, Segments: segments, RTT: c.RTT, Count: c.Count, DelayAcks: c.DelayAcks,
				Virtual: c.Virtual}
			if err := c.measure(ctx, &r); err != nil {
				return results, fmt.Errorf("tail: %w", err)
			}
			results = append(results, r)
		}
	}
	return results, nil
}

// measure runs a sender and a size with losses and without, at the same time.
func (c *Config) measure(ctx context.Context, r *Result) error {
	var (
		watches [2]*watch
		errs    [2]error
		kernels map[uint16]Kernel
		all     sync.WaitGroup
	)
	if err := ctx.Err(); err != nil {
		return err
	}
	for i, control := range []bool{false, true} {
		all.Go(func() {
			var done outcome
			if c.Virtual {
				done, errs[i] = c.runVirtual(r.Sender, r.Segments, control)
			} else {
				done, errs[i] = c.runReal(ctx, r.Sender, r.Segments, control)
			}
			watches[i] = done.watch
			if !control {
				r.Causes, r.Control, kernels = done.causes, done.control, done.kernels
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil { // both runs mostly fail alike: report one error
			return fmt.Errorf("%s: %w", r.Sender, err)
		}
	}
	return r.fill(watches[0], watches[1], kernels)
}

// outcome is the result of one run.
type outcome struct {
	watch   *watch
	causes  Causes
	control string // congestion control of the sender
	kernels map[uint16]Kernel
}
