package tcp

import (
	"fmt"
	"math"
	"time"

	"tcpwheel/internal/setting"
	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/tcptimers"
)

// Config configures connections. Connections share it, so it must not change once one uses it.
// DefaultConfig returns a starting point; Check validates it.
type Config struct {
	Policy tcptimers.Policy

	// Control names the congestion controller: "newreno", "cubic" (the default) or "vegas".
	// Congestion has its parameters; the engine sets MSS, SYNLost and Paced.
	Control    string `set:"control" alias:"cc" oneof:"newreno cubic vegas" help:"congestion control"`
	Congestion congestion.Config
	VegasCheck bool `set:"vegas-check" help:"the check of a fine clock of TCP Vegas, with any control"`
	Pacing     bool `set:"pacing" help:"a timer spreads segments over the round trip"`

	// Reno ends fast recovery without SACK at the first ACK of new data, as 4.3BSD Reno does. Other
	// losses of the flight wait for their own duplicate ACKs or for the timer.
	//
	// DEVIATION RFC 6582 §3.2: this exists to study measurements made before NewReno.
	Reno bool `set:"reno" help:"recovery ends with the first ACK of new data without SACK, as in 4.3BSD Reno"`

	// Replay has connections follow another sender, for replays of captures; nil for none.
	Replay *ReplayConfig

	// Options offered in the SYN and accepted in the SYN-ACK. All but ECN are on by default.
	Timestamps bool `set:"timestamps" help:"offer timestamps (RFC 7323 §3)"`
	WScale     bool `set:"wscale" help:"offer window scaling (RFC 7323 §2)"`
	SACK       bool `set:"sack" help:"offer SACK (RFC 2018)"`
	ECN        bool `set:"ecn" help:"offer ECN (RFC 3168)"`

	// RequireTimestamps drops segments without the timestamps that were negotiated, except SYNs and
	// RSTs (RFC 7323 §3.2, SHOULD). Off by default, as in Linux.
	RequireTimestamps bool `set:"require-timestamps" help:"drop segments without the negotiated timestamps"`

	// ICMPEndsHandshake ends a handshake when the network reports an unreachable destination, as Linux
	// and gVisor do. Off by default: RFC 9293 §3.9.2.2 (MUST-56) keeps such a connection.
	ICMPEndsHandshake bool `set:"icmp-ends-handshake" help:"an unreachable destination ends a handshake, as in Linux"`

	// TimestampTick is the tick of the timestamp clock, 1 ms by default. RFC 7323 §5.4 wants 1 ms
	// to 1 s.
	TimestampTick time.Duration `set:"timestamp-tick" min:"1us" max:"1s" help:"tick of the timestamp clock"`

	// RecvBuffer is 1 MiB by default and grows to 4 MiB. The bound is the largest window.
	RecvBuffer    uint32 `set:"recv-buffer" unit:"size" min:"1" max:"1073725440" help:"receive buffer, bytes"`
	RecvBufferMax uint32 `set:"recv-buffer-max" unit:"size" max:"1073725440" help:"the receive buffer grows up to this, bytes"`
	MaxOutOfOrder int    `set:"max-out-of-order" min:"1" max:"4096" help:"out-of-order ranges held"`
	MaxSegments   int    `set:"max-segments" min:"1" max:"1048576" help:"segments in flight"`

	// PRRInCWR spreads the reduction for an ECN mark, or for a loss that a probe repaired, over the
	// round trip by PRR, as Linux does. Without it cwnd falls at once.
	PRRInCWR bool `set:"prr-in-cwr" help:"spread the reduction for a mark over the round trip by PRR, as in Linux"`

	// ResetAtAck makes the RST for data that arrives after Close a plain <SEQ=SEG.ACK><CTL=RST>, as
	// in Linux (tcp_v4_send_reset). Without it the RST is at SND.NXT if our FIN has probably arrived
	// before it: there a peer by RFC 5961 obeys it at once.
	ResetAtAck bool `set:"reset-at-ack" help:"the RST for data after close has no ACK, as in Linux"`

	// WholeSACKs ignores the SACK of a part of a segment, as Linux does (tcp_match_skb_to_sack). The
	// segment is then neither delivered nor evidence of another's loss.
	WholeSACKs bool `set:"whole-sacks" help:"ignore the SACK of a part of a segment, as in Linux"`

	// LateOriginals makes the sender learn from late packets. An original that arrives behind its
	// retransmission, and a recovery that was undone, lengthen RACK's reordering window. Where the
	// path reorders, SACKs grow the congestion window, and the timestamps of retransmissions are
	// older, so that PAWS does not drop originals, and a segment's own timer waits for RACK's.
	// CUBIC's curve goes on after a spurious timeout. It needs SACK.
	LateOriginals bool `set:"late-originals" help:"learn from late packets, so that they are not taken for lost"`

	AckPush  bool `set:"ack-push" help:"acknowledge a segment with PSH at once"`
	Minshall bool `set:"minshall" help:"Nagle waits only for small segments, as in Linux"`

	// InvalidAckInterval is the shortest time between two ACKs that answer unacceptable segments of
	// a connection; 0 is no limit. It stops two ends that disagree from answering each
	// other forever. The default is Linux's tcp_invalid_ratelimit, 500 ms.
	InvalidAckInterval time.Duration `set:"invalid-ack-interval" max:"1h" help:"shortest time between answers to unacceptable segments; 0s: no limit"`

	Socket SocketOptions // the initial socket options
}

// SocketOptions are the options that an application may change at any time with Conn.SetOptions.
type SocketOptions struct {
	NoDelay  bool `set:"nodelay" help:"Nagle is off (TCP_NODELAY)"`
	Cork     bool // TCP_CORK: send full segments only, for at most 200 ms
	QuickAck bool `set:"quickack" help:"never delay an ACK"`

	// NoQuickAck also delays the first ACKs, which the policy would send at once (TCP_QUICKACK set
	// to 0). When it is cleared, the policy's quick ACKs start over.
	NoQuickAck bool

	// NotSentLowat is how many unsent bytes end the room for writes (TCP_NOTSENT_LOWAT); 0 is no
	// bound. See Conn.WriteRoom and Conn.LittleUnsent.
	NotSentLowat uint32 `set:"notsent-lowat" unit:"size" help:"unsent bytes that end the room for writes (TCP_NOTSENT_LOWAT); 0: none"`

	// UserTimeout is how long data may stay unacknowledged, or unsent behind a closed window,
	// before the connection fails (TCP_USER_TIMEOUT; RFC 9293 §3.8.3, RFC 5482). 0 uses R2 of the
	// policy.
	UserTimeout time.Duration `set:"user-timeout" max:"596523h14m7s" help:"how long data may stay unacknowledged (TCP_USER_TIMEOUT); 0s: r2"`

	// MaxSeg is an upper bound on the MSS in both directions (TCP_MAXSEG), MinMSS bytes or more; 0
	// is no bound.
	MaxSeg uint16 `set:"max-seg" zero:"ok" min:"48" help:"upper bound on the MSS (TCP_MAXSEG); 0: none"`

	// FinWait2 is how long a closed connection waits for the peer's FIN (TCP_LINGER2); 0 uses the
	// policy's time.
	FinWait2 time.Duration

	// TimeWait is how long a connection that enters TIME-WAIT stays there, up to 4 min; 0 uses 2·MSL
	// of the policy.
	TimeWait time.Duration

	// WindowClamp is an upper bound on the advertised window, bytes (TCP_WINDOW_CLAMP); 0 is no
	// bound. It never shrinks a window already advertised.
	WindowClamp uint32

	Keepalive    bool          `set:"keepalive" help:"probe a silent peer (SO_KEEPALIVE)"`
	KeepIdle     time.Duration `set:"keep-idle" min:"1ns" max:"596523h14m7s" help:"silence before the first probe"`
	KeepInterval time.Duration `set:"keep-interval" min:"1ns" max:"596523h14m7s" help:"time between probes"`
	KeepCount    int           `set:"keep-count" min:"1" max:"255" help:"unanswered probes that end a connection"`
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
	if err := setting.Check(c); err != nil {
		return fmt.Errorf("tcp: %w", err)
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
	if err := setting.Check(o); err != nil {
		return fmt.Errorf("tcp: %w", err)
	}
	switch {
	case o.TimeWait < 0 || o.TimeWait > 4*time.Minute:
		return fmt.Errorf("tcp: TIME-WAIT %v, want 0s to 4m0s", o.TimeWait)
	case o.FinWait2 < 0 || o.FinWait2 > longest:
		return fmt.Errorf("tcp: FIN-WAIT-2 %v, want 0s to %v", o.FinWait2, longest)
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
