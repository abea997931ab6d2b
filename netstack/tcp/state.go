package tcp

import "fmt"

// State is a connection state of RFC 9293 §3.3.2. Only a Listener is in LISTEN.
type State uint8

const (
	StateClosed State = iota
	StateListen
	StateSynSent
	StateSynReceived
	StateEstablished
	StateFinWait1
	StateFinWait2
	StateCloseWait
	StateClosing
	StateLastAck
	StateTimeWait

	states
)

var stateNames = [states]string{
	"CLOSED", "LISTEN", "SYN-SENT", "SYN-RECEIVED", "ESTABLISHED", "FIN-WAIT-1", "FIN-WAIT-2", "CLOSE-WAIT", "CLOSING",
	"LAST-ACK", "TIME-WAIT",
}

// String returns the RFC 9293 name.
func (s State) String() string {
	if s >= states {
		return fmt.Sprintf("State(%d)", uint8(s))
	}
	return stateNames[s]
}

// MarshalText returns the name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// synchronized reports whether both ends know each other's sequence numbers; RFC 9293 §3.5.2 calls
// these states synchronized.
func (s State) synchronized() bool { return s >= StateEstablished }

// canReceive reports whether data may still arrive.
func (s State) canReceive() bool {
	return s == StateEstablished || s == StateFinWait1 || s == StateFinWait2
}
