package tun

import (
	"fmt"
	"net/netip"
)

// SetQueueLen sets how many packets the kernel holds for a queue of the device until they are read: 500 unless it is set.
// What comes when it is full the kernel drops: see KernelDrops.
func (d *Device) SetQueueLen(packets int) error {
	if packets < 1 || packets > 1<<20 {
		return fmt.Errorf("tun: queue of %d packets, want 1 to %d", packets, 1<<20)
	}
	if err := d.kernel.LinkSetTxQLen(d.ref(), packets); err != nil {
		return &Error{fmt.Sprintf("set queue of %s to %d packets", d.name, packets), err, hintNetlink(err, netip.Prefix{})}
	}
	return nil
}

// KernelDrops returns how many packets the kernel wanted to send by the device and dropped before they could be read.
// Those that its queueing discipline drops are not among them.
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
