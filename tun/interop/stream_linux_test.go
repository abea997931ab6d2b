package interop

import (
	"bytes"
	"fmt"
	"io"
	"math/rand"
	"testing"
)

// The octet at offset i of each stream is pattern[i % period]. The period is a prime, so that no segment, chunk or window of
// a common size looks like another.
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

// send writes n octets of the pattern.
func send(c conn, n int) error {
	for at := 0; at < n; {
		k := min(n-at, piece)
		m, err := c.Write(pattern[at%period:][:k])
		if at += m; err != nil {
			return fmt.Errorf("write, after %d of %d octets: %w", at, n, err)
		}
	}
	return nil
}

// receive reads n octets, and compares each.
func receive(c conn, n int) error { return receiveFrom(c, 0, n) }

// receiveFrom is receive for the octets from offset at on.
func receiveFrom(c conn, at, n int) error {
	buf := make([]byte, min(n-at, piece))
	for at < n {
		m, err := c.Read(buf[:min(n-at, len(buf))])
		if !bytes.Equal(buf[:m], pattern[at%period:][:m]) {
			return fmt.Errorf("read: other octets between %d and %d than were written", at, at+m)
		}
		if at += m; err != nil {
			return fmt.Errorf("read, after %d of %d octets: %w", at, n, err)
		}
	}
	return nil
}

// receiveEnd wants n octets and the end of the stream.
func receiveEnd(c conn, n int) error {
	if err := receive(c, n); err != nil {
		return err
	}
	if m, err := c.Read(make([]byte, 1)); m != 0 || err != io.EOF {
		return fmt.Errorf("read %d octets more than %d, %v, want the end", m, n, err)
	}
	return nil
}

// transfer sends n octets from one end to the other.
func transfer(t *testing.T, from, to conn, n int) {
	t.Helper()
	sent := make(chan error, 1)
	go func() { sent <- send(from, n) }()
	got := receive(to, n)
	if got != nil {
		to.Close() // ends the sender
	}
	if err := <-sent; err != nil || got != nil {
		t.Fatalf("sent: %v; received: %v", err, got)
	}
}

// exchange sends n octets in both directions at once, and the ends of both streams.
func exchange(t *testing.T, a, b conn, n int) {
	t.Helper()
	if err := tryExchange(a, b, n); err != nil {
		t.Fatal(err)
	}
}

func tryExchange(a, b conn, n int) error {
	done := make(chan error, 4)
	for i, ends := range [2][2]conn{{a, b}, {b, a}} {
		report := func(what string, err error) {
			if err != nil {
				err = fmt.Errorf("direction %d: %s: %w", i, what, err)
			}
			done <- err
		}
		go func() {
			err := send(ends[0], n)
			if err == nil {
				err = ends[0].CloseWrite()
			}
			report("sender", err)
		}()
		go func() { report("receiver", receiveEnd(ends[1], n)) }()
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
