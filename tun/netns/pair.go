package netns

import (
	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/virtual"
	"tcpwheel/wheel"
)

// PairConfig configures a Pair.
type PairConfig struct {
	// Server is the TCP of the server, in a gVisor stack. nil makes the server a kernel.
	Server *virtual.TCP

	// There is the link from server to client, Back the one from client to server. Stream offsets of
	// loss models count from 0, the byte after the SYN; a FIN counts as one byte.
	There, Back sim.LinkConfig
	Seed        uint64 // of the links' random numbers

	// Qdisc is the queueing discipline of the server, if that is a kernel: fq, for example. "" is the
	// kernel's choice. NewPair returns errors.ErrUnsupported if the kernel does not have it.
	Qdisc string

	// Sent and Arrived observe each packet as it enters and leaves the link. nil observes nothing.
	// Calls for one direction do not overlap.
	Sent, Arrived func(Packet)

	// Bytes gives each Packet of Sent its bytes and causes, which costs a copy.
	Bytes bool
}

// Packet is an observed packet on the link of a Pair.
type Packet struct {
	At         wheel.Time // since the Pair was made
	FromServer bool
	Header     tcp.Header // the zero value if the packet is no TCP segment
	Model      sim.Packet // size and stream offsets, as the link's model sees the packet
	Fate       sim.Fate

	Bytes  []byte           // the whole packet, with PairConfig.Bytes
	Causes []netstack.Cause // the timers that sent it, likewise; only of this module's TCP
}

// PairSubnet is the subnet of both hosts of a Pair, and PairDevice the device there of each kernel.
const (
	PairSubnet = "10.11.0.0/24"
	PairDevice = "kernel0"

	serverAddr = "10.11.0.1/24"
	clientAddr = "10.11.0.2/24"
)
