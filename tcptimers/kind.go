package tcptimers

// Kind is the purpose of a connection's timer.
type Kind uint8

// The kinds of timer. Under the policy "per-segment" each segment in flight has a Rexmit timer of
// its own until it is SACKed. Of each other kind a connection has at most one.
const (
	Rexmit      Kind = iota // a segment was not acknowledged: RFC 6298 §5
	DelAck                  // an acknowledgement is delayed: RFC 5681 §4.2
	Keepalive               // the peer is silent: RFC 9293 §3.8.4
	Persist                 // the peer's window is closed: RFC 9293 §3.8.6.1
	TLP                     // the probe timeout: RFC 8985 §7.2
	Reorder                 // RACK waits for reordering to settle: RFC 8985 §6.2
	Pacing                  // the next segment may leave
	UserTimeout             // data was not acknowledged for too long: RFC 9293 §3.8.3, RFC 5482
	FinWait2                // the peer does not close
	TimeWait                // 2·MSL: RFC 9293 §3.6.1
	Handshake               // the handshake takes too long: the SYN's R2 of RFC 9293 §3.8.3
	Linger                  // the application waits for the close

	Kinds = iota // number of kinds
)

var kindNames = [Kinds]string{
	"rexmit", "delack", "keepalive", "persist", "tlp", "reorder", "pacing", "user-timeout", "fin-wait-2", "time-wait",
	"handshake", "linger",
}

// String returns the kind's name in logs and JSON.
func (k Kind) String() string { return nameOf("Kind", kindNames[:], k) }

// MarshalText writes the name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }
