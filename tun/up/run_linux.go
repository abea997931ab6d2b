package up

import (
	"context"
	"errors"
)

// Run runs a Host until the context ends, which is no error, even during start-up. The deletion of
// the device is an error, and so is a capture that cannot be written. Run calls ready when the Host
// is up, with its description. In the end it logs the Host's Summary.
func Run(ctx context.Context, c Config, ready func(string)) error {
	s, err := start(ctx, c)
	switch {
	case ctx.Err() != nil && err == nil:
		return s.end()
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil
	case err != nil:
		return err
	}
	if c.DropPrivileges {
		s.dropPrivileges()
	}
	ready(s.String())
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var memory idleMemory
	go every(ctx, idleAfter, func() {
		s.sayWhatIsScarce()
		n := s.device.Stats()
		memory.release(n.RxBytes + n.TxBytes)
	})
	for _, r := range s.forwards.report() {
		c.log("%s %s, which connects to %s", r.Kind, r.at(), r.To)
	}
	for _, line := range s.config.replaced() {
		s.config.log("%s", line)
	}
	var failed <-chan struct{}
	if s.capture != nil {
		failed = s.capture.queue.Failed()
	}
	select {
	case <-ctx.Done():
	case <-failed: // Close returns the error
	case <-s.device.Done():
		return errors.Join(s.device.Err(), s.end())
	}
	for _, line := range s.Summary() {
		s.config.log("%s", line)
	}
	return s.end()
}

// end closes the host and logs how many packets were captured.
func (s *Host) end() error {
	err := s.Close()
	if s.capture == nil || err != nil {
		return err
	}
	r := s.capture.report()
	if r.Dropped == 0 {
		s.config.log("captured %d packets", r.Packets)
	} else {
		s.config.log("captured %d packets, missed %d: the file is slower than the link", r.Packets, r.Dropped)
	}
	return nil
}
