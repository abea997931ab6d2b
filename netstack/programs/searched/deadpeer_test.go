package searched

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/testnet"
)

// dialFunc is a DialContext.
type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// clients connect to their servers with dial, and return two calls without a timeout: one that
// sends, and one that only waits for news.
var clients = map[string]func(t *testing.T, n *testnet.Net, dial dialFunc) (send, wait func() error){
	"net/http": func(t *testing.T, n *testnet.Net, dial dialFunc) (send, wait func() error) {
		go http.Serve(n.Listen(":80"), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			if w.(http.Flusher).Flush(); r.URL.Path == "/news" {
				<-r.Context().Done()
			}
		}))
		client := &http.Client{Transport: &http.Transport{DialContext: dial}}
		t.Cleanup(client.CloseIdleConnections)
		post := func() error {
			r, err := client.Post("http://server/", "text/plain", strings.NewReader("hello"))
			if err == nil {
				io.Copy(io.Discard, r.Body)
				r.Body.Close()
			}
			return err
		}
		if err := post(); err != nil {
			t.Fatal(err)
		}
		return post, func() error {
			r, err := client.Get("http://server/news") // its header comes before the peer dies
			if err != nil {
				return err
			}
			defer r.Body.Close()
			_, err = io.Copy(io.Discard, r.Body)
			return err
		}
	},
	"grpc-go": func(t *testing.T, n *testnet.Net, dial dialFunc) (send, wait func() error) {
		s := grpc.NewServer()
		healthpb.RegisterHealthServer(s, health.NewServer())
		go s.Serve(n.Listen(":50051"))
		c, err := grpc.NewClient("passthrough:///server:50051", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) { return dial(ctx, "tcp", address) }))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			c.Close()
			s.Stop()
		})
		client := healthpb.NewHealthClient(c)
		check := func() error {
			_, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{})
			return err
		}
		if err := check(); err != nil {
			t.Fatal(err)
		}
		return check, func() error {
			w, err := client.Watch(t.Context(), &healthpb.HealthCheckRequest{})
			for err == nil {
				_, err = w.Recv()
			}
			return err
		}
	},
	"pgx": func(t *testing.T, n *testnet.Net, dial dialFunc) (send, wait func() error) {
		c, err := connectPostgres(t.Context(), n, dial)
		if err != nil {
			t.Fatal(err)
		}
		query := func() error {
			_, err := c.Exec(t.Context(), "select 1")
			return err
		}
		if err := query(); err != nil {
			t.Fatal(err)
		}
		return query, func() error {
			_, err := c.WaitForNotification(t.Context())
			return err
		}
	},
}

// TestDeadPeer: the peer's machine is gone, without a FIN or RST.
//
// A call that sends waits for Linux's last retransmission: 16 minutes (linkerd2#13023 says 15).
// Keepalive does not help, since data is in flight; a user timeout of 30 s does. A call that waits
// for news never returns. With keepalive as by default (two hours idle, then nine probes every
// 75 s) it takes 2 h 11 min (tailscale#19008), with 60 s and 15 s three minutes. With the user
// timeout, too, one probe without an answer is enough, as in Linux: 60 s + 15 s of silence.
func TestDeadPeer(t *testing.T) {
	alive := func(idle, interval time.Duration) net.KeepAliveConfig {
		return net.KeepAliveConfig{Enable: true, Idle: idle, Interval: interval, Count: 9}
	}
	for name, connect := range clients {
		for _, test := range []struct {
			name        string
			wait        bool
			alive       net.KeepAliveConfig
			userTimeout time.Duration
			least, most time.Duration // until the call returns
		}{
			{"send", false, net.KeepAliveConfig{}, 0, 15 * time.Minute, 17 * time.Minute},
			{"send, keepalive", false, alive(60*time.Second, 15*time.Second), 0, 15 * time.Minute, 17 * time.Minute},
			{"send, user timeout", false, net.KeepAliveConfig{}, 30 * time.Second, 29 * time.Second, 31 * time.Second},
			{"wait", true, net.KeepAliveConfig{}, 0, 24 * time.Hour, 24 * time.Hour},
			{"wait, keepalive of two hours", true, alive(2*time.Hour, 75*time.Second), 0, 131 * time.Minute, 132 * time.Minute},
			{"wait, keepalive", true, alive(60*time.Second, 15*time.Second), 0, 3 * time.Minute, 200 * time.Second},
			{"wait, keepalive and user timeout", true, alive(60*time.Second, 15*time.Second), 30 * time.Second, 64 * time.Second, 66 * time.Second},
		} {
			t.Run(name+"/"+test.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					n := testnet.New(t, path, testnet.HostConfig{Name: testnet.Client, Policy: "linux", KeepAlive: test.alive})
					send, wait := connect(t, n, func(ctx context.Context, network, address string) (net.Conn, error) {
						c, err := n.DialContext(ctx, network, address)
						if err == nil && test.userTimeout > 0 {
							err = c.(*sockets.Conn).SetUserTimeout(test.userTimeout)
						}
						return c, err
					})
					call := send
					if test.wait {
						call = wait
					}
					done := make(chan error, 1)
					died := 10 * time.Second
					if !test.wait {
						time.Sleep(died - n.Now())
						n.SetPath(testnet.Path{Loss: "100%"})
					}
					go func() { done <- call() }()
					if test.wait {
						time.Sleep(died - n.Now())
						n.SetPath(testnet.Path{Loss: "100%"})
					}
					var err error
					select {
					case err = <-done:
						if err == nil {
							t.Error("the call has succeeded")
						}
					case <-time.After(24 * time.Hour):
					}
					took := n.Now() - died
					t.Logf("after %v: %v", took.Round(time.Second), err)
					if took < test.least || took.Truncate(time.Second) > test.most {
						t.Errorf("the call took %v, want %v to %v", took, test.least, test.most)
					}
				})
			})
		}
	}
}
