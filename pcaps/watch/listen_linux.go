package watch

import (
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// Listener captures the packets of an interface by a ring that it shares with the kernel
// (AF_PACKET, TPACKET_V3). It is not safe for concurrent use.
type Listener struct {
	fd     int
	ring   []byte
	block  int    // index of the next block
	link   uint16 // link type of the packets
	read   wheel.Time
	tagged []byte // a packet with its VLAN tag put back
	frame  capture.Frame
}

// The ring: blocks of 256 KiB, each handed over when it is full or 50 ms old.
const (
	blockSize = 256 << 10
	frameSize = 2048
	retireMS  = 50
	pollMS    = 200

	linkEthernet = 1
	linkRaw      = 101
)

// Listen opens the interface with that name, or all for "any". Without rights the error wraps
// os.ErrPermission.
func Listen(name string, o Options) (l *Listener, err error) {
	if err := o.Check(); err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	at := unix.SockaddrLinklayer{Protocol: htons(unix.ETH_P_ALL)}
	if name != "any" {
		on, err := net.InterfaceByName(name)
		if err != nil {
			return nil, fmt.Errorf("watch: interface %q: %w; %s", name, errNoInterface, interfaceNames())
		}
		at.Ifindex = on.Index
		if on.Flags&net.FlagUp == 0 {
			return nil, fmt.Errorf("watch: interface %q is down: ip link set %s up", name, name)
		}
	}
	l = &Listener{fd: -1, link: linkEthernet}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("watch: interface %q: %w", name, err), l.Close())
			l = nil
		}
	}()
	if name == "any" || !hasEthernet(at.Ifindex) {
		l.link = linkRaw
	}
	if err = l.socket(); err != nil {
		return l, err
	}
	if err = l.setUp(o); err != nil {
		return l, err
	}
	if loopback(at.Ifindex) { // each packet is sent and received: once is enough
		if err := unix.SetsockoptInt(l.fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
			return l, fmt.Errorf("PACKET_IGNORE_OUTGOING: %w", err)
		}
	}
	if err = unix.Bind(l.fd, &at); err != nil {
		return l, fmt.Errorf("bind: %w", err)
	}
	l.read = now()
	return l, nil
}

var errNoInterface = errors.New("no such interface")

// interfaceNames lists the interfaces for an error.
func interfaceNames() string {
	all, _ := net.Interfaces()
	text := "there are"
	for _, i := range all {
		text += " " + i.Name
	}
	return text
}

// hasEthernet reports whether packets of an interface begin with an Ethernet header.
func hasEthernet(index int) bool {
	on, err := net.InterfaceByIndex(index)
	return err == nil && (len(on.HardwareAddr) == 6 || on.Flags&net.FlagLoopback != 0)
}

func loopback(index int) bool {
	on, err := net.InterfaceByIndex(index)
	return index != 0 && err == nil && on.Flags&net.FlagLoopback != 0
}

func htons(n uint16) uint16 { return n<<8 | n>>8 }

func now() wheel.Time { return wheel.Time(time.Now().UnixNano()) }

// socket makes the socket. Without a protocol it gets nothing before it is bound.
func (l *Listener) socket() (err error) {
	kind := unix.SOCK_RAW
	if l.link == linkRaw {
		kind = unix.SOCK_DGRAM // the kernel takes the header off
	}
	l.fd, err = unix.Socket(unix.AF_PACKET, kind|unix.SOCK_CLOEXEC, 0)
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("capturing needs root or CAP_NET_RAW: %w", err)
	}
	return err
}

// setUp attaches the filter and makes the ring.
func (l *Listener) setUp(o Options) error {
	raw, err := o.Filter.Program(l.link == linkEthernet, uint32(o.snaplen()))
	if err != nil {
		return err
	}
	if err := attach(l.fd, raw); err != nil {
		return fmt.Errorf("the filter: %w", err)
	}
	if err := unix.SetsockoptInt(l.fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V3); err != nil {
		return fmt.Errorf("TPACKET_V3: %w", err)
	}
	blocks := max(o.ring()/blockSize, 2)
	req := unix.TpacketReq3{
		Block_size: blockSize, Block_nr: uint32(blocks), Frame_size: frameSize, Frame_nr: uint32(blocks * (blockSize / frameSize)),
		Retire_blk_tov: retireMS,
	}
	if err := unix.SetsockoptTpacketReq3(l.fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &req); err != nil {
		return fmt.Errorf("a ring of %d bytes: %w", blocks*blockSize, err)
	}
	l.ring, err = unix.Mmap(l.fd, 0, blocks*blockSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return err
}

// attach attaches a classic BPF program.
func attach(fd int, raw []bpf.RawInstruction) error {
	code := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		code[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]})
}

// Close releases the ring and the socket.
func (l *Listener) Close() error {
	var err error
	if l.ring != nil {
		err = unix.Munmap(l.ring)
	}
	if l.fd >= 0 {
		err = errors.Join(err, unix.Close(l.fd))
	}
	l.ring, l.fd = nil, -1
	return err
}
