package tcp

// Error is why a connection ended before its time.
type Error uint8

const (
	ErrNone            Error = iota
	ErrReset                 // the peer sent a RST
	ErrRefused               // the peer sent a RST to the SYN
	ErrTimeout               // R2, a user, handshake or keepalive timeout
	ErrHostUnreachable       // ICMP said so
	ErrNetUnreachable        // ICMP said so
	ErrPortUnreachable       // by ICMP: port or protocol unreachable
	ErrAborted               // the application called Abort
	ErrProtocol              // by ICMP: parameter problem
	ErrMessageSize           // by ICMP: a segment is too big and none smaller is allowed

	errorKinds
)

var errorTexts = [errorKinds]string{
	"no error", "connection reset by peer", "connection refused", "connection timed out", "no route to host",
	"network is unreachable", "port unreachable", "connection aborted", "protocol violation", "message too long",
}

// Error returns the usual Unix text with the prefix "tcp: ".
func (e Error) Error() string {
	if e >= errorKinds {
		return "tcp: unknown error"
	}
	return "tcp: " + errorTexts[e]
}
