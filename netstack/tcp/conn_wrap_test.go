package tcp

import (
	"testing"
	"time"

	"tcpwheel/tcptimers"
)

// A connection forgets each recorded sequence number before the numbers advance by 2^31.
func TestReductionIsNotUndoneAfterGiB(t *testing.T) {
	cfg := DefaultConfig(tcptimers.MustPolicy("per-segment"))
	p := newPair(t, 10*time.Millisecond, cfg, cfg)
	p.open()
	c := &p.ends[0].conn
	lost := false
	p.drop = func(pkt *pairPacket) bool {
		first := !lost && pkt.out.Len > 0
		lost = lost || first
		return first
	}
	p.write(0, 100_000)
	p.run(time.Second)
	if !c.snd.ep.undoable {
		t.Fatal("the reduction cannot be undone by a late DSACK")
	}
	c.snd.ep.recover -= 1 << 30 // a GiB later
	p.write(0, 1000)
	p.run(time.Second)
	if c.snd.ep.undoable {
		t.Error("the reduction can still be undone")
	}
}

func TestUrgentPointerToReceivedDataIsIgnored(t *testing.T) {
	cfg := DefaultConfig(tcptimers.MustPolicy("per-segment"))
	p := newPair(t, time.Millisecond, cfg, cfg)
	p.open()
	p.do(0, func(c *Conn, o *Output) { c.Wrote(p.now, 10, WriteUrgent, o) })
	p.run(time.Second)
	if !p.ends[1].events.Has(EventUrgent) {
		t.Fatal("urgent data is not reported")
	}
	p.ends[1].events = 0
	from, to := &p.ends[0].conn, &p.ends[1].conn
	h := Header{Seq: from.snd.nxt - 10, Ack: to.snd.nxt, Flags: URG | ACK, Urgent: 10, Window: 1000}
	h.Options.HasTimestamps, h.Options.TSVal = true, from.snd.timestamp(p.now)
	p.do(1, func(c *Conn, o *Output) { c.Input(p.now, &Inbound{Header: &h, Len: 11}, o) })
	if p.ends[1].events.Has(EventUrgent) {
		t.Error("a pointer to bytes already read is reported")
	}
	if got := to.Received(); got != 11 {
		t.Errorf("%d bytes received, want 11", got)
	}
}
