package tcp

import (
	"testing"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

const ms = time.Millisecond

func TestDelAckAdapts(t *testing.T) {
	c := tcptimers.DelAckConfig{Every: 2, Delay: 40 * ms, Min: 40 * ms, Max: 200 * ms}
	var d DelAck
	now := wheel.Time(0)
	delay := func(gap time.Duration) time.Duration {
		now = now.Add(gap)
		_, wait := d.OnSegment(now, &c, &SegmentIn{Len: 1000})
		d.OnAckSent()
		return wait
	}
	if got := delay(0); got != 40*ms {
		t.Errorf("at the start %v, want 40ms", got)
	}
	for _, want := range []time.Duration{80 * ms, 120 * ms, 160 * ms, 200 * ms} {
		_, wait := d.OnSegment(now, &c, &SegmentIn{Len: 1000})
		now = now.Add(wait)
		if got := d.OnTimeout(&c); got != AckNow {
			t.Fatalf("timeout: %d", got)
		}
		d.OnAckSent()
		if got := delay(time.Second); got != want {
			t.Errorf("after a timeout %v, want %v", got, want)
		}
	}
	for _, want := range []time.Duration{120 * ms, 80 * ms, 60 * ms} {
		if got := delay(ms); got != want {
			t.Errorf("after a short gap %v, want %v", got, want)
		}
	}
}
