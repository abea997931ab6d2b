package kernels

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// counted are the counters of the kernel that concern retransmissions, and what makes the fates of the links not the whole truth.
var counted = map[string]bool{
	"RetransSegs": true, "TCPTimeouts": true, "TCPLossProbes": true, "TCPLossProbeRecovery": true, "TCPFastRetrans": true,
	"TCPSlowStartRetrans": true, "TCPSynRetrans": true, "TCPLostRetransmit": true, "TCPSpuriousRTOs": true, "TCPSpuriousRtxHostQueues": true,
	"TCPDSACKRecv": true, "TCPDSACKOfoRecv": true, "TCPDSACKUndo": true, "TCPFullUndo": true, "TCPPartialUndo": true, "TCPLossUndo": true,
	"TCPSACKReorder": true, "TCPTSReorder": true, "TCPSACKReneging": true, "TCPWinProbe": true, "TCPDelivered": true,
	"PAWSEstab": true, "PAWSOldAck": true, "TCPRcvQDrop": true, "OfoPruned": true, "RcvPruned": true, "TCPZeroWindowDrop": true,
}

// readCounters returns what the kernel has counted in the namespace of the caller's thread, less those that are 0.
func readCounters() (map[string]uint64, error) {
	c := map[string]uint64{}
	for _, name := range []string{"netstat", "snmp"} {
		text, err := os.ReadFile(filepath.Join("/proc/thread-self", "net", name))
		if err != nil {
			return nil, fmt.Errorf("kernels: %w", err)
		}
		lines := strings.Split(string(text), "\n")
		for i := 0; i+1 < len(lines); i += 2 {
			names, values := strings.Fields(lines[i]), strings.Fields(lines[i+1])
			for k := 1; k < min(len(names), len(values)); k++ {
				if n, err := strconv.ParseUint(values[k], 10, 64); err == nil && n > 0 && counted[names[k]] {
					c[names[k]] = n
				}
			}
		}
	}
	return c, nil
}
