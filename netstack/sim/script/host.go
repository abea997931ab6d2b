package script

import (
	"net/netip"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// Host is a TCP with sockets, on which scripts run in virtual time. One goroutine calls it. Calls
// other than Advance take no time.
//
// NewEngineHost makes the host of the simulator. Package netstack/virtual has the one of
// production: the binding to gVisor's stack.
type Host interface {
	// Advance lets time pass until now. Due timers expire.
	Advance(now wheel.Time)

	// NextTimeout returns the latest time for the next Advance, and whether any timer runs. It may be
	// early.
	NextTimeout() (at wheel.Time, ok bool)

	// Socket makes a socket. The error names what the host does not support.
	Socket(cfg SocketConfig) (Socket, error)

	// Input delivers a segment of the remote end.
	Input(a *Arrival)

	// ICMP delivers a message about a segment from local to remote.
	ICMP(local, remote netip.AddrPort, m tcp.ICMPError)

	// Packets returns the packets sent since its last call, in order. It is valid until the next call
	// of the host. Offset and Socket need not be set.
	Packets() []tcp.Packet

	// Info returns the state of the connection between two addresses, of the last one if it is gone.
	// ok is false if there was none.
	Info(local, remote netip.AddrPort) (i tcp.Info, ok bool)

	Connections() int // including those in TIME-WAIT
	Counters() tcp.Counters

	// Check returns an error if an invariant does not hold, or if a packet or a read had wrong data.
	Check() error

	// Close aborts all connections and closes all listeners. The error names what remains after it,
	// such as a running timer. It must be called once, last.
	Close() error
}

// HostConfig configures a Host.
type HostConfig struct {
	Now           wheel.Time // its time begins here
	Local, Remote netip.Addr // of the host and of the remote end
	Engine        tcp.EngineConfig
}

// Socket is a program's socket. No call blocks. An errno is Linux's name of an error, such as
// "EAGAIN", or "" for success.
type Socket interface {
	Bind(local netip.AddrPort) (errno string)
	Listen(backlog int) (errno string)

	// Accept returns a connection with its addresses, or EAGAIN.
	Accept() (s Socket, local, remote netip.AddrPort, errno string)

	// Connect begins a connection and returns EINPROGRESS. Later calls return EALREADY until the
	// connection is established, then once success or once its error, then EISCONN.
	Connect(remote netip.AddrPort) (errno string)

	// Read reads at most n bytes. 0 bytes without an error is the end of the stream, if n is not 0.
	Read(n uint32) (read uint32, errno string)

	// Write writes n bytes, or as many as there is room for.
	Write(n uint32, flags tcp.WriteFlags) (written uint32, errno string)

	// Shutdown ends reading, writing, or both.
	Shutdown(read, write bool) (errno string)

	// Close closes the socket. done reports whether close(2) returns; it lingers before.
	Close() (done func() bool)

	// Configure changes the options of the socket. The error names what cannot change any more, or
	// what the host does not support.
	Configure(cfg SocketConfig) error

	// Flush sends what a cork holds back: TCP_NODELAY was set to 1, perhaps again.
	Flush()

	// Ready returns the events of poll(2), as Linux numbers them.
	Ready() int64

	// Error returns and clears the error that no call has returned yet, SO_ERROR.
	Error() (errno string)

	// Queued returns the bytes that can be read, and those written and not acknowledged.
	Queued() (unread, unacked uint64)
}

// SocketConfig has the options of a socket.
type SocketConfig struct {
	Conn        tcp.Config // of its connection, or of its listener's connections
	DeferAccept time.Duration
	ReuseAddr   bool // SO_REUSEADDR
	Lingers     bool // Close waits up to Linger, or resets the connection if that is 0
	Linger      time.Duration
}

// Arrival is a segment of the remote end.
type Arrival struct {
	Src, Dst netip.AddrPort
	Header   []byte // of TCP, with a checksum of 0
	Len      uint32 // payload bytes
	CE       bool
}
