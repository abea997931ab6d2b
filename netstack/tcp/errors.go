package tcp

// Error is why a connection has come to an end.
type Error uint8

const (
	ErrNone            Error = iota
	ErrReset                 // the peer sent a RST
	ErrRefused               // the peer sent a RST to the SYN
	ErrTimeout               // R2, the user timeout, or that of the handshake, is over; or keepalive probes went unanswered
	ErrHostUnreachable       // ICMP said so
	ErrNetUnreachable        // ICMP said so
	ErrPortUnreachable       // ICMP said so, or that the protocol is
	ErrAborted               // the application called Abort
	ErrProtocol              // the peer did what no peer may
	ErrMessageSize           // ICMP said that a segment cannot pass, and none smaller is allowed

	errorKinds
)

var errorTexts = [errorKinds]string{
	"no error", "connection reset by peer", "connection refused", "connection timed out", "no route to host",
	"network is unreachable", "port unreachable", "connection aborted", "protocol violation", "message too long",
}

// Error returns the usual words.
func (e Error) Error() string {
	if e >= errorKinds {
		return "tcp: unknown error"
	}
	return "tcp: " + errorTexts[e]
}
