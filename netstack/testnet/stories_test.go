package testnet_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tcpwheel/netstack/testnet"
	"tcpwheel/netstack/virtual"
)

// The stories of docs/testing-programs.md: what a program sees of a loss, and what another timer,
// probe or policy changes in it.

// TestLostSYN: a client allows a request one second. Its SYN is lost. A SYN's first timeout is one
// second, too, in Linux as here (RFC 6298 §2: "the sender SHOULD set RTO <- 1 second"), so the
// request fails although the network was away for one packet. A client that knows its network may
// begin with less.
func TestLostSYN(t *testing.T) {
	hasty := func(c *virtual.TCP) { c.Config.Conn.Policy.Bounds.Initial = 200 * time.Millisecond }
	for _, test := range []struct {
		name    string
		client  testnet.HostConfig
		timeout time.Duration // of the client; 0 is none
		took    time.Duration // of the request, or 0 if it fails
	}{
		{"linux", testnet.HostConfig{Policy: "linux"}, time.Second, 0},
		{"per-segment", testnet.HostConfig{}, time.Second, 0},
		{"linux, two seconds", testnet.HostConfig{Policy: "linux"}, 2 * time.Second, 1080 * time.Millisecond},
		{"bsd, two seconds", testnet.HostConfig{Policy: "bsd"}, 2 * time.Second, 0}, // it waits for 6 s
		{"first RTO of 200 ms", testnet.HostConfig{TCP: hasty}, time.Second, 280 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.client.Name = testnet.Client
			path := testnet.Path{Delay: 20 * time.Millisecond, Up: "loss=packets:1"}
			bubble(t, path, func(t *testing.T, n *testnet.Net) {
				go http.Serve(n.Listen(":80"), page(1000))
				client := n.HTTPClient()
				client.Timeout = test.timeout
				_, err := get(client, "http://server/")
				took := n.Now().Round(time.Millisecond)
				if test.took == 0 && (err == nil || !err.(net.Error).Timeout() || took != test.timeout) {
					t.Errorf("after %v: %v, want a timeout", took, err)
				}
				if test.took != 0 && (err != nil || took != test.took) {
					t.Errorf("after %v: %v, want success after %v", took, err, test.took)
				}
			}, test.client)
		})
	}
}

// TestLostEnd: the last packet of a response is lost, so no later packet shows the loss. Linux's
// probe repairs it after 2 RTT and what the peer may delay its ACK; with a timer alone it takes the
// RTO: 200 ms and more in Linux, a second by RFC 6298, more in 4.4BSD. The client's request sees
// it.
func TestLostEnd(t *testing.T) {
	took := map[string]time.Duration{}
	for _, policy := range []string{"per-segment", "linux", "rfc6298", "bsd"} {
		path := testnet.Path{Delay: 20 * time.Millisecond, Down: "loss=ranges:13000-13001@1"}
		bubble(t, path, func(t *testing.T, n *testnet.Net) {
			go http.Serve(n.Listen(":80"), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				page(12_000).ServeHTTP(w, r)
				w.(http.Flusher).Flush()
				time.Sleep(60 * time.Millisecond) // until all of it is acknowledged: its end is a lone segment
				page(1_000).ServeHTTP(w, r)
			}))
			if got, err := get(n.HTTPClient(), "http://server/"); got != 13_000 || err != nil {
				t.Fatal(got, err)
			}
			took[policy] = n.Now().Round(time.Millisecond)
			c := n.Counts()
			if probed := policy == "per-segment" || policy == "linux"; probed != (c.Timeouts == 0) || c.Lost != 1 {
				t.Errorf("%s: %v", policy, c)
			}
		}, testnet.HostConfig{Name: testnet.Server, Policy: policy})
	}
	t.Log(took)
	if !(took["per-segment"] <= took["linux"] && took["linux"] < took["rfc6298"] && took["rfc6298"] <= took["bsd"]) {
		t.Errorf("%v: want per-segment, linux, rfc6298 and bsd in this order", took)
	}
	if took["rfc6298"] < time.Second || took["per-segment"] > 250*time.Millisecond {
		t.Errorf("%v", took)
	}
}

// TestRetries: 200 clients poll a server. An outage of ten seconds makes their requests time out,
// and they retry: every second, or after a random part of a second. All requests of the first kind
// come in the same milliseconds, as the retransmissions of coarse timers do in study comb.
func TestRetries(t *testing.T) {
	const clients = 200
	peak := func(wait func(*rand.Rand) time.Duration) (most int) {
		path := testnet.Path{Delay: 10 * time.Millisecond}
		bubble(t, path, func(t *testing.T, n *testnet.Net) {
			var mu sync.Mutex
			var came []time.Duration
			go http.Serve(n.Listen(":80"), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				came = append(came, n.Now())
			}))
			begin := make(chan struct{})
			var all sync.WaitGroup
			for i := range clients {
				rng := rand.New(rand.NewPCG(uint64(i), 1))
				all.Go(func() {
					client := n.HTTPClient()
					client.Timeout = time.Second
					<-begin
					for {
						if _, err := get(client, "http://server/"); err == nil {
							return
						}
						time.Sleep(wait(rng))
					}
				})
			}
			n.SetPath(testnet.Path{Loss: "100%"})
			close(begin)
			time.Sleep(10 * time.Second)
			n.SetPath(path)
			all.Wait()
			slices.Sort(came)
			if len(came) != clients {
				t.Errorf("%d requests came, want %d", len(came), clients)
			}
			for i := range came { // the most in 10 ms
				j, _ := slices.BinarySearch(came, came[i]+10*time.Millisecond)
				most = max(most, j-i)
			}
		})
		return most
	}
	same := peak(func(*rand.Rand) time.Duration { return time.Second })
	spread := peak(func(rng *rand.Rand) time.Duration { return time.Duration(rng.Int64N(int64(2 * time.Second))) })
	t.Logf("the most requests in 10 ms: %d with equal waits, %d with random ones", same, spread)
	if same != clients || spread > clients/5 {
		t.Errorf("the most requests in 10 ms: %d with equal waits, %d with random ones", same, spread)
	}
}

// TestHeadOfLine: a page and a status come over one HTTP/2 connection. A packet of the page is
// lost. The status was not, but waits behind it: by the RTO of 4.4BSD for more than a second, by a
// fine timer for a round trip. Over two connections it does not wait at all.
func TestHeadOfLine(t *testing.T) {
	status := func(protocols func(*http.Protocols), policy string) (took time.Duration) {
		// The first transmission of the page's last packet; the status follows it.
		path := testnet.Path{Delay: 20 * time.Millisecond, Down: "loss=ranges:3000-3001@1"}
		bubble(t, path, func(t *testing.T, n *testnet.Net) {
			var p http.Protocols
			protocols(&p)
			server := &http.Server{Protocols: &p, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/status" {
					time.Sleep(10 * time.Millisecond)
					io.WriteString(w, "fine")
					return
				}
				io.WriteString(w, strings.Repeat("x", 3000))
			})}
			go server.Serve(n.Listen(":80"))
			client := n.HTTPClient()
			client.Transport.(*http.Transport).Protocols = &p
			var all sync.WaitGroup
			all.Go(func() {
				if got, err := get(client, "http://server/page"); got != 3000 || err != nil {
					t.Error(got, err)
				}
			})
			all.Go(func() {
				if got, err := get(client, "http://server/status"); got != 4 || err != nil {
					t.Error(got, err)
				}
				took = n.Now().Round(time.Millisecond)
			})
			all.Wait()
		}, testnet.HostConfig{Name: testnet.Server, Policy: policy})
		return took
	}
	one := func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) }
	two := func(p *http.Protocols) { p.SetHTTP1(true) }
	fine, coarse, apart := status(one, "per-segment"), status(one, "bsd"), status(two, "bsd")
	t.Logf("the status took %v with fine timers, %v with 4.4BSD's, %v on a connection of its own", fine, coarse, apart)
	if apart >= fine || fine >= coarse || coarse < time.Second {
		t.Errorf("the status took %v with fine timers, %v with 4.4BSD's, %v on a connection of its own", fine, coarse, apart)
	}
}

// TestLongPoll: a request waits ten minutes for news, behind a NAT that forgets a connection after
// 30 s of silence. The news never comes, and the client does not know: its Timeout ends it.
// Keepalive probes every 25 s keep the NAT's memory; every 75 s, Linux's interval, they come too
// late, but the client learns that the connection is dead.
func TestLongPoll(t *testing.T) {
	const news = 10 * time.Minute
	poll := func(idle time.Duration) (took time.Duration, err error) {
		var alive net.KeepAliveConfig
		if idle > 0 {
			alive = net.KeepAliveConfig{Enable: true, Idle: idle, Interval: idle}
		}
		path := testnet.Path{Delay: 20 * time.Millisecond, NAT: 30 * time.Second}
		bubble(t, path, func(t *testing.T, n *testnet.Net) {
			go http.Serve(n.Listen(":80"), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				select {
				case <-time.After(news):
					io.WriteString(w, "news")
				case <-r.Context().Done(): // the client has gone, or the test ends
				}
			}))
			client := n.HTTPClient()
			client.Timeout = time.Hour
			_, err = get(client, "http://server/")
			took = n.Now().Round(time.Second)
		}, testnet.HostConfig{Name: testnet.Client, KeepAlive: alive})
		return took, err
	}
	if took, err := poll(0); took != time.Hour || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without keepalive: %v after %v", err, took)
	}
	if took, err := poll(25 * time.Second); took != news || err != nil {
		t.Errorf("with keepalive after 25 s: %v after %v", err, took)
	}
	if took, err := poll(75 * time.Second); took != 75*time.Second || err == nil || !strings.Contains(err.Error(), "reset") {
		t.Errorf("with keepalive after 75 s: %v after %v", err, took)
	}
}

// TestNoRTO is the assertion for a service on a path with single losses: none of its requests may
// wait for an RTO.
func TestNoRTO(t *testing.T) {
	path := testnet.Path{Delay: 5 * time.Millisecond, Down: "loss=packets:20,50,80,110"}
	bubble(t, path, func(t *testing.T, n *testnet.Net) {
		go http.Serve(n.Listen(":80"), page(10_000))
		client := n.HTTPClient()
		if _, err := get(client, "http://server/"); err != nil { // connects
			t.Fatal(err)
		}
		before := n.Counts()
		for range 30 {
			if _, err := get(client, "http://server/"); err != nil {
				t.Fatal(err)
			}
		}
		c := n.Counts().Since(before)
		if c.Lost != 4 || c.FastRetransmits+c.Probes < 2 {
			t.Errorf("%v, want 4 losses and their repairs", c)
		}
		if c.Timeouts > 0 {
			t.Errorf("%v: a request waited for an RTO", c)
		}
	})
}
