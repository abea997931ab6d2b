package underloss

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/link/pipe"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"

	"tcpwheel/netstack/programs"
	"tcpwheel/netstack/sim"
	"tcpwheel/tun"
	"tcpwheel/wheel"
)

// BenchmarkKeepAlive has 200 clients of net/http fetch 20 kB again and again, in real time, over 5 ms
// and a loss of 2 % each way. The server's TCP is ours or gVisor's, the clients' is gVisor's. The
// timeouts are the server's. Compare them on a quiet machine, in turn:
//
//	go test -run '^$' -bench KeepAlive -benchtime 20000x -count 5 ./underloss
func BenchmarkKeepAlive(b *testing.B) {
	for _, t := range []programs.TCP{programs.Ours, programs.GVisor} {
		b.Run(string(t), func(b *testing.B) { keepAlive(b, t, 200) })
	}
}

func keepAlive(b *testing.B, t programs.TCP, clients int) {
	clock, err := wheel.Start(wheel.RealtimeConfig{Tick: 50 * time.Microsecond})
	if err != nil {
		b.Fatal(err)
	}
	defer clock.Close()
	lossy := sim.LinkConfig{Delay: 5 * time.Millisecond, Loss: sim.Losses{sim.Bernoulli{P: 0.02}}}
	near, far := pipe.New("", "", 1500)
	link, err := tun.Impair(near, tun.LinkOptions{There: lossy, Back: lossy, Seed: 1, Clock: clock})
	if err != nil {
		b.Fatal(err)
	}
	addr := netip.MustParseAddr("10.7.0.1")
	server, err := programs.NewStack(t, link, netip.PrefixFrom(addr, 24))
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	guest, err := programs.NewStack(programs.GVisor, far, netip.MustParsePrefix("10.7.0.2/24"))
	if err != nil {
		b.Fatal(err)
	}
	defer guest.Close()

	at := programs.Address(netip.AddrPortFrom(addr, 80))
	l, err := gonet.ListenTCP(server, at, ipv4.ProtocolNumber)
	if err != nil {
		b.Fatal(err)
	}
	page := bytes.Repeat([]byte("x"), 20_000)
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write(page) }))
	defer l.Close()
	client := http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: clients,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return gonet.DialContextTCP(ctx, guest, at, ipv4.ProtocolNumber)
		},
	}}
	defer client.CloseIdleConnections()

	times := make([]time.Duration, b.N)
	next, all := atomic.Int64{}, sync.WaitGroup{}
	before := server.Stats().TCP.Timeouts.Value()
	b.ResetTimer()
	for range clients {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(b.N); i = next.Add(1) - 1 {
				begun := time.Now()
				r, err := client.Get("http://server/")
				if err == nil {
					_, err = io.Copy(io.Discard, r.Body)
					r.Body.Close()
				}
				if err != nil {
					b.Error(err)
					return
				}
				times[i] = time.Since(begun)
			}
		})
	}
	all.Wait()
	b.StopTimer()
	slices.Sort(times)
	for _, q := range []struct {
		name  string
		share float64
	}{{"p50-ms", 0.5}, {"p90-ms", 0.9}, {"p99-ms", 0.99}, {"longest-ms", 1}} {
		b.ReportMetric(times[int(q.share*float64(b.N-1))].Seconds()*1e3, q.name)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
	b.ReportMetric(float64(server.Stats().TCP.Timeouts.Value()-before), "timeouts")
}
