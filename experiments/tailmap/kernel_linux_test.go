package tailmap

import (
	"testing"
	"time"

	"tcpwheel/tun/netns"
)

// TestKernel has the kernel repair a lost last segment. Its timers are never early.
func TestKernel(t *testing.T) {
	const rtt = 10 * time.Millisecond
	for _, segments := range []int{1, 4} {
		l, ok, err := loseLast(t.Context(), rtt, segments)
		netns.Must(t, err)
		if !ok {
			t.Skip("the machine is too busy to ask its kernel in time")
		}
		if l.SRTT < rtt || l.RTO < l.SRTT+200*time.Millisecond || l.Jiffy < time.Millisecond ||
			l.Jiffy > 10*time.Millisecond || l.Wait < 200*time.Millisecond {
			t.Errorf("%d segments: %+v, want an SRTT of at least %v, an RTO at least 200ms above it, and a wait of at "+
				"least 200ms", segments, l, rtt)
		}
	}
}
