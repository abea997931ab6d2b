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

// Stats returns the sums over all queues.
func (d *Device) Stats() (s Stats) {
	for i := range d.queues {
		s.add(d.QueueStats(i))
	}
	return s
}

// QueueStats returns the counters of queue i, counted from 0.
func (d *Device) QueueStats(i int) Stats {
	q := &d.queues[i].stats
	return Stats{
		RxPackets: q.rxPackets.Load(), RxBytes: q.rxBytes.Load(), RxSuperSegments: q.rxSuper.Load(),
		RxMalformed: q.rxMalformed.Load(), RxBadChecksums: q.rxChecksum.Load(),
		TxPackets: q.txPackets.Load(), TxBytes: q.txBytes.Load(), TxSuperSegments: q.txSuper.Load(),
		TxErrors: q.txErrors.Load(),
	}
}

func (s *Stats) add(o Stats) {
	s.RxPackets += o.RxPackets
	s.RxBytes += o.RxBytes
	s.RxSuperSegments += o.RxSuperSegments
	s.RxMalformed += o.RxMalformed
	s.RxBadChecksums += o.RxBadChecksums
	s.TxPackets += o.TxPackets
	s.TxBytes += o.TxBytes
	s.TxSuperSegments += o.TxSuperSegments
	s.TxErrors += o.TxErrors
}
