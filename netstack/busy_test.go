package netstack

import (
	"io"
	"runtime"
	"sync"
	"testing"
	"time"
)

// TestCloseWhileBusy closes connections, listeners and whole stacks at random times, under traffic
// and loss. TestMain finds what is left.
func TestCloseWhileBusy(t *testing.T) {
	for i := range 20 {
		n := newPair(t, pairConfig{loss: float64(i%3) / 100})
		l := n.listen(i%2 == 0)
		var wg sync.WaitGroup
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				wg.Add(1)
				go func() {
					defer wg.Done()
					io.Copy(c, c)
					c.Close()
				}()
			}
		}()
		for range 8 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				c, err := n.tryDial(i%2 == 0, 50*time.Millisecond)
				if err != nil {
					return
				}
				for _, f := range []func(){
					func() { c.Write(make([]byte, 1<<20)) },
					func() { io.Copy(io.Discard, c) },
					func() { time.Sleep(time.Duration(i) * time.Millisecond / 4); c.Close() },
				} {
					wg.Add(1)
					go func() { defer wg.Done(); f() }()
				}
			}()
		}
		time.Sleep(time.Duration(i) * time.Millisecond / 2)
		if s, ok := l.(interface{ Shutdown() }); ok {
			s.Shutdown()
		}
		l.Close()
		if i%4 == 0 || i%3 != 0 {
			// A RST may be lost too. Its peer then waits forever, as TCP does.
			n.b.stack.Destroy()
			n.a.stack.Destroy()
		}
		done := make(chan struct{})
		go func() { wg.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(2 * time.Minute):
			buf := make([]byte, 1<<20)
			t.Fatalf("a goroutine still waits after everything was closed:\n%s", buf[:runtime.Stack(buf, true)])
		}
	}
}
