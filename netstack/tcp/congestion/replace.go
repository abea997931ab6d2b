package congestion

// standard is a controller of this package.
type standard interface{ common() *window }

func (w *window) common() *window { return w }

// Replace returns the named controller, as New does, in the place of old: with its window,
// threshold and recovery. It learns the path again, and events before the change cannot be undone.
// old must not be used again.
//
// It panics if old was not made by New.
func Replace(old Controller, name string, cfg Config) (Controller, error) {
	c, err := New(name, cfg)
	if err != nil {
		return nil, err
	}
	o, ok := old.(standard)
	if !ok {
		panic("BUG: congestion: Replace of a controller that New did not make")
	}
	w, was := c.(standard).common(), o.common()
	w.cwnd = min(max(was.cwnd, w.mss), w.maxCwnd)
	w.ssthresh, w.noEvents = was.ssthresh, was.noEvents
	w.afterTimeout, w.recovering = was.afterTimeout, was.recovering
	if c, ok := c.(*cubic); ok {
		c.cwndPrior = w.cwnd
	}
	return c, nil
}
