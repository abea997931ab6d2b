package tcp

import (
	"testing"
	"time"

	"tcpwheel/tcptimers"
)

func TestConnOpensOnce(t *testing.T) {
	cfg := DefaultConfig(tcptimers.MustPolicy("per-segment"))
	p := newPair(t, time.Millisecond, cfg, cfg)
	p.open()
	p.shutdown(0)
	p.run(time.Second)
	p.shutdown(1)
	p.run(10 * time.Minute)
	syn := Inbound{Header: &Header{Seq: 1, Flags: SYN}}
	ack := Inbound{Header: &Header{Seq: 2, Ack: p.ends[1].conn.snd.iss + 1, Flags: ACK}}
	for i := range p.ends {
		for name, open := range map[string]func(c *Conn, o *Output){
			"Connect":      func(c *Conn, o *Output) { c.Connect(p.now, o) },
			"Accept":       func(c *Conn, o *Output) { c.Accept(p.now, &syn, o) },
			"AcceptCookie": func(c *Conn, o *Output) { c.AcceptCookie(p.now, &ack, Cookie{mss: 1460}, o) },
		} {
			if got := p.ends[i].conn.State(); got != StateClosed || p.ends[i].conn.Err() != nil {
				t.Fatalf("side %d is in %v with %v, want CLOSED, nil", i, got, p.ends[i].conn.Err())
			}
			sent := p.n
			p.do(i, open)
			if got := p.ends[i].conn.State(); got != StateClosed || p.n != sent {
				t.Errorf("side %d, after its end: %s goes to %v and sends %d segments, want CLOSED, none", i, name, got, p.n-sent)
			}
		}
	}
}

func TestKeepaliveCount255(t *testing.T) {
	cfg := DefaultConfig(tcptimers.MustPolicy("per-segment"))
	cfg.Socket.Keepalive, cfg.Socket.KeepIdle, cfg.Socket.KeepInterval, cfg.Socket.KeepCount = true, time.Second, time.Second, 255
	p := newPair(t, time.Millisecond, cfg, cfg)
	p.open()
	sent := 0
	p.drop = func(pkt *pairPacket) bool {
		if pkt.from == 0 {
			sent++
		}
		return true
	}
	p.run(10 * time.Minute)
	if c := &p.ends[0].conn; c.State() != StateClosed || sent != 255+1 {
		t.Errorf("in %v after %d segments, want CLOSED after 255 probes and a RST", c.State(), sent)
	}
}

func TestFullQueueSplitsForSmallerMTU(t *testing.T) {
	for _, policy := range []string{"per-segment", "linux"} {
		cfg := DefaultConfig(tcptimers.MustPolicy(policy))
		cfg.MaxSegments = 1
		p := newPair(t, time.Millisecond, cfg, cfg)
		p.open()
		const mtu = 600
		p.drop = func(pkt *pairPacket) bool { return pkt.from == 0 && pkt.out.Len+HeaderLen+20 > mtu }
		p.write(0, 10000)
		p.do(0, func(c *Conn, o *Output) { c.ICMP(p.now, ICMPError{Kind: ICMPTooBig, Seq: c.snd.una, MTU: mtu}, o) })
		p.run(30 * time.Second)
		if got := p.ends[1].got; got != 10000 {
			t.Errorf("%s: %d bytes arrived, want 10000", policy, got)
		}
	}
}

// TestForgedMTU: messages that quote a sequence number in flight and claim the smallest MTUs make a
// sender's data three times as many packets at most, and 10 % more bytes. docs/security.md says so.
func TestForgedMTU(t *testing.T) {
	upload := func(forged bool) (packets, octets int) {
		cfg := DefaultConfig(tcptimers.MustPolicy("per-segment"))
		p := newPair(t, time.Millisecond, cfg, cfg)
		p.open()
		p.drop = func(pkt *pairPacket) bool {
			if pkt.from == 0 {
				packets, octets = packets+1, octets+20+HeaderLen+12+int(pkt.out.Len)
			}
			return false
		}
		p.write(0, 1<<20)
		for mtu := range uint32(200) {
			if forged {
				p.do(0, func(c *Conn, o *Output) { c.ICMP(p.now, ICMPError{Kind: ICMPTooBig, Seq: c.snd.una, MTU: mtu}, o) })
			}
			p.run(time.Millisecond)
		}
		p.run(time.Minute)
		if got := p.ends[1].got; got != 1<<20 {
			t.Errorf("%d bytes arrived", got)
		}
		return packets, octets
	}
	packets, octets := upload(false)
	more, larger := upload(true)
	t.Logf("%d packets of %d bytes in all; forged, %d of %d", packets, octets, more, larger)
	if more < 2*packets || more > 3*packets || 100*larger > 110*octets {
		t.Errorf("%d packets of %d bytes in all; forged, %d of %d, want up to three times as many, and 10 %% more", packets, octets, more, larger)
	}
}

func TestShorterKeepaliveCountsElapsedTime(t *testing.T) {
	cfg := DefaultConfig(tcptimers.MustPolicy("per-segment"))
	cfg.Socket.Keepalive = true
	p := newPair(t, time.Millisecond, cfg, cfg)
	p.open()
	probes := func() uint64 { return p.ends[0].out.Counters.TCPKeepAlive }
	keepalive := func(on bool, idle time.Duration) {
		p.do(0, func(c *Conn, o *Output) {
			opts := c.Options()
			opts.Keepalive, opts.KeepIdle = on, idle
			c.SetOptions(p.now, opts, o)
		})
	}
	p.run(time.Hour)
	keepalive(true, 10*time.Minute)
	p.run(time.Second)
	if got := probes(); got != 1 {
		t.Errorf("%d probes, want one: the connection was idle for an hour and must be probed after ten minutes", got)
	}
	keepalive(false, 10*time.Minute)
	p.run(time.Hour)
	keepalive(true, 10*time.Minute)
	p.run(time.Second)
	if got := probes(); got != 1 {
		t.Errorf("%d probes, want no other one before ten minutes with keepalive turned on", got)
	}
	p.run(10 * time.Minute)
	if got := probes(); got != 2 {
		t.Errorf("%d probes after ten minutes, want 2", got)
	}
}

func TestPathCheck(t *testing.T) {
	for _, test := range []struct {
		path Path
		ok   bool
	}{
		{Path{MTU: 1500}, true},
		{Path{MTU: 1500, IPLen: 40}, true},
		{Path{MTU: 1500, IPLen: 41}, false},
		{Path{MTU: 1500, IPLen: -1}, false},
		{Path{MTU: 1500, IPv6: true, IPLen: 215}, true},
		{Path{MTU: 1500, IPv6: true, IPLen: 216}, false},
		{Path{MTU: 20 + HeaderLen + MinMSS}, true},
		{Path{MTU: 20 + HeaderLen + MinMSS - 1}, false},
		{Path{MTU: 1<<17 + 1}, false},
	} {
		if err := test.path.Check(); (err == nil) != test.ok {
			t.Errorf("%+v: %v, want valid: %v", test.path, err, test.ok)
		}
	}
}

// TestInfoBeforeInit calls Info on a zero Conn, such as a listener's.
func TestInfoBeforeInit(t *testing.T) {
	var c Conn
	if got := c.Info(0); got != (Info{}) {
		t.Errorf("Info before Init = %+v, want the zero Info", got)
	}
}
