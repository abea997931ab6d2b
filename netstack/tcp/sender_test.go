package tcp

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// senderTest runs a sender that has no connection, against a receiver that has none either. The
// wire takes a round trip for a segment and its ACK, and drops what lost says.
type senderTest struct {
	snd  sender
	rcv  receiver // the sender's own end
	peer receiver
	cfg  Config
	out  Output
	now  wheel.Time

	rtt      time.Duration
	late     time.Duration                        // by which timers expire after their deadline, as in real time
	lost     func(segment int, rexmit uint8) bool // segments of 100 bytes, from 1
	timers   map[Slot]wheel.Time
	arriving []Outgoing
	at       []wheel.Time // when the ACKs of arriving come
	rexmits  []rexmitAt
}

// rexmitAt is a retransmission.
type rexmitAt struct {
	segment int
	at      wheel.Time
}

func newSenderTest(p tcptimers.Policy, sack bool, rtt time.Duration) *senderTest {
	x := &senderTest{rtt: rtt, timers: map[Slot]wheel.Time{}, lost: func(int, uint8) bool { return false }}
	x.cfg = DefaultConfig(p)
	x.cfg.Policy.DelAck = tcptimers.DelAckConfig{Every: 1}
	x.cfg.SACK, x.cfg.Timestamps, x.cfg.Socket.NoDelay = sack, false, true
	x.snd.init(&x.cfg, Path{MTU: 140}, 999, 0, &x.rcv)
	x.snd.rtt.open(&x.snd, &x.out)
	x.snd.sendSYN(0, &x.out)
	x.timersMove()
	x.now = wheel.Time(rtt)
	h := Header{Seq: 4999, Ack: 1000, Flags: SYN | ACK, Window: 65535, Options: Options{SACKPermitted: true}}
	x.peer.open(0, &Header{Seq: 999, Flags: SYN, Options: Options{SACKPermitted: sack}}, &x.cfg, &x.cfg.Socket, 65535, 100)
	x.rcv.open(x.now, &h, &x.cfg, &x.cfg.Socket, 65535, 100)
	x.snd.detector = lossDetectorOf(&x.cfg, x.rcv.sackOn)
	x.snd.establish(&h)
	x.snd.acknowledged(x.now, &Inbound{Header: &h}, false, &x.out)
	x.step()
	return x
}

// write makes the application write a segment.
func (x *senderTest) write() {
	x.snd.wrote(100, 0)
	x.step()
}

// run goes on for d.
func (x *senderTest) run(d time.Duration) {
	end := x.now.Add(d)
	for {
		at, slot := end, Slot(0)
		for _, s := range slices.Sorted(maps.Keys(x.timers)) {
			if x.timers[s] < at {
				at, slot = x.timers[s], s
			}
		}
		if len(x.at) > 0 && x.at[0] <= at && x.at[0] < end {
			x.now = x.at[0]
			x.arrive(x.arriving[0])
			x.arriving, x.at = x.arriving[1:], x.at[1:]
			continue
		}
		if x.now = at; at == end {
			return
		}
		delete(x.timers, slot)
		if !x.snd.timers.expired(&x.snd.fl.sent, slot) {
			x.fail(fmt.Errorf("slot %d expires and does not run", slot))
		}
		if x.snd.expired(x.now, slot, &x.out) {
			x.fail(fmt.Errorf("the sender gives up"))
		}
		x.step()
	}
}

// arrive gives a segment to the peer and its ACK to the sender.
func (x *senderTest) arrive(s Outgoing) {
	var o Output
	in, a := Inbound{Header: &s.Header, Len: s.Len}, Arrival{Seq: s.Header.Seq, Len: s.Len}
	if a.payload().End.After(x.peer.nxt()) {
		x.peer.arrived(x.now, &in, a, recvContext{cfg: &x.cfg, opts: &x.cfg.Socket, rto: time.Second}, &o)
	} else {
		x.peer.repeated(a, &o)
	}
	ack := Header{Seq: 5000, Flags: ACK}
	x.peer.consumed(s.Len)
	x.peer.stamp(&ack, 100, &o)
	x.rcv.lastRecv = x.now
	x.snd.acknowledged(x.now, &Inbound{Header: &ack}, false, &x.out)
	x.step()
}

// step lets the sender send, and checks its invariants.
func (x *senderTest) step() {
	x.snd.next(x.now, &x.out)
	for _, s := range x.out.Segments {
		n := int(s.Header.Seq-1000)/100 + 1
		if s.Rexmit > 0 {
			x.rexmits = append(x.rexmits, rexmitAt{n, x.now})
		}
		if s.Len > 0 && !x.lost(n, s.Rexmit) {
			x.arriving, x.at = append(x.arriving, s), append(x.at, x.now.Add(x.rtt))
		}
	}
	x.timersMove()
	x.fail(cmp.Or(x.snd.timer().check(&x.snd), x.snd.fl.check(x.snd.una, x.snd.iss)))
}

// timersMove carries out what the sender wants of its timers.
func (x *senderTest) timersMove() {
	for _, op := range x.out.Timers {
		if delete(x.timers, op.Slot); op.Start {
			x.timers[op.Slot] = op.At.Add(x.late)
		}
	}
	x.out.Reset()
}

// fail panics: examples have no testing.T.
func (x *senderTest) fail(err error) {
	if err != nil {
		panic(err)
	}
}

// TestSenderRepairs sends 200 segments through a wire that loses a tenth of them, with each
// retransmission timer and loss detector. All arrive, and no timer is left. Where packets were late,
// a timer that waits for RACK ends, although it expires between two ticks.
func TestSenderRepairs(t *testing.T) {
	for _, name := range tcptimers.PolicyNames() {
		for _, sack := range []bool{false, true} {
			x := newSenderTest(tcptimers.MustPolicy(name), sack, 40*time.Millisecond)
			x.late = 10 * time.Microsecond
			x.snd.rack.learns, x.snd.rack.reorderingSeen = sack, sack
			rnd := uint32(1)
			x.lost = func(int, uint8) bool {
				rnd = rnd*1664525 + 1013904223
				return rnd>>24 < 26
			}
			for range 200 {
				x.write()
				x.run(time.Millisecond)
			}
			x.run(time.Hour)
			x.lost = func(_ int, rexmit uint8) bool { return rexmit < 2 } // a lone segment, and its probe
			x.write()
			x.run(time.Hour)
			if got := x.snd.stats.acked; got != 201*100 || len(x.timers) != 0 {
				t.Errorf("%s, SACK %v: %d bytes are acknowledged, want 20100, and %d timers run", name, sack, got, len(x.timers))
			}
			if x.peer.received != 201*100 {
				t.Errorf("%s, SACK %v: %d bytes arrived, want 20100", name, sack, x.peer.received)
			}
		}
	}
}

// Example_rexmitTimers loses the same segments under each retransmission timer, and prints when
// each of them fires. Six segments leave 20 ms apart, the round trip is 200 ms and the RTO 600 ms.
// Nothing else finds losses: SACK, RACK and the loss probe are off.
func Example_rexmitTimers() {
	const rtt, rto, gap = 200 * time.Millisecond, 600 * time.Millisecond, 20 * time.Millisecond
	fmt.Printf("%-34s %-16s %s\n", "retransmitted, ms after it left", "6 is lost", "5 and 6 are lost")
	for _, timer := range []struct {
		name   string
		mode   tcptimers.RexmitMode
		shared bool
		tick   time.Duration
	}{
		{"a timer of each segment", tcptimers.RexmitPerSegment, false, time.Millisecond},
		{"one, restarted by RFC 7765", tcptimers.RexmitRTORestart, false, time.Millisecond},
		{"one, restarted by RFC 6298", tcptimers.RexmitRestart, false, time.Millisecond},
		{"the same, shared as in Linux", tcptimers.RexmitRestart, true, time.Millisecond},
		{"RFC 6298, with 4.4BSD's ticks", tcptimers.RexmitRestart, false, 500 * time.Millisecond},
	} {
		var cells []string
		for _, lost := range []int{6, 5} {
			p := tcptimers.MustPolicy("rfc6298")
			p.Rexmit, p.SharedTimer, p.Tick, p.Bounds.Min = timer.mode, timer.shared, timer.tick, rto
			p.RACK, p.TLP, p.FRTO = false, false, false
			x := newSenderTest(p, false, rtt)
			x.lost = func(n int, rexmit uint8) bool { return n >= lost && rexmit == 0 }
			start := x.now
			for range 6 {
				x.write()
				x.run(gap)
			}
			x.run(10 * time.Second)
			cell := ""
			for _, r := range x.rexmits {
				left := start.Add(time.Duration(r.segment-1) * gap)
				cell += fmt.Sprintf("%d: %-6d", r.segment, r.at.Sub(left).Milliseconds())
			}
			cells = append(cells, cell)
		}
		fmt.Println(strings.TrimRight(fmt.Sprintf("%-34s %-16s %s", timer.name, cells[0], cells[1]), " "))
	}
	// Output:
	// retransmitted, ms after it left    6 is lost        5 and 6 are lost
	// a timer of each segment            6: 600           5: 600   6: 780
	// one, restarted by RFC 7765         6: 600           5: 600   6: 780
	// one, restarted by RFC 6298         6: 780           5: 780   6: 960
	// the same, shared as in Linux       6: 780           5: 780   6: 960
	// RFC 6298, with 4.4BSD's ticks      6: 1200          5: 1220  6: 1400
}
