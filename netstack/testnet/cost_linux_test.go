package testnet_test

import (
	"net/http"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tcpwheel/netstack/testnet"
)

// TestCost measures the user CPU time of a request of 10 kB at 2 % loss, and of a bubble with two
// hosts that is opened and closed. It fails only far beyond the figures in
// docs/testing-programs.md.
func TestCost(t *testing.T) {
	if os.Getenv("TCPWHEEL_LONG") == "" {
		t.Skip("TCPWHEEL_LONG is not set")
	}
	cpu := func(n int, work func()) time.Duration {
		var before, after syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
			t.Fatal(err)
		}
		work()
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
			t.Fatal(err)
		}
		return time.Duration(after.Utime.Nano()-before.Utime.Nano()) / time.Duration(n)
	}
	const bubbles, requests = 200, 2000
	open := cpu(bubbles, func() {
		for range bubbles {
			synctest.Test(t, func(t *testing.T) { testnet.New(t, testnet.Path{}) })
		}
	})
	var request time.Duration
	bubble(t, testnet.Path{Delay: 20 * time.Millisecond, Loss: "2%"}, func(t *testing.T, n *testnet.Net) {
		go http.Serve(n.Listen(":80"), page(10_000))
		client := n.HTTPClient()
		request = cpu(requests, func() {
			for range requests {
				if got, err := get(client, "http://server/"); got != 10_000 || err != nil {
					t.Fatal(got, err)
				}
			}
		})
	})
	t.Logf("user CPU time: %v for a request of 10 kB, %v to open and close a bubble of two hosts", request, open)
	if request > 10*time.Millisecond || open > 50*time.Millisecond {
		t.Error("ten times what it should be")
	}
}
