package capture

import (
	"encoding/binary"

	"tcpwheel/wheel"
)

// record is a packet as a file has it.
type record struct {
	number    int64 // in the file, from 1; the Reader's
	time      wheel.Time
	data      []byte // what was kept, valid until the next record
	length    uint32 // octets that the packet had
	iface     int    // in the file
	options   []byte // pcapng's, in the byte order of the section
	order     binary.ByteOrder
	direction Direction
	problems  Problems
}

// format is a kind of capture file. next reads a record; io.EOF is the orderly end, and ErrCutShort is in the error of a
// disorderly one. interfaces are those described so far, and grow.
type format interface {
	next(*record) error
	interfaces() []Interface
}

// Interface is where packets were captured, as the file describes it.
type Interface struct {
	Name        string // of at most 255 octets, as the description is
	Description string
	LinkType    uint16 // tcpdump.org's number
	SnapLen     uint32 // octets kept of a packet at most; 0 for no limit
	Packets     int64  // of all kinds, so far

	// Dropped is how many packets the capture missed, as far as the file tells: by the last statistics of the interface, or
	// by what is told with packets, whichever is more. What was captured and not written for lack of a match is not in it.
	Dropped uint64

	last wheel.Time // stamp of the last packet
}

const maxText = 255 // octets kept of a name or a description

// maxInterfaces bounds the memory for a file that describes interfaces for ever.
const maxInterfaces = 1 << 16
