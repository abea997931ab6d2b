package interop

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

// TestThousandsAtOnce has thousands of open connections, which all carry bytes in both directions
// and end. None has a goroutine of its own.
func TestThousandsAtOnce(t *testing.T) {
	conns := fewer(5000)
	var files syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files))
	if files.Cur < uint64(conns)+1000 {
		t.Skipf("a process may have %d files open here, want %d", files.Cur, conns+1000)
	}
	for _, who := range []pair{{kernel, ours}, {ours, kernel}, {ours, ours}} {
		t.Run(who.a+"-"+who.b, func(t *testing.T) {
			n := newNetwork(t, who, plan{})
			goroutines := runtime.NumGoroutine()
			a, b := n.connectMany(n.b.at(false, 80), conns)
			eventually(t, "no goroutine for each connection", func() bool { return runtime.NumGoroutine()-goroutines <= 50 })
			number := make([]byte, 4)
			for i, c := range a {
				binary.BigEndian.PutUint32(number, uint32(i))
				if _, err := c.Write(number); err != nil {
					t.Fatal(err)
				}
			}
			for _, c := range b {
				if _, err := io.ReadFull(c, number); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Write(number); err != nil {
					t.Fatal(err)
				}
			}
			for i, c := range a {
				if _, err := io.ReadFull(c, number); err != nil || binary.BigEndian.Uint32(number) != uint32(i) {
					t.Fatalf("connection %d: %v came back, %v", i, number, err)
				}
			}
			for i := range a {
				first, second := a[i], b[i] // most likely ends of different connections
				if i%2 == 0 {
					first, second = second, first
				}
				first.Close()
				second.Close()
			}
			eventually(t, "all connections end", func() bool { return n.a.busy()+n.b.busy() == 0 })
		})
	}
}

// connectMany opens connections from a to b, many at once. It returns both ends of all, in any
// order.
func (n *network) connectMany(to netip.AddrPort, conns int) (a, b []conn) {
	n.t.Helper()
	const dialers = 20
	l := n.b.listen(n.t, to)
	ctx, cancel := context.WithTimeout(n.t.Context(), testLimit)
	defer cancel()
	type end struct {
		c      conn
		err    error
		active bool
	}
	ends := make(chan end, 2*conns)
	go func() {
		for range conns {
			c, err := l.accept()
			ends <- end{c, err, false}
			if err != nil {
				return
			}
		}
	}()
	for w := range dialers {
		go n.a.do(func() error {
			for range (conns + w) / dialers {
				c, err := n.a.dialHere(ctx, netip.AddrPort{}, to)
				ends <- end{c, err, true}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	for len(a)+len(b) < 2*conns {
		e := <-ends
		if e.err != nil {
			n.t.Fatalf("%d connections were opened and %d accepted, want %d: %v", len(a), len(b), conns, e.err)
		}
		n.t.Cleanup(func() { e.c.Close() })
		e.c.SetDeadline(time.Now().Add(testLimit))
		if e.active {
			a = append(a, e.c)
		} else {
			b = append(b, e.c)
		}
	}
	return a, b
}

// TestThousandsInSequence opens and closes connections one after the other. The heap does not grow,
// no goroutine is left, and TestMain finds leaked packet buffers.
func TestThousandsInSequence(t *testing.T) {
	conns := fewer(10_000)
	brief := tcpip.TCPTimeWaitTimeoutOption(2 * time.Millisecond)
	for _, who := range []pair{{kernel, ours}, {ours, kernel}} {
		t.Run(who.a+"-"+who.b, func(t *testing.T) {
			n := newNetwork(t, who, plan{setUp: func(t *testing.T, h *host) {
				if h.tcp == ours {
					mustNot(t, h.stack.SetTransportProtocolOption(gtcp.ProtocolNumber, &brief))
				}
			}})
			to := n.b.at(true, 80)
			l := n.b.listen(t, to)
			some := func(conns int) error {
				one := []byte{1}
				for i := range conns {
					a, err := n.a.dialHere(t.Context(), netip.AddrPort{}, to)
					if err != nil {
						return fmt.Errorf("dial %d: %w", i, err)
					}
					b, err := l.accept()
					if err != nil {
						return fmt.Errorf("accept %d: %w", i, err)
					}
					us, peer := n.ourEnd(a, b), a
					if n.b.tcp != ours {
						peer = b
					}
					// Our end closes first and is in TIME-WAIT, which is short; the kernel's is not.
					_, e1 := peer.Write(one)
					_, e2 := us.Read(one)
					us.Close()
					_, e3 := peer.Read(one)
					peer.Close()
					if e1 != nil || e2 != nil || e3 != io.EOF {
						return fmt.Errorf("connection %d: write %v, read %v, read of the end %v", i, e1, e2, e3)
					}
				}
				return nil
			}
			must(t, n.a.do(func() error { return some(200) }))
			settled := func() { eventually(t, "all connections end", func() bool { return n.registered() == 0 }) }
			settled()
			heap, goroutines := heapInUse(), runtime.NumGoroutine()
			start := time.Now()
			must(t, n.a.do(func() error { return some(conns) }))
			t.Logf("%.0f connections a second", float64(conns)/time.Since(start).Seconds())
			settled()
			if after := heapInUse(); after > heap+256<<10 {
				t.Errorf("%d connections have left %d bytes of heap", conns, after-heap)
			}
			eventually(t, "as many goroutines as before", func() bool { return runtime.NumGoroutine() <= goroutines })
		})
	}
}

// registered returns how many connections our stacks have, in any state.
func (n *network) registered() (count int) {
	for _, h := range []*host{n.a, n.b} {
		if h.tcp != ours {
			continue
		}
		for _, te := range h.stack.RegisteredEndpoints() {
			if gtcp.EndpointState(te.(tcpip.Endpoint).State()) != gtcp.StateListen {
				count++
			}
		}
	}
	return count
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestHTTP sends many short requests, over kept connections and over one connection for each.
func TestHTTP(t *testing.T) {
	t.Parallel()
	for _, kept := range []bool{true, false} {
		t.Run(fmt.Sprintf("kept=%v", kept), func(t *testing.T) {
			t.Parallel()
			forPairs(t, allPairs, plan{}, func(t *testing.T, n *network) {
				at := n.b.at(false, 80)
				server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, err := io.ReadAll(r.Body)
					if err == nil {
						w.Header().Set("Content-Type", "application/octet-stream")
						w.Write(body)
					}
				})}
				var clientsDone, serverDone sync.WaitGroup
				l := n.b.listen(t, at)
				serverDone.Go(func() { server.Serve(l) })
				tr := &http.Transport{DisableKeepAlives: !kept, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
					return n.a.dial(ctx, netip.AddrPort{}, at)
				}}
				const clients, requests = 4, 50
				for i := range clients {
					clientsDone.Go(func() {
						client := &http.Client{Transport: tr, Timeout: testLimit}
						for j := range requests {
							want := pattern[1000*i:][:1+37*j*j%5000]
							r, err := client.Post("http://"+at.String(), "application/octet-stream", bytes.NewReader(want))
							if err != nil {
								t.Error(err)
								return
							}
							got, err := io.ReadAll(r.Body)
							r.Body.Close()
							if err != nil || !bytes.Equal(got, want) {
								t.Errorf("%d bytes came back, %v, want the %d that were sent", len(got), err, len(want))
							}
						}
					})
				}
				clientsDone.Wait()
				tr.CloseIdleConnections()
				server.Close()
				serverDone.Wait()
			})
		})
	}
}

// TestSmallRequests sends requests in two small writes, with and without Nagle's algorithm. It logs
// how long they take: no limit would hold on a busy machine.
func TestSmallRequests(t *testing.T) {
	t.Parallel()
	for _, who := range slowPairs() {
		t.Run(who.a+"-"+who.b, func(t *testing.T) {
			t.Parallel()
			smallRequests(t, newNetwork(t, who, plan{}))
		})
	}
}

func smallRequests(t *testing.T, n *network) {
	for _, nagle := range []bool{false, true} {
		a, b := n.connect(false)
		a.noDelay(t, !nagle)
		b.noDelay(t, true)
		requests := fewer(50)
		done := make(chan error, 1)
		go func() {
			buf := make([]byte, 300)
			for range requests {
				if _, err := io.ReadFull(b, buf); err != nil {
					done <- err
					return
				}
				if _, err := b.Write(buf[:100]); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
		buf := make([]byte, 100)
		var took []time.Duration
		for range requests {
			start := time.Now()
			for _, size := range []int{100, 200} {
				if _, err := a.Write(pattern[:size]); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := io.ReadFull(a, buf); err != nil {
				t.Fatal(err)
			}
			took = append(took, time.Since(start))
		}
		must(t, <-done)
		slices.Sort(took)
		t.Logf("%d requests with Nagle's algorithm %v: median %v, at most %v", requests, nagle, took[requests/2], took[requests-1])
	}
}
