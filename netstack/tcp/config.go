package tcp

import (
	"fmt"
	"math"
	"time"

	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/tcptimers"
)

// Config configures connections. Connections share it, so it must not change once one uses it.
// DefaultConfig returns a starting point; Check validates it.
type Config struct {
	Policy tcptimers.Policy

	// Control names the congestion controller: "newreno", "cubic" (the default) or "vegas".
	// Congestion has its parameters; the engine sets MSS, SYNLost and Paced.
	Control    string
	Congestion congestion.Config
	VegasCheck bool // TCP Vegas's fine-grained timeout check, with any controller
	Pacing     bool // a timer spreads segments over the round trip

	// Reno ends fast recovery without SACK at the first ACK of new data, as 4.3BSD Reno does. Other
	// losses of the flight wait for their own duplicate ACKs or for the timer.
	//
	// DEVIATION RFC 6582 §3.2: this exists to study measurements made before NewReno.
	Reno bool

	// Replay has connections follow another sender, for replays of captures; nil for none.
	Replay *ReplayConfig

	// Options offered in the SYN and accepted in the SYN-ACK. All but ECN are on by default.
	Timestamps bool // RFC 7323 §3
	WScale     bool // RFC 7323 §2
	SACK       bool // RFC 2018
	ECN        bool // RFC 3168

	// RequireTimestamps drops segments without the timestamps that were negotiated, except SYNs and
	// RSTs (RFC 7323 §3.2, SHOULD). Off by default, as in Linux.
	RequireTimestamps bool

	// ICMPEndsHandshake ends a handshake when the network reports an unreachable destination, as Linux
	// and gVisor do. Off by default: RFC 9293 §3.9.2.2 (MUST-56) keeps such a connection.
	ICMPEndsHandshake bool

	// TimestampTick is the tick of the timestamp clock: 1 µs to 1 s, 1 ms by default. RFC 7323 §5.4
	// wants 1 ms to 1 s.
	TimestampTick time.Duration

	RecvBuffer    uint32 // bytes, 1..2^30-2^14; default 1 MiB
	RecvBufferMax uint32 // RecvBuffer grows up to this, default 4 MiB; ≤ RecvBuffer disables growth
	MaxOutOfOrder int    // out-of-order ranges held, 1..4096; default 1024
	MaxSegments   int    // segments in flight, 1..MaxSentSegments; default 65,536

	// PRRInCWR spreads the reduction for an ECN mark, or for a loss that a probe repaired, over the
	// round trip by PRR, as Linux does. Without it cwnd falls at once.
	PRRInCWR bool

	// ResetAtAck makes the RST for data that arrives after Close a plain <SEQ=SEG.ACK><CTL=RST>, as
	// in Linux (tcp_v4_send_reset). Without it the RST is at SND.NXT if our FIN has probably arrived
	// before it: there a peer by RFC 5961 obeys it at once.
	ResetAtAck bool

	// WholeSACKs ignores the SACK of a part of a segment, as Linux does (tcp_match_skb_to_sack). The
	// segment is then neither delivered nor evidence of another's loss.
	WholeSACKs bool

	AckPush  bool // acknowledge a segment with PSH at once
	Minshall bool // Nagle's algorithm waits only for small segments (Minshall's variant, as in Linux)

	// InvalidAckInterval is the shortest time between two ACKs that answer unacceptable segments of
	// a connection, 0 to 1 h; 0 is no limit. It stops two ends that disagree from answering each
	// other forever. The default is Linux's tcp_invalid_ratelimit, 500 ms.
	InvalidAckInterval time.Duration

	Socket SocketOptions // the initial socket options
}

// SocketOptions are the options that an application may change at any time with Conn.SetOptions.
type SocketOptions struct {
	NoDelay  bool // TCP_NODELAY: Nagle's algorithm is off
	Cork     bool // TCP_CORK: send full segments only, for at most 200 ms
	QuickAck bool // never delay an ACK

	// NoQuickAck also delays the first ACKs, which the policy would send at once (TCP_QUICKACK set
	// to 0). When it is cleared, the policy's quick ACKs start over.
	NoQuickAck bool

	// NotSentLowat is how many unsent bytes end the room for writes (TCP_NOTSENT_LOWAT); 0 is no
	// bound. See Conn.WriteRoom and Conn.LittleUnsent.
	NotSentLowat uint32

	// UserTimeout is how long data may stay unacknowledged, or unsent behind a closed window,
	// before the connection fails (TCP_USER_TIMEOUT; RFC 9293 §3.8.3, RFC 5482). 0 uses R2 of the
	// policy.
	UserTimeout time.Duration

	// MaxSeg is an upper bound on the MSS in both directions (TCP_MAXSEG), MinMSS..65535 bytes; 0
	// is no bound.
	MaxSeg uint16

	// FinWait2 is how long a closed connection waits for the peer's FIN (TCP_LINGER2); 0 uses the
	// policy's time.
	FinWait2 time.Duration

	// TimeWait is how long a connection that enters TIME-WAIT stays there, up to 4 min; 0 uses 2·MSL
	// of the policy.
	TimeWait time.Duration

	// WindowClamp is an upper bound on the advertised window, bytes (TCP_WINDOW_CLAMP); 0 is no
	// bound. It never shrinks a window already advertised.
	WindowClamp uint32

	Keepalive              bool // SO_KEEPALIVE
	KeepIdle, KeepInterval time.Duration
	KeepCount              int
}

// DefaultConfig returns the configuration for a policy: all extensions but ECN and pacing, CUBIC,
// and a receive buffer of 1 MiB that grows to 4 MiB. With Linux's estimator, as in the profiles
// linux and linux-jiffies, it also has Linux's variants of HyStart, PRR and Nagle's algorithm, and
// the settings above that follow Linux.
func DefaultConfig(p tcptimers.Policy) Config {
	c := Config{
		Policy:  p,
		Control: "cubic",

		Timestamps:    true,
		WScale:        true,
		SACK:          true,
		TimestampTick: time.Millisecond,

		RecvBuffer:    1 << 20,
		RecvBufferMax: 4 << 20,
		MaxOutOfOrder: 1024,
		MaxSegments:   1 << 16,

		InvalidAckInterval: 500 * time.Millisecond,

		Socket: SocketOptions{
			Keepalive: p.Keepalive, KeepIdle: p.KeepIdle, KeepInterval: p.KeepInterval, KeepCount: p.KeepCount,
		},
	}
	if p.Estimator == tcptimers.EstimatorLinux {
		c.Congestion.SlowStart, c.PRRInCWR, c.Minshall = congestion.HyStartLinux, true, true
		c.Congestion.Reduce = congestion.ReduceCwnd
		c.Congestion.CountDelivered, c.ResetAtAck, c.WholeSACKs = true, true, true
	}
	return c
}

// Check returns an error that names the first field out of bounds, its value and the bounds; nil if
// c is valid.
func (c *Config) Check() error {
	if err := c.Policy.Check(); err != nil {
		return err
	}
	cc := c.Congestion
	cc.MSS = DefaultMSS4
	if _, err := congestion.New(c.Control, cc); err != nil {
		return err
	}
	switch {
	case c.TimestampTick < time.Microsecond || c.TimestampTick > time.Second:
		return fmt.Errorf("tcp: timestamp tick %v, want 1µs to 1s", c.TimestampTick)
	case c.RecvBuffer < 1 || c.RecvBuffer > 65535<<MaxWScale:
		return fmt.Errorf("tcp: receive buffer %d, want 1..%d", c.RecvBuffer, 65535<<MaxWScale)
	case c.RecvBufferMax > 65535<<MaxWScale:
		return fmt.Errorf("tcp: largest receive buffer %d, want 0..%d", c.RecvBufferMax, 65535<<MaxWScale)
	case c.MaxOutOfOrder < 1 || c.MaxOutOfOrder > 4096:
		return fmt.Errorf("tcp: out-of-order ranges %d, want 1..4096", c.MaxOutOfOrder)
	case c.MaxSegments < 1 || c.MaxSegments > MaxSentSegments:
		return fmt.Errorf("tcp: max segments %d, want 1..%d", c.MaxSegments, MaxSentSegments)
	case c.InvalidAckInterval < 0 || c.InvalidAckInterval > time.Hour:
		return fmt.Errorf("tcp: invalid ACK interval %v, want 0s to 1h", c.InvalidAckInterval)
	}
	if err := c.Replay.Check(); err != nil {
		return err
	}
	return c.Socket.Check()
}

// Check returns an error that names the first field out of bounds, its value and the bounds; nil if
// o is valid.
func (o *SocketOptions) Check() error {
	const longest = time.Duration(math.MaxInt32) * time.Second
	switch {
	case o.UserTimeout < 0 || o.UserTimeout > longest:
		return fmt.Errorf("tcp: user timeout %v, want 0s to %v", o.UserTimeout, longest)
	case o.MaxSeg != 0 && o.MaxSeg < MinMSS:
		return fmt.Errorf("tcp: largest segment %d, want 0, or %d..65535", o.MaxSeg, MinMSS)
	case o.TimeWait < 0 || o.TimeWait > 4*time.Minute:
		return fmt.Errorf("tcp: TIME-WAIT %v, want 0s to 4m0s", o.TimeWait)
	case o.FinWait2 < 0 || o.FinWait2 > longest:
		return fmt.Errorf("tcp: FIN-WAIT-2 %v, want 0s to %v", o.FinWait2, longest)
	case o.KeepIdle <= 0 || o.KeepIdle > longest:
		return fmt.Errorf("tcp: keepalive idle time %v, want more than 0s to %v", o.KeepIdle, longest)
	case o.KeepInterval <= 0 || o.KeepInterval > longest:
		return fmt.Errorf("tcp: keepalive interval %v, want more than 0s to %v", o.KeepInterval, longest)
	case o.KeepCount < 1 || o.KeepCount > 255:
		return fmt.Errorf("tcp: keepalive count %d, want 1..255", o.KeepCount)
	}
	return nil
}

// Path describes the network path to the peer.
type Path struct {
	MTU   int  // bytes, at least the headers and MinMSS, at most 2^17
	IPv6  bool // the IP header has 40 bytes, and the default MSS is that of IPv6
	IPLen int  // IP options or extension headers, bytes
}

func (p *Path) ipHeaderLen() int {
	if p.IPv6 {
		return ipv6HeaderLen + p.IPLen
	}
	return ipv4HeaderLen + p.IPLen
}

// Check returns an error if the MTU has no room for a segment, or if IPLen is more than IP allows.
func (p *Path) Check() error {
	most := 40
	if p.IPv6 {
		most = 215 // a header length field has 8 bits
	}
	if p.IPLen < 0 || p.IPLen > most {
		return fmt.Errorf("tcp: IP options of %d bytes, want 0..%d", p.IPLen, most)
	}
	if least := p.ipHeaderLen() + HeaderLen + MinMSS; p.MTU < least || p.MTU > 1<<17 {
		return fmt.Errorf("tcp: MTU %d, want %d..%d", p.MTU, least, 1<<17)
	}
	return nil
}
