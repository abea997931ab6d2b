package tcp

import (
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"tcpwheel/tcptimers"
)

// TestReconfigureAtAnyTime changes both ends between random configurations at random times of a
// lossy transfer. The invariants hold and every byte arrives.
func TestReconfigureAtAnyTime(t *testing.T) {
	for _, rack := range []bool{true, false} {
		for seed := range int64(12) {
			var all []Config
			names := []string{}
			for name := range pairConfigs() {
				names = append(names, name)
			}
			slices.Sort(names)
			for _, name := range names {
				c := pairConfigs()[name]
				c.Timestamps, c.SACK = true, true
				if c.Policy.RACK == rack {
					all = append(all, c)
				}
			}
			for _, control := range []string{"newreno", "cubic", "vegas"} {
				c := all[0]
				c.Control = control
				all = append(all, c)
			}
			rng := rand.New(rand.NewSource(seed))
			p := newPair(t, 5*time.Millisecond, all[0], all[len(all)-1])
			p.open()
			p.drop = func(*pairPacket) bool { return rng.Float64() < float64(seed)/200 }
			const n = 200_000
			p.write(0, n)
			p.write(1, n/2)
			for range 60 {
				p.run(time.Duration(rng.Intn(40)) * time.Millisecond)
				i := rng.Intn(2)
				p.do(i, func(c *Conn, o *Output) { c.Reconfigure(p.now, &all[rng.Intn(len(all))], o) })
			}
			p.shutdown(0)
			p.shutdown(1)
			p.run(900 * time.Second)
			if a, b := p.ends[1].got, p.ends[0].got; a != n || b != n/2 {
				t.Fatalf("RACK %v, seed %d: %d and %d bytes arrived, want %d and %d", rack, seed, a, b, n, n/2)
			}
		}
	}
}

// TestReconfigureMovesTheTimers lowers the floor on the RTO of a connection with a segment in
// flight that is lost.
func TestReconfigureMovesTheTimers(t *testing.T) {
	slow := DefaultConfig(tcptimers.MustPolicy("rfc6298"))
	fast := slow
	fast.Policy.Bounds.Min = 20 * time.Millisecond
	each := fast
	each.Policy.Rexmit = tcptimers.RexmitPerSegment
	for _, c := range []struct {
		name     string
		cfg      *Config
		min, max time.Duration
	}{
		{"as it was", &slow, time.Second, 1010 * time.Millisecond},
		{"a lower floor", &fast, 20 * time.Millisecond, 60 * time.Millisecond},
		{"a timer for each segment", &each, 20 * time.Millisecond, 60 * time.Millisecond},
	} {
		p := newPair(t, time.Millisecond, slow, slow)
		p.open()
		p.write(0, 100)
		p.run(time.Second)
		p.drop = func(*pairPacket) bool { return true }
		p.write(0, 100)
		sent := p.now
		p.do(0, func(conn *Conn, o *Output) { conn.Reconfigure(p.now, c.cfg, o) })
		for n := p.n; p.n == n; {
			if !p.step(sent.Add(time.Minute)) {
				t.Fatalf("%s: the segment was not retransmitted", c.name)
			}
		}
		if d := p.now.Sub(sent); d < c.min || d > c.max {
			t.Errorf("%s: retransmitted after %v, want %v to %v", c.name, d, c.min, c.max)
		}
	}
}

// TestReconfigureRefuses lists the changes that an open connection rejects.
func TestReconfigureRefuses(t *testing.T) {
	cfg := DefaultConfig(tcptimers.MustPolicy("per-segment"))
	p := newPair(t, time.Millisecond, cfg, cfg)
	conn := &p.ends[0].conn
	other := cfg
	other.TimestampTick *= 2
	if err := conn.CanReconfigure(&other); err != nil {
		t.Errorf("before it is opened: %v, want no error", err)
	}
	p.do(0, func(c *Conn, o *Output) { c.Connect(p.now, o) })
	vegas, paced := cfg, cfg
	vegas.Control, paced.Pacing = "vegas", true
	if err := conn.CanReconfigure(&vegas); err != nil {
		t.Errorf("another control in the handshake: %v, want no error", err)
	}
	p.do(0, func(c *Conn, o *Output) { c.Reconfigure(p.now, &vegas, o) })
	if err := conn.CanReconfigure(&paced); err == nil || !strings.Contains(err.Error(), "SYN-SENT") {
		t.Errorf("in the handshake: %v, want an error that names the state", err)
	}
	p.run(time.Second)
	if got := conn.snd.cc.Name(); got != "vegas" {
		t.Errorf("control after the handshake: %s, want vegas", got)
	}
	if err := conn.CanReconfigure(&other); err == nil || !strings.Contains(err.Error(), "timestamp tick") {
		t.Errorf("another timestamp tick: %v, want an error that names it", err)
	}
	other = cfg
	other.Policy.RACK, other.Policy.TLP = false, false
	if err := conn.CanReconfigure(&other); err == nil || !strings.Contains(err.Error(), "RACK") {
		t.Errorf("without RACK: %v, want an error that names it", err)
	}
}

// offers returns the last window that side 1 advertised, bytes.
func offers(p *pair) *uint32 {
	wnd := new(uint32)
	p.drop = func(k *pairPacket) bool {
		if k.from == 1 {
			*wnd = uint32(k.out.Header.Window) << p.ends[1].conn.rcv.win.scale
		}
		return false
	}
	return wnd
}

// TestSetRecvBuffer changes the receive buffer of a connection whose application does not read.
//
// RFC 9293 §3.8.6 (SHLD-14): "A TCP receiver SHOULD NOT shrink the window, i.e., move the right
// window edge to the left."
func TestSetRecvBuffer(t *testing.T) {
	cfg := DefaultConfig(tcptimers.MustPolicy("per-segment"))
	cfg.RecvBuffer, cfg.RecvBufferMax = 60_000, 1<<20
	p := newPair(t, 10*time.Millisecond, cfg, cfg)
	p.open()
	wnd := offers(p)
	p.ends[1].lazy = true
	set := func(n uint32) {
		p.do(1, func(c *Conn, o *Output) { c.SetRecvBuffer(p.now, n, o) })
		p.run(time.Second)
	}
	p.write(0, 20_000)
	p.run(time.Second)
	set(30_000)
	p.write(0, 15_000)
	p.run(time.Second)
	if got := *wnd; got > 60_000-35_000+1<<p.ends[1].conn.rcv.win.scale || got == 0 {
		t.Errorf("window after the buffer shrank to 30000 with 35000 unread of 60000 offered: %d, want what was on offer", got)
	}
	p.write(0, 100_000)
	p.run(10 * time.Second)
	if got := p.ends[1].conn.Received(); got < 59_000 || got >= 60_000+1<<p.ends[1].conn.rcv.win.scale {
		t.Errorf("%d bytes taken, want the 60000 on offer when the buffer shrank, and no more", got)
	}
	before := p.n
	set(200_000)
	if p.n == before || p.ends[1].conn.Received() != 135_000 {
		t.Errorf("%d bytes taken after the buffer grew, want all of 135000", p.ends[1].conn.Received())
	}
	// Automatic growth has stopped.
	p.ends[1].lazy = false
	p.do(1, func(c *Conn, o *Output) { c.Consumed(p.now, 135_000, o) })
	p.ends[1].got = 135_000
	p.write(0, 5<<20)
	p.run(10 * time.Second)
	if got := p.ends[1].conn.rcv.win.Buff(); got != 200_000 {
		t.Errorf("buffer %d after 5 MiB were read, want the 200000 that were set", got)
	}
}

// TestWindowClamp limits the window from the SYN on, and later.
func TestWindowClamp(t *testing.T) {
	cfg := DefaultConfig(tcptimers.MustPolicy("per-segment"))
	cfg.Socket.WindowClamp = 5000
	p := newPair(t, 10*time.Millisecond, DefaultConfig(tcptimers.MustPolicy("per-segment")), cfg)
	most := uint32(0)
	p.drop = func(k *pairPacket) bool {
		if k.from == 1 {
			scale := p.ends[1].conn.rcv.win.scale
			if k.out.Header.Flags.Has(SYN) {
				scale = 0
			}
			most = max(most, uint32(k.out.Header.Window)<<scale)
		}
		return false
	}
	p.open()
	p.write(0, 200_000)
	p.run(10 * time.Second)
	if most > 5000 || p.ends[1].got != 200_000 {
		t.Errorf("window of up to %d offered and %d bytes taken, want 5000 and all", most, p.ends[1].got)
	}
	opts := p.ends[1].conn.Options()
	opts.WindowClamp = 0
	p.do(1, func(c *Conn, o *Output) { c.SetOptions(p.now, opts, o) })
	if most < 100_000 {
		t.Errorf("window of up to %d offered after the bound was lifted, want an ACK that advertises all of it", most)
	}
}

// TestWindowClampBelowMSS: a window that is clamped below the MSS while it is open opens again when
// the application has read.
func TestWindowClampBelowMSS(t *testing.T) {
	cfg := DefaultConfig(tcptimers.MustPolicy("per-segment"))
	p := newPair(t, 10*time.Millisecond, cfg, cfg)
	p.open()
	p.write(0, 20_000)
	p.run(10 * time.Second)
	opts := p.ends[1].conn.Options()
	opts.WindowClamp = 1000
	p.do(1, func(c *Conn, o *Output) { c.SetOptions(p.now, opts, o) })
	p.write(0, 2<<20)
	p.run(20 * time.Minute)
	if p.ends[1].got != 20_000+2<<20 {
		t.Errorf("%d bytes taken, want all", p.ends[1].got)
	}
}

// TestNoQuickAck delays the ACKs of the first segments too.
func TestNoQuickAck(t *testing.T) {
	for _, quick := range []bool{true, false} {
		cfg := DefaultConfig(tcptimers.MustPolicy("per-segment"))
		cfg.Socket.NoQuickAck = !quick
		p := newPair(t, 0, cfg, cfg)
		p.open()
		p.write(0, 10) // draws an ACK with the window that the SYN-ACK could not express
		p.run(time.Second)
		acked := func() time.Duration {
			start := p.now
			p.write(0, 10)
			for p.ends[0].conn.Acked() < p.ends[1].got || p.ends[1].got == 0 || p.ends[0].conn.snd.fl.sent.Len() > 0 {
				p.step(start.Add(time.Second))
			}
			return p.now.Sub(start)
		}
		if d := acked(); quick != (d == 0) {
			t.Errorf("quick %v: acknowledged after %v", quick, d)
		}
		opts := p.ends[1].conn.Options()
		opts.NoQuickAck = quick
		p.do(1, func(c *Conn, o *Output) { c.SetOptions(p.now, opts, o) })
		if d := acked(); quick != (d > 0) {
			t.Errorf("changed to quick %v: acknowledged after %v", !quick, d)
		}
	}
}
