package up

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// duplex is a connection whose directions end separately.
type duplex interface {
	net.Conn
	io.ReaderFrom // package net/http uses it
	CloseWrite() error
	SetLinger(sec int) error

	// AwaitReset returns, after the peer's stream has ended, an error when the connection is reset, or
	// nil when it is closed here.
	AwaitReset() error
}

// splice copies between two connections in both directions: bytes, the ends of streams, and resets.
// It returns when both are closed. passed counts the bytes from a and from b.
func splice(a, b duplex, passed *[2]atomic.Uint64) {
	var (
		wait  sync.WaitGroup
		ended atomic.Int32 // streams
		over  sync.Once
	)
	finish := func(reset bool) {
		over.Do(func() {
			for _, c := range []duplex{a, b} {
				if reset {
					_ = c.SetLinger(0)
				}
				c.Close()
			}
		})
	}
	half := func(from, to duplex, n *atomic.Uint64) {
		err := pump(to, from, n)
		if err == nil {
			err = to.CloseWrite()
		}
		if err == nil && ended.Add(1) == 2 {
			finish(false)
			return
		}
		if err == nil {
			err = from.AwaitReset()
		}
		if err != nil {
			finish(true)
		}
	}
	wait.Go(func() { half(a, b, &passed[0]) })
	half(b, a, &passed[1])
	wait.Wait()
}

// A connection holds a small buffer while it waits, and a large one while more arrives than the
// small one holds.
var (
	smallBuffers = sync.Pool{New: func() any { return new([2 << 10]byte) }}
	largeBuffers = sync.Pool{New: func() any { return new([128 << 10]byte) }}
)

// pump copies from one connection to another until the end of its stream.
func pump(to io.Writer, from io.Reader, n *atomic.Uint64) error {
	small := smallBuffers.Get().(*[2 << 10]byte)
	defer smallBuffers.Put(small)
	var large *[128 << 10]byte
	defer func() {
		if large != nil {
			largeBuffers.Put(large)
		}
	}()
	buf := small[:]
	for {
		m, err := from.Read(buf)
		if m > 0 {
			if _, err := to.Write(buf[:m]); err != nil {
				return err
			}
			n.Add(uint64(m))
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case large == nil && m == len(small):
			large = largeBuffers.Get().(*[128 << 10]byte)
			buf = large[:]
		case large != nil && m < len(small):
			largeBuffers.Put(large)
			large, buf = nil, small[:]
		}
	}
}
