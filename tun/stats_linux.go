package tun

// Stats counts what has passed a device. Rx is from the kernel to the stack. Bytes are those of IP
// packets.
type Stats struct {
	RxPackets       uint64 `json:"rx_packets"`
	RxBytes         uint64 `json:"rx_bytes"`
	RxSuperSegments uint64 `json:"rx_super_segments"` // packets that hold several segments
	RxMalformed     uint64 `json:"rx_malformed"`      // dropped: no IP packet, or inconsistent headers
	RxBadChecksums  uint64 `json:"rx_bad_checksums"`  // dropped
	TxPackets       uint64 `json:"tx_packets"`
	TxBytes         uint64 `json:"tx_bytes"`
	TxSuperSegments uint64 `json:"tx_super_segments"`
	TxErrors        uint64 `json:"tx_errors"` // packets that the kernel refused
}

// Stats returns the counters of the device.
func (d *Device) Stats() Stats {
	q := &d.queue.stats
	return Stats{
		RxPackets: q.rxPackets.Load(), RxBytes: q.rxBytes.Load(), RxSuperSegments: q.rxSuper.Load(),
		RxMalformed: q.rxMalformed.Load(), RxBadChecksums: q.rxChecksum.Load(),
		TxPackets: q.txPackets.Load(), TxBytes: q.txBytes.Load(), TxSuperSegments: q.txSuper.Load(),
		TxErrors: q.txErrors.Load(),
	}
}
