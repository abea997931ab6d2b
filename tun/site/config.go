package site

import (
	"tcpwheel/netstack/sim"
	"tcpwheel/wheel"
)

// Config is what a Site is made of.
type Config struct {
	// There leads from the server to the client, and Back from the client to the server. Octets of a stream count from
	// 0, the one behind the SYN; a FIN takes the place of one.
	There, Back sim.LinkConfig
	Seed        uint64 // of the links

	// Seen, if it is not nil, is told of each packet that enters the link, by one goroutine at a time for a direction.
	Seen func(Passed)
}

// Passed is a packet that has entered the link.
type Passed struct {
	At         wheel.Time // since the Site was made, about
	FromServer bool
	Src, Dst   uint16 // ports, 0 if it is no segment
	Packet     sim.Packet
	Fate       sim.Fate
}

// Counts are what a kernel has counted.
type Counts struct {
	Timeouts uint64 // TCPTimeouts
	Probes   uint64 // TCPLossProbes
	Fast     uint64 // TCPFastRetrans
}
