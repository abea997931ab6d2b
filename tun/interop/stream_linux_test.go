package interop

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"testing"
	"time"
)

// Byte i of each stream is pattern[i % period]. The period is a prime, so that no two segments,
// chunks or windows of a common size are equal.
const (
	period = 1<<20 - 3
	piece  = 256 << 10
)

var pattern = func() []byte {
	b := make([]byte, period+piece)
	rand.New(rand.NewSource(1)).Read(b[:period])
	copy(b[period:], b)
	return b
}()

// stall is the error of an end that made no progress before its deadline.
type stall struct {
	c     conn
	write bool
	error
}

func (s *stall) Unwrap() error { return s.error }

// stopped reports whether the error is gVisor's sender's, which sometimes stops for ever after a
// loss, even towards itself.
func (n *network) stopped(err error) bool {
	var s *stall
	if !n.hasGVisor() || !errors.As(err, &s) {
		return false
	}
	_, us := isOurs(s.c)
	return us != s.write
}

// check fails the test on an error.
func (n *network) check(t *testing.T, err error) {
	t.Helper()
	if n.stopped(err) {
		t.Skipf("gVisor's sender has stopped: %v", err)
	}
	must(t, err)
}

// send writes n bytes of the pattern.
func send(c conn, n int) error {
	for at := 0; at < n; {
		k := min(n-at, piece)
		m, err := c.Write(pattern[at%period:][:k])
		if at += m; err != nil {
			err = fmt.Errorf("write, after %d of %d bytes: %w", at, n, err)
			if isTimeout(err) {
				err = &stall{c, true, err}
			}
			return err
		}
	}
	return nil
}

// receive reads n bytes and compares each.
func receive(c conn, n int) error { return receiveFrom(c, 0, n) }

// receiveFrom is receive for the bytes from offset at on.
func receiveFrom(c conn, at, n int) error {
	buf := make([]byte, min(n-at, piece))
	for at < n {
		m, err := c.Read(buf[:min(n-at, len(buf))])
		if !bytes.Equal(buf[:m], pattern[at%period:][:m]) {
			return fmt.Errorf("read: bytes %d to %d differ from those written", at, at+m)
		}
		if at += m; err != nil {
			err = fmt.Errorf("read, after %d of %d bytes: %w", at, n, err)
			if isTimeout(err) {
				err = &stall{c, false, err}
			}
			return err
		}
	}
	return nil
}

// receiveEnd reads n bytes and the end of the stream.
func receiveEnd(c conn, n int) error {
	if err := receive(c, n); err != nil {
		return err
	}
	if m, err := c.Read(make([]byte, 1)); m != 0 || err != io.EOF {
		return fmt.Errorf("read %d bytes more than %d, %v, want the end", m, n, err)
	}
	return nil
}

// transfer sends size bytes from one end to the other.
func (n *network) transfer(t *testing.T, from, to conn, size int) {
	t.Helper()
	n.check(t, oneWay(from, to, size, 0))
}

// oneWay sends size bytes to a reader that pauses before the second half.
func oneWay(from, to conn, size int, pause time.Duration) error {
	sent := make(chan error, 1)
	go func() { sent <- send(from, size) }()
	half := size / 2
	err := receive(to, half)
	if err == nil {
		time.Sleep(pause)
		err = receiveFrom(to, half, size)
	}
	if err != nil {
		to.Close() // ends the sender
	}
	if e := <-sent; err == nil {
		err = e
	}
	return err
}

// exchange sends size bytes in both directions at once, and ends both streams.
func (n *network) exchange(t *testing.T, a, b conn, size int) {
	t.Helper()
	n.check(t, tryExchange(a, b, size))
}

func tryExchange(a, b conn, size int) error {
	done := make(chan error, 4)
	for i, ends := range [2][2]conn{{a, b}, {b, a}} {
		report := func(what string, err error) {
			if err != nil {
				err = fmt.Errorf("direction %d: %s: %w", i, what, err)
			}
			done <- err
		}
		go func() {
			err := send(ends[0], size)
			if err == nil {
				err = ends[0].CloseWrite()
			}
			report("sender", err)
		}()
		go func() { report("receiver", receiveEnd(ends[1], size)) }()
	}
	var first error
	for range 4 {
		if err := <-done; err != nil && first == nil {
			first = err
			a.Close()
			b.Close()
		}
	}
	return first
}
