package up

import (
	"encoding/binary"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"tcpwheel/tun/netns"
)

// limitBytes is the size of a super-segment of newLimit.
const limitBytes = 64_000

// newLimit returns what a TUN device costs without any TCP. To the kernel it writes ready-made
// super-segments, which the kernel drops, as no route leads on. From the kernel it reads
// datagrams as large and drops them; sending them is the kernel's UDP. Both move benchBytes.
func newLimit(b *testing.B, toKernel bool) func() (took, cpu time.Duration) {
	ns := netns.Test(b)
	here, there := netip.MustParsePrefix("10.99.0.1/24"), netip.MustParseAddr("10.99.0.2")
	var dev *os.File
	var conn net.Conn
	err := ns.Do(func() error {
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		dev = os.NewFile(uintptr(fd), "tun")
		ifr, err := unix.NewIfreq("limit0")
		if err != nil {
			return err
		}
		ifr.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr); err != nil {
			return err
		}
		kernel, err := netlink.NewHandle(unix.NETLINK_ROUTE)
		if err != nil {
			return err
		}
		defer kernel.Close()
		link, err := kernel.LinkByName("limit0")
		if err != nil {
			return err
		}
		addr, err := netlink.ParseAddr(here.String())
		if err != nil {
			return err
		}
		for _, step := range []error{kernel.LinkSetMTU(link, 65535), kernel.AddrAdd(link, addr), kernel.LinkSetUp(link)} {
			if step != nil {
				return step
			}
		}
		conn, err = net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(there, 9)))
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close(); dev.Close() })
	// A packet to an address that is not the kernel's, which does not forward.
	packet := make([]byte, limitBytes)
	copy(packet, []byte{0x45, 0, 0, 0, 0, 0, 0, 0, 64, 6})
	binary.BigEndian.PutUint16(packet[2:], limitBytes)
	src, dst := there.As4(), netip.MustParseAddr("10.98.0.1").As4()
	copy(packet[12:], src[:])
	copy(packet[16:], dst[:])
	sum := uint32(0)
	for i := 0; i < 20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(packet[i:]))
	}
	sum = sum>>16 + sum&0xffff
	binary.BigEndian.PutUint16(packet[10:], ^uint16(sum+sum>>16))
	buf := make([]byte, 1<<16)
	return func() (took, cpu time.Duration) {
		before, start := cpuTime(b), time.Now()
		for n := 0; n < benchBytes; n += limitBytes {
			if toKernel {
				if _, err := dev.Write(packet); err != nil {
					b.Fatalf("write: %v", err)
				}
				continue
			}
			if _, err := conn.Write(packet); err != nil {
				b.Fatalf("send: %v", err)
			}
			for m := 0; m < limitBytes; { // the kernel also sends other packets, such as for IPv6
				got, err := dev.Read(buf)
				if err != nil {
					b.Fatalf("read: %v", err)
				}
				m = got
			}
		}
		return time.Since(start), cpuTime(b) - before
	}
}
