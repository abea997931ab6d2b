package tcp

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// TestRexmitTimers loses the same segments under each retransmission timer, and compares when they
// are retransmitted. Six segments leave 20 ms apart, the round trip is 200 ms and the RTO 600 ms.
// Nothing else finds losses: SACK, RACK and the loss probe are off.
func TestRexmitTimers(t *testing.T) {
	const rtt, rto, gap = 200 * time.Millisecond, 600 * time.Millisecond, 20 * time.Millisecond
	for _, test := range []struct {
		lost string // the segments lost, from 1
		mode tcptimers.RexmitMode
		want string // segment, and when it was retransmitted after its first transmission
	}{
		// Segment 6 is retransmitted an RTO after it was sent. If 5 is lost too, 6 waits for the ACK
		// of 5: a timeout leaves a window of one segment (RFC 5681 §3.1).
		{"6", tcptimers.RexmitPerSegment, "6 600ms"},
		{"5 6", tcptimers.RexmitPerSegment, "5 600ms 6 780ms"},
		// The ACK of the segment before restarts the timer, nearly a round trip later.
		{"6", tcptimers.RexmitRestart, "6 780ms"},
		{"5 6", tcptimers.RexmitRestart, "5 780ms 6 960ms"},
		// RFC 7765 subtracts how long the segment has been in flight then.
		{"6", tcptimers.RexmitRTORestart, "6 600ms"},
		{"5 6", tcptimers.RexmitRTORestart, "5 600ms 6 780ms"},
	} {
		p := tcptimers.MustPolicy("rfc6298")
		p.Rexmit, p.Tick, p.Bounds.Min = test.mode, time.Millisecond, rto
		p.RACK, p.TLP, p.FRTO = false, false, false
		cfg := DefaultConfig(p)
		cfg.SACK = false
		pair := newPair(t, rtt/2, cfg, cfg)
		pair.open()
		sent, got := map[uint64]wheel.Time{}, []string(nil)
		pair.drop = func(pkt *pairPacket) bool {
			if pkt.from == 1 || pkt.out.Len == 0 {
				return false
			}
			n := pkt.out.Offset/100 + 1
			if pkt.out.Rexmit > 0 {
				got = append(got, fmt.Sprint(n, pair.now.Sub(sent[n])))
				return false
			}
			sent[n] = pair.now
			return strings.Contains(test.lost, fmt.Sprint(n))
		}
		pair.do(0, func(c *Conn, o *Output) {
			opts := c.Options()
			opts.NoDelay = true
			c.SetOptions(pair.now, opts, o)
		})
		for range 6 {
			pair.write(0, 100)
			pair.run(gap)
		}
		pair.run(10 * time.Second)
		if s := strings.Join(got, " "); s != test.want {
			t.Errorf("%v, segments %s lost: retransmitted %s, want %s", test.mode, test.lost, s, test.want)
		}
	}
}
