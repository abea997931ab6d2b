package corpus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"time"
)

// Retry says how often to repeat what a store or a connection failed at. The zero value is 8
// attempts, the first pause 200 ms long and each further one twice as long, at most 10 s.
type Retry struct {
	Attempts int           // without any progress
	Pause    time.Duration // the first one
}

const (
	defaultAttempts = 8
	defaultPause    = 200 * time.Millisecond
	longestPause    = 10 * time.Second
)

// permanent is an error that repeating does not mend.
type permanent struct{ err error }

// Permanent marks an error that repeating does not mend.
func Permanent(err error) error { return &permanent{err} }

// ErrChanged is the error of an object that is not the version that was listed.
var ErrChanged = errors.New("has changed since it was listed")

func (p *permanent) Error() string { return p.err.Error() }
func (p *permanent) Unwrap() error { return p.err }

// Do calls f until it succeeds, fails permanently, or has no attempt left.
func (r Retry) Do(ctx context.Context, f func() error) error {
	if r.Attempts == 0 {
		r.Attempts = defaultAttempts
	}
	pause := r.Pause
	if pause == 0 {
		pause = defaultPause
	}
	for try := 1; ; try++ {
		err := f()
		var (
			final *permanent
			local *fs.PathError
		)
		switch {
		case err == nil:
			return nil
		case errors.As(err, &local), errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist):
			return err // another attempt finds the same
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &final):
			return final.err // without its mark
		case try >= r.Attempts:
			return fmt.Errorf("%w (%d attempts)", err, try)
		}
		// Pauses differ, so that many machines do not come back at once.
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return ctx.Err()
		}
		pause = min(2*pause, longestPause)
	}
}

// StoreError is a failure to read an object that says nothing about its content: the store, the
// network or a permission. Another run may succeed.
type StoreError struct{ Err error }

// Error returns the reason.
func (e *StoreError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *StoreError) Unwrap() error { return e.Err }

// stream reads an object of a store, over as many connections as it takes.
type stream struct {
	ctx  context.Context
	o    *Object
	at   int64
	body io.ReadCloser // nil between two connections
	stop func()        // ends the connection
	err  error
}

// longestSilence is how long a connection may bring nothing. Then it counts as broken.
const longestSilence = time.Minute

func openStream(ctx context.Context, o *Object) (io.ReadCloser, error) {
	s := &stream{ctx: ctx, o: o}
	if err := o.retry.Do(ctx, s.connect); err != nil {
		return nil, &StoreError{fmt.Errorf("%s: %w", o.Name, err)}
	}
	return s, nil
}

// connect opens the rest of the object.
func (s *stream) connect() (err error) {
	ctx, stop := context.WithCancel(s.ctx)
	if s.body, err = s.o.store.Open(ctx, s.o.key, s.at, s.o.Tag); err != nil {
		stop()
		return err
	}
	s.stop = stop
	return nil
}

// Read reads on over a new connection when one breaks. Attempts count from the last byte that
// arrived.
func (s *stream) Read(b []byte) (n int, err error) {
	if s.err != nil || len(b) == 0 {
		return 0, s.err
	}
	err = s.o.retry.Do(s.ctx, func() (err error) {
		if s.body == nil {
			if err := s.connect(); err != nil {
				return err
			}
		}
		silence := time.AfterFunc(longestSilence, s.stop)
		n, err = s.body.Read(b)
		silence.Stop()
		if n > 0 || err == nil {
			return nil
		}
		if err == io.EOF && (s.o.Size < 0 || s.at == s.o.Size) {
			return &permanent{io.EOF}
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		s.disconnect()
		return err
	})
	s.at += int64(n)
	if err != nil && err != io.EOF {
		err = &StoreError{fmt.Errorf("%s: at byte %d of %d: %w", s.o.Name, s.at, s.o.Size, err)}
	}
	s.err = err
	return n, err
}

func (s *stream) disconnect() {
	if s.body != nil {
		s.stop()
		s.body.Close()
		s.body = nil
	}
}

// Close ends the connection.
func (s *stream) Close() error {
	s.err = fs.ErrClosed
	s.disconnect()
	return nil
}
