package tun

import (
	"fmt"
	"net/netip"
)

// SetQueueLen sets how many packets the kernel queues for each queue of the device; its default is
// 500. It drops what arrives while the queue is full: see KernelDrops.
func (d *Device) SetQueueLen(packets int) error {
	if packets < 1 || packets > 1<<20 {
		return fmt.Errorf("tun: queue of %d packets, want 1 to %d", packets, 1<<20)
	}
	if err := d.kernel.LinkSetTxQLen(d.ref(), packets); err != nil {
		return &Error{fmt.Sprintf("set queue of %s to %d packets", d.name, packets), err, hintNetlink(err, netip.Prefix{})}
	}
	return nil
}

// KernelDrops returns how many packets the kernel dropped because the device's queue was full.
// Drops of its queueing discipline are not included.
func (d *Device) KernelDrops() (uint64, error) {
	link, err := d.kernel.LinkByIndex(d.index)
	if err != nil {
		return 0, &Error{"find device " + d.name, err, ""}
	}
	if s := link.Attrs().Statistics; s != nil {
		return s.TxDropped, nil
	}
	return 0, nil
}
