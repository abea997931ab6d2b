package tcp

import (
	"testing"
	"time"

	"tcpwheel/tcptimers"
)

// What a connection remembers of a sequence number, it forgets before the numbers have gone half around.

func TestDupAcksForgetARecoveryThatIsPassed(t *testing.T) {
	var d DupAcks
	d.Recover(1000)
	d.Passed(1001)
	for range dupThresh {
		d.Count()
	}
	if ack := Seq(1000).Add(3 << 30); !d.FastRetransmit(ack) {
		t.Errorf("3 GiB after a recovery, no fast retransmit at %d", ack)
	}
	d.Recover(1000)
	d.Passed(1000)
	if d.FastRetransmit(1000) {
		t.Error("a fast retransmit at the end of the last recovery")
	}
}

func TestUrgentDataIsToldOfAgainAfterHalfTheCircle(t *testing.T) {
	cfg := DefaultConfig(tcptimers.MustPolicy("per-segment"))
	p := newPair(t, time.Millisecond, cfg, cfg)
	p.open()
	urgent := func() bool {
		p.ends[1].events = 0
		p.do(0, func(c *Conn, o *Output) { c.Wrote(p.now, 1, WriteUrgent, o) })
		p.run(time.Second)
		return p.ends[1].events.Has(EventUrgent)
	}
	if !urgent() {
		t.Fatal("urgent data is not told of")
	}
	p.ends[1].conn.rcvUp += 1 << 30 // as the old one looks from 3 GiB on
	if !urgent() {
		t.Error("urgent data is not told of again")
	}
}
