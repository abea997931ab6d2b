package tcp

import (
	"fmt"
	"math"
	"time"

	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/tcptimers"
)

// Config is what connections are made by. It is shared by all that are alike, and not to be changed once one was made;
// DefaultConfig gives one to start from, and Check says whether it holds.
type Config struct {
	Policy tcptimers.Policy

	// Control names the congestion control, as congestion.New knows it, and Congestion has its parameters; the engine fills in
	// MSS, SYNLost and Paced.
	Control    string
	Congestion congestion.Config
	VegasCheck bool // the fine-grained check of TCP Vegas, under any control
	Pacing     bool // segments are spread over the round trip by a timer

	// Reno has a fast recovery without SACK end with the first ACK of new data, as 4.3BSD Reno has it: what else was lost of the flight
	// waits for duplicate ACKs of its own, or for the timer.
	//
	// DEVIATION RFC 6582 §3.2: it is for studies of what was measured before NewReno.
	Reno bool

	// Script has connections follow another sender, for replays of captures; nil for none.
	Script *Script

	// What is offered to the peer in a SYN, and agreed to in a SYN-ACK.
	Timestamps bool // RFC 7323 §3
	WScale     bool // RFC 7323 §2
	SACK       bool // RFC 2018
	ECN        bool // RFC 3168

	// TimestampTick is the tick of the clock of timestamps: 1 µs to 1 s. RFC 7323 §5.4 wants 1 ms to 1 s.
	TimestampTick time.Duration

	RecvBuffer    uint32 // octets that are received and not read yet, 1..2^30-2^14
	RecvBufferMax uint32 // to which RecvBuffer grows by what the application reads; not above RecvBuffer: it stays
	MaxOutOfOrder int    // ranges that are held out of order, 1..4096
	MaxSegments   int    // segments in flight, 1..MaxSentSegments

	AckPush  bool // a segment with PSH is acknowledged at once
	Minshall bool // Nagle's algorithm waits only for small segments (Minshall's variant, as Linux has it)

	// InvalidAckInterval is the shortest time between two ACKs that answer segments of a connection that are not acceptable, so
	// that two ends that disagree do not answer each other for ever; 0 for none. Linux's tcp_invalid_ratelimit is 500 ms.
	InvalidAckInterval time.Duration

	Socket SocketOptions // with which a connection begins
}

// SocketOptions are what an application may change about its connection at any time, with Conn.SetOptions.
type SocketOptions struct {
	NoDelay  bool // TCP_NODELAY: no Nagle
	Cork     bool // TCP_CORK: full segments only, for at most 200 ms
	QuickAck bool // no ACK is delayed

	// NoQuickAck has also the first segments, which the policy would have acknowledged at once, wait for the timer (TCP_QUICKACK
	// set to 0). When it ends, the policy's quick ACKs begin anew.
	NoQuickAck bool

	// UserTimeout is how long data may stay unacknowledged, or unsent because the window is closed, before the connection is given
	// up (TCP_USER_TIMEOUT; RFC 9293 §3.8.3, RFC 5482); 0 leaves it to R2 of the policy.
	UserTimeout time.Duration

	// MaxSeg is the most that the MSS may be (TCP_MAXSEG), MinMSS..65535; 0 is no bound of its own.
	MaxSeg uint16

	// FinWait2 is how long a closed connection waits for the peer's FIN (TCP_LINGER2); 0 leaves it to the policy.
	FinWait2 time.Duration

	// WindowClamp is the most that the window offers, whatever the receive buffer is (TCP_WINDOW_CLAMP); 0 is no bound of its own.
	// What is on offer already is not taken back.
	WindowClamp uint32

	Keepalive              bool // SO_KEEPALIVE
	KeepIdle, KeepInterval time.Duration
	KeepCount              int
}

// DefaultConfig returns the configuration for connections under the policy: all extensions but ECN and pacing, CUBIC, and buffers
// of 1 MiB that grow to 4 MiB.
func DefaultConfig(p tcptimers.Policy) Config {
	return Config{
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
}

// Check returns an error that names the first field that is out of its bounds, its value and the bounds; nil if c holds.
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
	if err := c.Script.Check(); err != nil {
		return err
	}
	return c.Socket.Check()
}

// Check returns an error that names the first field that is out of its bounds, its value and the bounds; nil if o holds.
func (o *SocketOptions) Check() error {
	const longest = time.Duration(math.MaxInt32) * time.Second
	switch {
	case o.UserTimeout < 0 || o.UserTimeout > longest:
		return fmt.Errorf("tcp: user timeout %v, want 0s to %v", o.UserTimeout, longest)
	case o.MaxSeg != 0 && o.MaxSeg < MinMSS:
		return fmt.Errorf("tcp: largest segment %d, want 0, or %d..65535", o.MaxSeg, MinMSS)
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

// Path is what is known of the way to the peer.
type Path struct {
	MTU   int  // of the path, octets: at least the headers and MinMSS
	IPv6  bool // IP's fixed header is of 40 octets, and defaultMSS that of IPv6
	IPLen int  // octets of IP options or extension headers
}

func (p *Path) ipHeaderLen() int {
	if p.IPv6 {
		return ipv6HeaderLen + p.IPLen
	}
	return ipv4HeaderLen + p.IPLen
}

// Check returns an error if the MTU leaves no room for a segment, or there are more options of IP than can be.
func (p *Path) Check() error {
	most := 40
	if p.IPv6 {
		most = 215 // octets of all its headers are counted by 8 bits
	}
	if p.IPLen < 0 || p.IPLen > most {
		return fmt.Errorf("tcp: IP options of %d octets, want 0..%d", p.IPLen, most)
	}
	if least := p.ipHeaderLen() + HeaderLen + MinMSS; p.MTU < least || p.MTU > 1<<17 {
		return fmt.Errorf("tcp: MTU %d, want %d..%d", p.MTU, least, 1<<17)
	}
	return nil
}
