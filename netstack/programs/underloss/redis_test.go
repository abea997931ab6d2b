package underloss

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"tcpwheel/netstack/testnet"
)

// TestRedis: go-redis sets and gets values at 5 % loss, on its pool of connections and in
// pipelines, with miniredis behind the server's port.
func TestRedis(t *testing.T) {
	inBubble(t, lossy, func(t *testing.T, n *testnet.Net) {
		server := miniredis.NewMiniRedis()
		go proxy(t, n.Listen(":6379"), server.Dial)
		client := redis.NewClient(&redis.Options{
			Addr: "server:6379", Dialer: n.DialContext, MaxRetries: -1, ReadTimeout: 5 * time.Second,
			// These ask the machine's resolver for the server's name, and hold a Mutex while a
			// connection waits for its first reply. A bubble can wait for neither.
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		})
		defer server.Close()
		defer client.Close()
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				for j := range 50 {
					key, want := fmt.Sprintf("key-%d-%d", i, j), fmt.Sprint(i*j)
					if err := client.Set(t.Context(), key, want, time.Hour).Err(); err != nil {
						t.Error(err)
						return
					}
					if got, err := client.Get(t.Context(), key).Result(); got != want || err != nil {
						t.Errorf("%s is %q, %v, want %q", key, got, err, want)
					}
				}
			})
		}
		all.Wait()
		pipe := client.Pipeline()
		for range 1000 {
			pipe.Incr(t.Context(), "counter")
		}
		if _, err := pipe.Exec(t.Context()); err != nil {
			t.Error(err)
		}
		if got, err := client.Get(t.Context(), "counter").Int(); got != 1000 || err != nil {
			t.Errorf("the counter is %d, %v", got, err)
		}
	})
}
