package underloss

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"tcpwheel/netstack/testnet"
)

// dialGRPC starts a server with the health service, and returns a client of it.
func dialGRPC(t *testing.T, n *testnet.Net, o ...grpc.DialOption) (healthpb.HealthClient, *health.Server) {
	s, h := grpc.NewServer(grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second})), health.NewServer()
	healthpb.RegisterHealthServer(s, h)
	go s.Serve(n.Listen(":50051"))
	o = append(o, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) { return n.DialContext(ctx, "tcp", address) }))
	c, err := grpc.NewClient("passthrough:///server:50051", o...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		s.Stop()
	})
	return healthpb.NewHealthClient(c), h
}

// TestGRPCDeadlines: 1,000 calls with a deadline of 300 ms at 5 % loss. Which calls are late
// depends on the timers of both ends: with 4.4BSD's, every RTO is longer than the deadline.
func TestGRPCDeadlines(t *testing.T) {
	late := map[string]int{}
	for _, policy := range []string{"per-segment", "linux", "bsd"} {
		ends := []testnet.Option{testnet.HostConfig{Name: testnet.Client, Policy: policy}, testnet.HostConfig{Name: testnet.Server, Policy: policy}}
		inBubble(t, lossy, func(t *testing.T, n *testnet.Net) {
			client, _ := dialGRPC(t, n)
			for range 1000 {
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				switch _, err := client.Check(ctx, &healthpb.HealthCheckRequest{}); status.Code(err) {
				case codes.OK:
				case codes.DeadlineExceeded:
					late[policy]++
				default:
					t.Fatal(err)
				}
				cancel()
			}
		}, ends...)
	}
	t.Logf("late of 1,000 calls: %v", late)
	if !(late["per-segment"] < late["linux"] && late["linux"] < late["bsd"]) {
		t.Errorf("late of 1,000 calls: %v, want per-segment, linux and bsd in this order", late)
	}
}

// TestGRPCKeepalive: a stream is silent behind a NAT that forgets after 30 s. News comes after ten
// minutes. gRPC's own keepalive, every 25 s, brings it; without, the stream never learns of it.
func TestGRPCKeepalive(t *testing.T) {
	watch := func(o ...grpc.DialOption) (took time.Duration, err error) {
		path := testnet.Path{Delay: 20 * time.Millisecond, NAT: 30 * time.Second}
		inBubble(t, path, func(t *testing.T, n *testnet.Net) {
			client, server := dialGRPC(t, n, o...)
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			w, failed := client.Watch(ctx, &healthpb.HealthCheckRequest{})
			if failed != nil {
				t.Fatal(failed)
			}
			if _, err := w.Recv(); err != nil { // the first status comes at once
				t.Fatal(err)
			}
			time.AfterFunc(10*time.Minute, func() { server.SetServingStatus("", healthpb.HealthCheckResponse_NOT_SERVING) })
			_, err = w.Recv()
			took = n.Now().Round(time.Second)
		})
		return took, err
	}
	alive := func(every time.Duration) grpc.DialOption {
		return grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: every, Timeout: 10 * time.Second})
	}
	if took, err := watch(); took != time.Hour || status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("without keepalive: %v after %v", err, took)
	}
	if took, err := watch(alive(25 * time.Second)); took.Truncate(time.Minute) != 10*time.Minute || err != nil {
		t.Errorf("with keepalive after 25 s: %v after %v", err, took)
	}
	if took, err := watch(alive(75 * time.Second)); took > 2*time.Minute || status.Code(err) != codes.Unavailable {
		t.Errorf("with keepalive after 75 s: %v after %v", err, took)
	}
}
