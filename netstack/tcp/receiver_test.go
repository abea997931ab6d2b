package tcp

import (
	"testing"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// receiverTest feeds a receiver that has no connection.
type receiverTest struct {
	*testing.T
	r   receiver
	cfg Config
	out Output
	now wheel.Time
}

// newReceiverTest opens a receiver at IRS 999, with 10,000 bytes of buffer and segments of 1,000.
func newReceiverTest(t *testing.T) *receiverTest {
	r := &receiverTest{T: t, cfg: DefaultConfig(tcptimers.MustPolicy("rfc6298"))}
	r.cfg.RecvBuffer, r.cfg.RecvBufferMax = 10_000, 0
	syn := Header{Seq: 999, Flags: SYN, Options: Options{SACKPermitted: true}}
	r.r.open(0, &syn, &r.cfg, &r.cfg.Socket, 10_000, 1000)
	return r
}

// arrives feeds n bytes at seq and checks when to acknowledge them.
func (t *receiverTest) arrives(seq Seq, n uint32, flags Flags, want AckTiming) taken {
	t.Helper()
	t.now = t.now.Add(time.Millisecond)
	in := Inbound{Header: &Header{Seq: seq, Flags: flags | ACK}, Len: n}
	a := Arrival{Seq: seq, Len: n, FIN: flags.Has(FIN)}
	got := t.r.arrived(t.now, &in, a, recvContext{cfg: &t.cfg, opts: &t.cfg.Socket, rto: time.Second}, &t.out)
	if got.ack != want {
		t.Errorf("%d bytes at %d: ACK %v, want %v", n, seq, got.ack, want)
	}
	if got.ack == AckNow && !t.r.ackDue {
		t.Errorf("%d bytes at %d: no ACK is due", n, seq)
	}
	return got
}

// stamps checks the segment that leaves next.
func (t *receiverTest) stamps(ack Seq, window uint16, sacks ...SeqRange) {
	t.Helper()
	var h Header
	t.r.stamp(&h, 1000, &t.out)
	if h.Ack != ack || h.Window != window {
		t.Errorf("ACK %d with window %d, want %d with %d", h.Ack, h.Window, ack, window)
	}
	if int(h.Options.NumSACK) != len(sacks) {
		t.Fatalf("%d SACK blocks, want %d", h.Options.NumSACK, len(sacks))
	}
	for i, want := range sacks {
		if got := h.Options.SACK[i]; got != want {
			t.Errorf("SACK block %d is %v, want %v", i, got, want)
		}
	}
	if t.r.ackDue {
		t.Error("an ACK is due after a segment has acknowledged all")
	}
}

// RFC 5681 §4.2: "an ACK SHOULD be generated for at least every second full-sized segment", and
// "Out-of-order data segments SHOULD be acknowledged immediately".
func TestReceiver(test *testing.T) {
	t := newReceiverTest(test)
	t.cfg.Policy.DelAck.Quick = 0
	if got := t.arrives(1000, 1000, 0, AckDelayed); got.InOrder != 1000 || got.delay != t.cfg.Policy.DelAck.Delay {
		t.Errorf("the first segment: %+v", got)
	}
	if got := t.arrives(2000, 1000, 0, AckNow); got.Stream != 1000 {
		t.Errorf("the second segment: %+v", got)
	}
	t.stamps(3000, 8000)
	t.arrives(3000, 1000, 0, AckDelayed)
	t.stamps(4000, 7000)

	// A hole, its report, and the duplicate of what is behind it (RFC 2883 §4).
	if got := t.arrives(5000, 1000, 0, AckNow); got.InOrder != 0 || got.Len != 1000 || got.Stream != 4000 {
		t.Errorf("behind a hole: %+v", got)
	}
	t.stamps(4000, 7000, SeqRange{5000, 6000})
	t.r.repeated(Arrival{Seq: 1000, Len: 500}, &t.out)
	t.stamps(4000, 7000, SeqRange{1000, 1500}, SeqRange{5000, 6000})
	if got := t.arrives(4000, 1000, 0, AckNow); got.InOrder != 2000 || got.fin {
		t.Errorf("the hole is filled: %+v", got)
	}
	t.stamps(6000, 5000)

	// The FIN is in order.
	if got := t.arrives(6000, 0, FIN, AckNow); !got.fin {
		t.Errorf("the FIN: %+v", got)
	}
	t.stamps(6001, 4999)
}

// RFC 9293 §3.8.6.2.2: the window opens by steps worth an ACK.
func TestReceiverWindow(test *testing.T) {
	t := newReceiverTest(test)
	for seq := Seq(1000); seq < 11_000; seq += 1000 {
		t.arrives(seq, 1000, 0, AckNow)
	}
	t.stamps(11_000, 0)
	if t.r.updateDue(1999, 1000) || !t.r.updateDue(2000, 1000) {
		t.Error("the window must open once two segments fit")
	}
	if n := t.r.consumed(20_000); n != 10_000 || t.r.user != 0 {
		t.Errorf("%d bytes read of 10000, %d left", n, t.r.user)
	}
	t.stamps(11_000, 10_000)
	announced := func(up uint16) bool {
		o := Output{}
		t.r.takeUrgent(&Header{Flags: URG, Urgent: up}, 11_000, StateEstablished, &o)
		return o.Events.Has(EventUrgent)
	}
	if !announced(5) || announced(5) || announced(0) {
		t.Error("urgent data is announced once, and only if it is new")
	}
}
