package capture

import (
	"encoding/binary"
	"time"

	"tcpwheel/wheel"
)

// record is a packet as stored in a file.
type record struct {
	number    int64 // in the file, from 1; set by the Reader
	time      wheel.Time
	since     time.Duration // since packet 1; set by the Reader
	data      []byte        // bytes kept, valid until the next record
	length    uint32        // bytes on the wire
	iface     int           // in the file
	options   []byte        // of pcapng, in the section's byte order
	order     binary.ByteOrder
	direction Direction
	problems  Problems
}

// format is a capture file format. next reads a record. It returns io.EOF at the regular end and
// wraps ErrCutShort elsewhere. interfaces returns those described so far.
type format interface {
	next(*record) error
	interfaces() []Interface
}

// Interface is a capturing interface as the file describes it.
type Interface struct {
	Name        string // at most 255 bytes, as Description
	Description string
	LinkType    uint16 // tcpdump.org's number
	SnapLen     uint32 // most bytes kept of a packet; 0 for no limit
	Packets     int64  // of all kinds, so far

	// Dropped is how many packets the capture missed: by the interface's last statistics, or by the
	// counts with its packets, whichever is more. Packets rejected by the capture filter are not
	// included.
	Dropped uint64

	last wheel.Time // stamp of the last packet
}

const maxText = 255 // bytes kept of a name or description

// maxInterfaces bounds the memory for interface descriptions.
const maxInterfaces = 1 << 16
