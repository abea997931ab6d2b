package track

import (
	"testing"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
)

// TestWaitByStamps: away from the sender D comes from its timestamps, and a lone segment that waited
// for more than a round trip was sent by a timer, whenever queues let it pass.
func TestWaitByStamps(t *testing.T) {
	for _, test := range []struct {
		name        string
		tick        float64 // ms
		first, copy float64 // captured, ms after they left
		want        time.Duration
		kind        Kind
	}{
		{"on time", 1, 0, 0, 45 * time.Millisecond, RTO},
		{"the first was late", 1, 44, 0, 45 * time.Millisecond, RTO},
		{"the copy was late", 1, 0, 90, 45 * time.Millisecond, RTO},
		{"100 Hz", 10, 0, 90, 50 * time.Millisecond, RTO},
		{"2 Hz shows nothing", 500, 0, 90, 135 * time.Millisecond, RTO},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLab(t, Config{})
			far := func(p *capture.Packet) { // the capture's host is the receiver
				if p.TTL = 52; p.Src == l.b {
					p.TTL = 64
				}
			}
			sent := func(at, late float64, seq, n int, flags tcp.Flags) {
				l.send(at+late, true, seq, n, 1, far, withFlags(flags), withStamps(uint32(at/test.tick)+1, 1))
			}
			answer := func(at float64, ack int, flags tcp.Flags) {
				l.send(at, false, 1, 0, ack, far, withFlags(flags), withStamps(uint32(at)+1, 1))
			}
			sent(0, 0, 0, 0, tcp.SYN)
			l.send(0.1, false, 0, 0, 1, far, withFlags(tcp.SYN|tcp.ACK), withStamps(1, 1))
			at, seq := 20.0, 1
			sent(at, 0, seq, 0, tcp.ACK)
			for range 60 {
				at += 20
				sent(at, 0, seq, 100, tcp.ACK)
				seq += 100
				answer(at+0.1, seq, tcp.ACK)
			}
			at += 20
			sent(at, test.first, seq, 100, tcp.ACK)
			sent(at+45, test.copy, seq, 100, tcp.ACK)
			answer(at+45+test.copy+0.1, seq+100, tcp.ACK)
			f := &l.done(1)[0].Flows[0]
			if len(f.Episodes) != 1 {
				t.Fatalf("%d episodes", len(f.Episodes))
			}
			e := f.Episodes[0]
			if off := (e.D - test.want).Abs(); off > time.Duration(min(test.tick, 10)*float64(time.Millisecond)) || e.Kind != test.kind {
				t.Errorf("%v after %v, want %v after %v; alone %v", e.Kind, e.D, test.kind, test.want, e.Retransmissions[0].alone)
			}
			if e.TRec != e.D+e.A+e.P || e.D != e.Detected.Sub(e.PrevSent) || e.FirstSent != e.PrevSent {
				t.Errorf("T_rec %v of %v, %v and %v; sent at %v, first at %v", e.TRec, e.D, e.A, e.P, e.PrevSent, e.FirstSent)
			}
		})
	}
}
