package tun

// Stats are what has passed a device so far. Rx is what the kernel sent to the stack. Octets are those of IP packets.
type Stats struct {
	RxPackets       uint64 `json:"rx_packets"`
	RxOctets        uint64 `json:"rx_octets"`
	RxSuperSegments uint64 `json:"rx_super_segments"` // packets that stand for several
	RxMalformed     uint64 `json:"rx_malformed"`      // dropped: no IP packet, or headers that cannot be true
	RxBadChecksums  uint64 `json:"rx_bad_checksums"`  // dropped
	TxPackets       uint64 `json:"tx_packets"`
	TxOctets        uint64 `json:"tx_octets"`
	TxSuperSegments uint64 `json:"tx_super_segments"`
	TxErrors        uint64 `json:"tx_errors"` // packets that the kernel did not take
}

// Stats returns the sums over all queues.
func (d *Device) Stats() (s Stats) {
	for i := range d.queues {
		s.add(d.QueueStats(i))
	}
	return s
}

// QueueStats returns the counts of queue i, from 0 on.
func (d *Device) QueueStats(i int) Stats {
	q := &d.queues[i].stats
	return Stats{
		RxPackets: q.rxPackets.Load(), RxOctets: q.rxOctets.Load(), RxSuperSegments: q.rxSuper.Load(),
		RxMalformed: q.rxMalformed.Load(), RxBadChecksums: q.rxChecksum.Load(),
		TxPackets: q.txPackets.Load(), TxOctets: q.txOctets.Load(), TxSuperSegments: q.txSuper.Load(),
		TxErrors: q.txErrors.Load(),
	}
}

func (s *Stats) add(o Stats) {
	s.RxPackets += o.RxPackets
	s.RxOctets += o.RxOctets
	s.RxSuperSegments += o.RxSuperSegments
	s.RxMalformed += o.RxMalformed
	s.RxBadChecksums += o.RxBadChecksums
	s.TxPackets += o.TxPackets
	s.TxOctets += o.TxOctets
	s.TxSuperSegments += o.TxSuperSegments
	s.TxErrors += o.TxErrors
}
