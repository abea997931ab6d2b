//go:build linux

package main

import (
	"fmt"
	"maps"

	"tcpwheel/tun/netns"
)

// counted are the kernel's counters of retransmissions, and of drops that the log of the links
// cannot show.
var counted = map[string]bool{
	"RetransSegs": true, "TCPTimeouts": true, "TCPLossProbes": true, "TCPLossProbeRecovery": true, "TCPFastRetrans": true,
	"TCPSlowStartRetrans": true, "TCPSynRetrans": true, "TCPLostRetransmit": true, "TCPSpuriousRTOs": true, "TCPSpuriousRtxHostQueues": true,
	"TCPDSACKRecv": true, "TCPDSACKOfoRecv": true, "TCPDSACKUndo": true, "TCPFullUndo": true, "TCPPartialUndo": true, "TCPLossUndo": true,
	"TCPSACKReorder": true, "TCPTSReorder": true, "TCPSACKReneging": true, "TCPWinProbe": true, "TCPDelivered": true,
	"PAWSEstab": true, "PAWSOldAck": true, "TCPRcvQDrop": true, "OfoPruned": true, "RcvPruned": true, "TCPZeroWindowDrop": true,
}

// readCounters returns the counters above 0 in the namespace of the calling thread.
func readCounters() (map[string]uint64, error) {
	c, err := netns.ReadCounters()
	if err != nil {
		return nil, fmt.Errorf("samples: %w", err)
	}
	maps.DeleteFunc(c, func(name string, _ uint64) bool { return !counted[name] })
	return c, nil
}
