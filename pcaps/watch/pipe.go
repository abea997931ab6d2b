package watch

import (
	"context"
	"errors"
	"io"
	"time"

	"tcpwheel/pcaps/capture"
)

// Pipe reads a capture that another program writes, and passes it to w until it ends or ctx does.
// Time goes on while the pipe is silent. A read in progress keeps r after ctx has ended. Errors are
// those of package capture.
func Pipe(ctx context.Context, w *Watcher, r io.Reader, name string) error {
	ended := make(chan error, 1)
	go func() { ended <- w.readAll(ctx, r, name) }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	seen, at := int64(-1), time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			if ctx.Err() != nil || errors.Is(err, io.EOF) {
				return nil
			}
			return err
		case now := <-tick.C:
			w.mu.Lock()
			packets, last := w.packets, w.now
			w.mu.Unlock()
			if packets == seen && packets > 0 {
				w.Advance(last.Add(now.Sub(at)))
			} else if packets > 0 {
				w.Advance(last)
			}
			seen, at = packets, now
		}
	}
}

// readAll reads until the end, and returns what ended it.
func (w *Watcher) readAll(ctx context.Context, in io.Reader, name string) error {
	r, err := capture.NewReader(in, name)
	if err != nil {
		return err
	}
	defer r.Close()
	r.OnICMPError(func(e capture.ICMPError) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.icmpError(e)
	})
	defer context.AfterFunc(ctx, r.Stop)()
	for {
		p, err := r.Next()
		if err != nil {
			w.mu.Lock()
			w.drops.n += r.Stats().Dropped // the file does not say when
			w.mu.Unlock()
			return err
		}
		f := capture.Frame{Time: p.Time, Direction: p.Direction}
		f.Data, f.Length, f.LinkType = r.Frame()
		w.mu.Lock()
		if !w.closed {
			w.packet(p, &f)
		}
		w.mu.Unlock()
	}
}
