package watch

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// Run passes packets to w until ctx ends, which is no error. It ends with the blocks that are full
// by then.
func (l *Listener) Run(ctx context.Context, w *Watcher) error {
	w.live.OnICMPError(w.icmpError)
	for ended := false; !ended; {
		if err := l.poll(); err != nil {
			return err
		}
		ended = ctx.Err() != nil
		// Before the blocks: drops are known before the packets that followed them.
		if err := l.drops(w); err != nil {
			return err
		}
		for l.handle(w) {
		}
		w.Advance(now())
	}
	return l.drops(w)
}

// poll waits for a block, or a fifth of a second.
func (l *Listener) poll() error {
	fds := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN | unix.POLLERR}}
	n, err := unix.Poll(fds, pollMS)
	if err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("watch: poll: %w", err)
	}
	if n > 0 && fds[0].Revents&unix.POLLERR != 0 {
		code, err := unix.GetsockoptInt(l.fd, unix.SOL_SOCKET, unix.SO_ERROR)
		if err == nil && code != 0 {
			err = syscall.Errno(code)
		}
		if err != nil {
			return fmt.Errorf("watch: the interface: %w", err)
		}
	}
	return nil
}

// drops reads and resets the kernel's count of drops.
func (l *Listener) drops(w *Watcher) error {
	stats, err := unix.GetsockoptTpacketStatsV3(l.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return fmt.Errorf("watch: PACKET_STATISTICS: %w", err)
	}
	from := l.read
	if l.read = now(); stats.Drops > 0 {
		w.dropped(uint64(stats.Drops), from, l.read)
	}
	return nil
}

// handle passes the packets of the next block to w and returns the block to the kernel. It returns
// false if the block is not full yet.
func (l *Listener) handle(w *Watcher) bool {
	b := l.ring[l.block*blockSize:][:blockSize:blockSize]
	h := (*unix.TpacketHdrV1)(unsafe.Pointer(&b[blockHeader]))
	if atomic.LoadUint32(&h.Block_status)&unix.TP_STATUS_USER == 0 {
		return false
	}
	w.mu.Lock()
	at := h.Offset_to_first_pkt
	for range h.Num_pkts {
		p := (*unix.Tpacket3Hdr)(unsafe.Pointer(&b[at]))
		l.decode(b[at:], p)
		w.frame(&l.frame)
		at += p.Next_offset
	}
	w.mu.Unlock()
	atomic.StoreUint32(&h.Block_status, unix.TP_STATUS_KERNEL)
	l.block = (l.block + 1) % (len(l.ring) / blockSize)
	return true
}

const (
	blockHeader = 8 // version and offset to private data
	// The address follows a packet's header, aligned to 16 bytes.
	addressAt = (unix.SizeofTpacket3Hdr + 15) &^ 15
)

// decode sets l.frame to the packet at the start of b.
func (l *Listener) decode(b []byte, p *unix.Tpacket3Hdr) {
	sll := (*unix.RawSockaddrLinklayer)(unsafe.Pointer(&b[addressAt]))
	from := uint32(p.Mac)
	if l.link == linkRaw {
		from = uint32(p.Net)
	}
	f := &l.frame
	*f = capture.Frame{
		Time: wheel.Time(int64(p.Sec)*1e9 + int64(p.Nsec)), Data: b[from : from+p.Snaplen], Length: p.Len, LinkType: l.link,
	}
	switch {
	case sll.Pkttype == unix.PACKET_OUTGOING:
		f.Direction = capture.Outbound
		f.PartialChecksum = p.Status&unix.TP_STATUS_CSUMNOTREADY != 0
	case sll.Pkttype < unix.PACKET_OTHERHOST:
		f.Direction = capture.Inbound
	}
	if l.link == linkRaw {
		f.Device = uint32(sll.Ifindex)
	} else if p.Status&unix.TP_STATUS_VLAN_VALID != 0 {
		l.putTag(p)
	}
}

// putTag puts back the VLAN tag that the kernel or the interface has taken off, so that the path of
// a connection is the same however tags are handled.
func (l *Listener) putTag(p *unix.Tpacket3Hdr) {
	f := &l.frame
	if len(f.Data) < 14 {
		return
	}
	protocol := uint16(0x8100)
	if p.Status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
		protocol = p.Hv1.Vlan_tpid
	}
	l.tagged = append(l.tagged[:0], f.Data[:12]...)
	l.tagged = binary.BigEndian.AppendUint16(l.tagged, protocol)
	l.tagged = binary.BigEndian.AppendUint16(l.tagged, uint16(p.Hv1.Vlan_tci))
	l.tagged = append(l.tagged, f.Data[12:]...)
	f.Data, f.Length = l.tagged, f.Length+4
}
