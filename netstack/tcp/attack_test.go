package tcp

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestAttackBlindRST has an attacker who knows addresses and ports guess sequence numbers of RSTs.
func TestAttackBlindRST(t *testing.T) {
	h := newHostile(t, hostileConfig(), EngineConfig{ChallengeLimit: 100})
	x := h.connect(t, 65535, Options{})
	// RFC 5961 §3.2: "If the RST bit is set and the sequence number exactly matches the next
	// expected sequence number (RCV.NXT), then TCP MUST reset the connection." In the window, "TCP
	// MUST send an acknowledgment (challenge ACK)"; outside, "silently drop the segment".
	rst := func(seq Seq) { h.input(Header{Seq: seq, Flags: RST, SrcPort: 4000, DstPort: 80}, 0) }
	rst(x.ack.Add(1))
	if len(h.sent) != 1 || h.sent[0].Header.Flags != ACK || h.sent[0].Header.Ack != x.ack {
		t.Errorf("a RST in the window is answered by %+v, want a challenge ACK", h.sent)
	}
	rst(x.edge.Add(1))
	rst(x.ack - 1)
	if len(h.sent) != 0 {
		t.Errorf("a RST outside the window is answered by %+v, want nothing", h.sent)
	}
	answers := 0
	for i := range uint32(100_000) {
		rst(x.ack.Add(1 + i*37%x.wnd/2))
		answers += len(h.sent)
		if i%1000 == 0 {
			h.advance(10*time.Millisecond, 10)
		}
	}
	// RFC 5961 §7 wants challenge ACKs throttled: here to about 100 per second, for 1 s.
	if answers > 500 || x.s.Conn().State() != StateEstablished {
		t.Errorf("100,000 RSTs in a second: %d answers, %v, want 500 at most, and ESTABLISHED", answers, x.s.Conn().State())
	}
	s := x.s
	rst(x.ack)
	if got := s.Conn().Err(); got != ErrReset || s.Conn().State() != StateClosed {
		t.Errorf("the RST at RCV.NXT: %v, %v, want CLOSED, %v", s.Conn().State(), got, ErrReset)
	}
}

// TestAttackBlindSYN does the same with SYNs.
func TestAttackBlindSYN(t *testing.T) {
	h := newHostile(t, hostileConfig(), EngineConfig{})
	x := h.connect(t, 65535, Options{})
	// RFC 5961 §4.2: "If the SYN bit is set, irrespective of the sequence number, TCP MUST send an
	// ACK (also referred to as challenge ACK) to the remote peer".
	for _, seq := range []Seq{x.ack, x.ack.Add(5), x.ack.Add(1 << 30), x.ack - 1<<30} {
		h.advance(time.Second, 10)
		h.input(Header{Seq: seq, Flags: SYN, Window: 1000, SrcPort: 4000, DstPort: 80}, 0)
		if len(h.sent) != 1 || h.sent[0].Header.Flags != ACK || h.sent[0].Header.Ack != x.ack || h.sent[0].Header.Seq != x.nxt {
			t.Errorf("a SYN at RCV.NXT%+d is answered by %+v, want a challenge ACK", int32(seq-x.ack), h.sent)
		}
	}
	if s := x.s.Conn().State(); s != StateEstablished {
		t.Errorf("state %v, want ESTABLISHED", s)
	}
}

// TestAttackBlindData does the same with data, and must guess the ACK too.
func TestAttackBlindData(t *testing.T) {
	h := newHostile(t, hostileConfig(), EngineConfig{})
	x := h.connect(t, 1000, Options{})
	data := func(ack Seq) uint32 {
		h.input(Header{Seq: x.ack, Ack: ack, Flags: ACK, Window: 1000, SrcPort: 4000, DstPort: 80}, 100)
		return h.took.Len
	}
	// RFC 5961 §5.2: "The ACK value is considered acceptable only if it is in the range of
	// ((SND.UNA - MAX.SND.WND) <= SEG.ACK <= SND.NXT). All incoming segments whose ACK value
	// doesn't satisfy the above condition MUST be discarded and an ACK sent back."
	for _, ack := range []Seq{x.nxt.Add(1), x.nxt.Add(1 << 20), x.nxt.Add(1 << 30), x.nxt - 1001 - 1, x.nxt - 1<<30} {
		h.advance(time.Second, 10)
		if n := data(ack); n != 0 || len(h.sent) != 1 || h.sent[0].Header.Flags != ACK {
			t.Errorf("data with SND.NXT%+d acknowledged: %d bytes taken, answered by %+v, want 0 and a challenge ACK",
				int32(ack-x.nxt), n, h.sent)
		}
	}
	if n := data(x.nxt); n != 100 {
		t.Errorf("data that acknowledges SND.NXT: %d bytes taken, want 100", n)
	}
}

// TestAttackAckDivision acknowledges every byte separately (S. Savage et al., "TCP Congestion
// Control with a Misbehaving Receiver", CCR 1999).
func TestAttackAckDivision(t *testing.T) {
	for _, control := range []string{"newreno", "cubic", "vegas"} {
		cfg := hostileConfig()
		cfg.Control = control
		h := newHostile(t, cfg, EngineConfig{})
		x := h.connect(t, 65535, Options{HasMSS: true, MSS: 1000})
		h.e.Wrote(h.now, x.s, 10_000_000, 0)
		h.collect()
		h.advance(20*time.Millisecond, 100)
		info := x.s.Conn().Info(h.now)
		una, before := x.iss.Add(1), info.Cwnd
		const octets = 3000
		for i := range uint32(octets) {
			h.ack(x, una.Add(i+1), 65535)
		}
		// RFC 3465 §2: the window grows by the bytes acknowledged, not by the number of ACKs.
		if after := x.s.Conn().Info(h.now).Cwnd; after > before+octets {
			t.Errorf("%s: %d ACKs of a byte each: the window grew from %d to %d, want %d at most",
				control, octets, before, after, before+octets)
		}
	}
}

// TestAttackOptimisticAck acknowledges data that was never sent.
func TestAttackOptimisticAck(t *testing.T) {
	h := newHostile(t, hostileConfig(), EngineConfig{})
	x := h.connect(t, 65535, Options{HasMSS: true, MSS: 1000})
	h.e.Wrote(h.now, x.s, 10_000_000, 0)
	h.collect()
	before, nxt := x.s.Conn().Info(h.now).Cwnd, x.nxt
	for i := range uint32(1000) {
		h.ack(x, nxt.Add(1+i), 65535)
		for _, p := range h.sent {
			if p.Len > 0 {
				t.Fatalf("the ACK of SND.NXT+%d had %d bytes sent", 1+i, p.Len)
			}
		}
	}
	if info := x.s.Conn().Info(h.now); info.Cwnd != before || x.s.Conn().Acked() != 0 || info.State != StateEstablished {
		t.Errorf("ACKs of what was never sent: window %d, %d bytes acknowledged, %v, want %d, 0, ESTABLISHED",
			info.Cwnd, x.s.Conn().Acked(), info.State, before)
	}
}

// TestAttackSACKFlood SACKs 10,000 segments in flight in pieces, in the worst order, and bounds the
// work.
func TestAttackSACKFlood(t *testing.T) {
	for name, block := range map[string]func(r *rand.Rand, i, n uint32) (from, to uint32){
		"every other byte": func(_ *rand.Rand, i, n uint32) (uint32, uint32) { return (2*i + 1) % n, (2*i+1)%n + 1 },
		"from the end":     func(_ *rand.Rand, i, n uint32) (uint32, uint32) { return n - 1 - 2*i%(n-2), n - 2*i%(n-2) },
		"anywhere": func(r *rand.Rand, _, n uint32) (uint32, uint32) {
			from := r.Uint32N(n - 1)
			return from, from + 1 + r.Uint32N(min(n-from, 3000))
		},
		"all, again and again": func(_ *rand.Rand, _, n uint32) (uint32, uint32) { return 100, n },
	} {
		cfg := hostileConfig()
		cfg.Congestion.InitialWindow = 64 << 20
		h := newHostile(t, cfg, EngineConfig{})
		x := h.connect(t, 65535, Options{HasMSS: true, MSS: 1000, SACKPermitted: true, HasWScale: true, WScale: 14})
		h.e.Wrote(h.now, x.s, 20_000_000, 0)
		h.collect()
		inFlight := x.s.Conn().snd.fl.sent.Len()
		if inFlight < 5_000 {
			t.Fatalf("%s: %d segments are in flight, want 5,000 at least", name, inFlight)
		}
		h.advance(10*time.Millisecond, 10)
		n := x.nxt.Sub(x.iss.Add(1))
		rnd := rand.New(rand.NewPCG(1, 2))
		acks := uint64(scaled(500, 2000))
		una, visits := x.iss.Add(1), x.s.Conn().snd.fl.sent.visits
		for i := range uint32(acks) {
			var blocks [MaxSACKBlocks]SeqRange
			for k := range blocks {
				from, to := block(rnd, i*MaxSACKBlocks+uint32(k), n)
				blocks[k] = SeqRange{una.Add(from), una.Add(to)}
			}
			h.ack(x, una, 65535, blocks[:]...)
		}
		visits = x.s.Conn().snd.fl.sent.visits - visits
		if per := visits / acks; per > uint64(inFlight)/20 {
			t.Errorf("%s: %d segments looked at for each of %d ACKs, with %d in flight, want a twentieth at most", name, per, acks, inFlight)
		}
		if got := x.s.Conn().snd.fl.sent.Len(); got > cfg.MaxSegments {
			t.Errorf("%s: %d segments are kept, want %d at most", name, got, cfg.MaxSegments)
		}
		if err := h.e.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAttackZeroWindow keeps the window closed and answers each probe.
func TestAttackZeroWindow(t *testing.T) {
	hold := func(h *hostile, x *hostileEnd, most time.Duration) (alive time.Duration) {
		for i := 0; i < 100_000 && most > 0; i++ {
			before := h.now
			h.advance(time.Minute, 1)
			most -= h.now.Sub(before)
			alive += h.now.Sub(before)
			if x.s.Conn().State() == StateClosed {
				return alive
			}
			if len(h.sent) > 0 {
				h.sent = h.sent[:0]
				h.ack(x, x.iss.Add(1), 0)
			}
		}
		return alive
	}

	h := newHostile(t, hostileConfig(), EngineConfig{})
	x := h.connect(t, 0, Options{})
	h.e.Wrote(h.now, x.s, 10_000, 0)
	h.collect()
	// RFC 9293 §3.8.6.1: "As long as the receiving TCP peer continues to send acknowledgments in
	// response to the probe segments, the sending TCP peer MUST allow the connection to stay open"
	// (MUST-37).
	if alive := hold(h, x, 24*time.Hour); x.s.Conn().State() != StateEstablished {
		t.Errorf("the window is shut, the application is there: %v after %v, want ESTABLISHED", x.s.Conn().State(), alive)
	}
	// After the application has closed, the connection must not last forever.
	h.e.Close(h.now, x.s, NoLinger)
	h.collect()
	if alive := hold(h, x, 24*time.Hour); x.s.Conn().State() != StateClosed {
		t.Errorf("the window is shut, the application has closed: %v after %v, want CLOSED", x.s.Conn().State(), alive)
	}
	if at, ok := h.e.NextTimeout(); ok {
		t.Errorf("a timer is left, at %v", time.Duration(at))
	}
	if err := h.e.Check(); err != nil {
		t.Error(err)
	}
}

// TestAttackHoles leaves holes everywhere: what is kept is bounded.
func TestAttackHoles(t *testing.T) {
	cfg := hostileConfig()
	cfg.RecvBuffer, cfg.MaxOutOfOrder = 1<<20, 100
	h := newHostile(t, cfg, EngineConfig{})
	x := h.connect(t, 65535, Options{SACKPermitted: true, HasWScale: true, WScale: 7})
	for i := range uint32(20_000) {
		h.input(Header{Seq: x.ack.Add(1 + 2*i), Ack: x.nxt, Flags: ACK, Window: 65535, SrcPort: 4000, DstPort: 80}, 1)
		if len(h.sent) > 1 {
			t.Fatalf("a byte is answered by %d segments", len(h.sent))
		}
	}
	c := h.e.Counters()
	if c.TCPOFODrop == 0 || c.TCPOFOQueue > 200 {
		t.Errorf("of 20,000 bytes with a hole before each, %d were kept, %d dropped, want 100 ranges", c.TCPOFOQueue, c.TCPOFODrop)
	}
	if err := h.e.Check(); err != nil {
		t.Error(err)
	}
}
