package testnet_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tcpwheel/netstack/testnet"
)

// TestSpread measures how far ten runs of one seed differ. A client that does one thing after the
// other makes equal runs, packet by packet; clients that run at the same time differ by the
// order of the program's goroutines. docs/testing-programs.md has the figures.
func TestSpread(t *testing.T) {
	for _, test := range []struct {
		name    string
		clients int
		most    float64 // allowed spread of the time of a run; the race detector mixes goroutines
	}{
		{"one client", 1, 0.25},
		{"eight clients at once", 8, 0.5},
	} {
		t.Run(test.name, func(t *testing.T) {
			if testing.Short() && test.clients > 1 {
				t.Skip("-short")
			}
			var times []time.Duration
			captures := map[[32]byte]int{}
			for range 10 {
				bubble(t, testnet.Path{Delay: 20 * time.Millisecond, Loss: "2%"}, func(t *testing.T, n *testnet.Net) {
					go http.Serve(n.Listen(":80"), page(30_000))
					var all sync.WaitGroup
					for range test.clients {
						all.Go(func() {
							client := n.HTTPClient()
							for range 20 {
								if got, err := get(client, "http://server/"); got != 30_000 || err != nil {
									t.Error(got, err)
								}
							}
						})
					}
					all.Wait()
					times = append(times, n.Now())
					var file bytes.Buffer
					if err := n.Host(testnet.Client).WriteCapture(&file); err != nil {
						t.Error(err)
					}
					captures[sha256.Sum256(file.Bytes())]++
				})
			}
			slices.Sort(times)
			spread := float64(times[9]-times[0]) / float64(times[4])
			most := 0
			for _, runs := range captures {
				most = max(most, runs)
			}
			t.Logf("%d of 10 runs equal to the byte; %v to %v, a spread of %.2g %%", most, times[0], times[9], 100*spread)
			if spread > test.most {
				t.Errorf("a spread of %.2g %%, want %.2g %%", 100*spread, 100*test.most)
			}
		})
	}
}

// TestOtherSeeds: another seed is another run.
func TestOtherSeeds(t *testing.T) {
	took := map[time.Duration]bool{}
	for seed := range testnet.Seed(5) {
		bubble(t, testnet.Path{Delay: 20 * time.Millisecond, Loss: "5%"}, func(t *testing.T, n *testnet.Net) {
			go http.Serve(n.Listen(":80"), page(300_000))
			if got, err := get(n.HTTPClient(), "http://server/"); got != 300_000 || err != nil {
				t.Error(got, err)
			}
			took[n.Now()] = true
		}, seed)
	}
	if len(took) < 4 {
		t.Errorf("five seeds took %v", took)
	}
}

// TestCrowd: the order of goroutines that send at the same instant does not decide whose packets
// are lost.
func TestCrowd(t *testing.T) {
	fates := map[string]int{}
	for range 10 {
		bubble(t, testnet.Path{Delay: 10 * time.Millisecond, Up: "loss=packets:40"}, func(t *testing.T, n *testnet.Net) {
			l := n.Listen(":7")
			var mu sync.Mutex
			var late []string
			var all sync.WaitGroup
			for i := range 10 {
				c, err := n.Dial("tcp", "server:7")
				if err != nil {
					t.Fatal(err)
				}
				s, err := l.Accept()
				if err != nil {
					t.Fatal(err)
				}
				all.Go(func() {
					time.Sleep(time.Minute - n.Now()) // all at once
					for range 5 {
						c.Write([]byte("hello"))
						time.Sleep(time.Second)
					}
				})
				all.Go(func() {
					b := make([]byte, 100)
					for at := time.Minute; at < time.Minute+5*time.Second; at += time.Second {
						s.Read(b)
						if n.Now()-at > 50*time.Millisecond {
							mu.Lock()
							late = append(late, fmt.Sprint(i, at))
							mu.Unlock()
						}
					}
				})
			}
			all.Wait()
			fates[strings.Join(late, ", ")]++
		})
	}
	if len(fates) != 1 {
		t.Errorf("in ten runs, late were %v: want the same each time", fates)
	}
	if fates[""] > 0 {
		t.Error("no loss")
	}
}
