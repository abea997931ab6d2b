package tcp

import (
	"fmt"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// CanReconfigure returns an error that names the first field of cfg that an open connection cannot
// change, or nil if Reconfigure may be called.
func (c *Conn) CanReconfigure(cfg *Config) error {
	switch {
	case c.snd.rtt.est == nil || c.state == StateClosed:
		return nil
	case !c.state.synchronized():
		// The controller is created when the handshake ends.
		if same := *cfg; same.likeWithControl(c.snd.cfg) {
			return nil
		}
		return fmt.Errorf("tcp: configuration of a connection in %v, want it to be before or after the handshake", c.state)
	case cfg.TimestampTick != c.snd.cfg.TimestampTick:
		return fmt.Errorf("tcp: timestamp tick %v, want %v, which the peer was told", cfg.TimestampTick, c.snd.cfg.TimestampTick)
	case cfg.Policy.RACK != c.snd.cfg.Policy.RACK:
		return fmt.Errorf("tcp: RACK %v, want %v, as when the connection was opened", cfg.Policy.RACK, c.snd.cfg.Policy.RACK)
	}
	return nil
}

// likeWithControl reports whether c and d differ in the congestion controller only. It changes c.
func (c *Config) likeWithControl(d *Config) bool {
	c.Control, c.Congestion = d.Control, d.Congestion
	return *c == *d
}

// Reconfigure changes the configuration. cfg must have passed Check and CanReconfigure.
//
// What the handshake negotiated stays: timestamps, SACK, window scaling and the absence of ECN. ECN
// stops if cfg has none. The receive buffer and socket options also stay; use SetRecvBuffer and
// SetOptions.
//
// Retransmission timers restart by the new policy, counted from when their segments were sent.
// Other timers follow it from their next start. A changed estimator starts from the smoothed RTT,
// and a changed congestion controller from the current window. It costs O(segments in flight).
func (c *Conn) Reconfigure(now wheel.Time, cfg *Config, o *Output) {
	if err := c.CanReconfigure(cfg); err != nil {
		panic("BUG: " + err.Error())
	}
	was := c.snd.cfg
	if was == cfg {
		return
	}
	opts := &cfg.Socket
	if c.snd.rtt.est != nil {
		kept := *c.snd.opts
		opts = &kept
	}
	c.snd.cfg, c.snd.opts, c.snd.rexmit = cfg, opts, rexmitTimerOf(&cfg.Policy)
	if c.snd.rtt.est == nil {
		return
	}
	if c.state == StateClosed || c.state == StateTimeWait {
		return
	}
	if !cfg.ECN {
		c.snd.ecn.Disable()
	}
	c.snd.detector = lossDetectorOf(c.snd.cfg, c.rcv.sackOn)
	c.snd.cc.change(&c.snd, was)
	c.snd.changeTimers(now, was, o)
	if was.Pacing && !cfg.Pacing {
		c.snd.timers.stop(o, tcptimers.Pacing)
	}
	c.output(now, o)
}

// SetRecvBuffer sets the receive buffer to n ≥ 1 bytes, limited by the negotiated window scale
// (SO_RCVBUF), and disables automatic growth. A smaller buffer does not shrink the advertised
// window; it takes effect as the window is used (RFC 9293 §3.8.6, SHLD-14). Before the handshake
// completes it is a no-op.
func (c *Conn) SetRecvBuffer(now wheel.Time, n uint32, o *Output) {
	if !c.state.canReceive() || c.state == StateSynReceived {
		return
	}
	c.rcv.win.Resize(n)
	c.rcv.win.fixed = true
	c.Consumed(now, 0, o)
}

// RecvBuffer returns RCV.BUFF in bytes, 0 before the handshake. It starts as configured, or as set
// by SetRecvBuffer, and may have grown since.
func (c *Conn) RecvBuffer() uint32 { return c.rcv.win.Buff() }
