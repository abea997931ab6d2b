package interop

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"

	"tcpwheel/netstack"
	"tcpwheel/tun"
	"tcpwheel/tun/netns"
	"tcpwheel/tun/up"
)

// The addresses of an attacker: the kernel has none of them, so it does not answer for them.
var attackers = [2]netip.Addr{netip.MustParseAddr("10.7.0.66"), netip.MustParseAddr("fd07::66")}

// attack is a stack of tcpwheel up, a connection of the kernel that is the victim, and packets that
// the test makes up. It sees all packets of the device.
type attack struct {
	t      *testing.T
	rng    *rand.Rand
	host   *up.Host
	ns     *tun.Namespace
	v6     bool
	fd     int // packet socket
	index  int // of the device
	victim net.Conn
	ports  uint16 // how many connections the attacker has opened

	mu   sync.Mutex
	seen map[uint16]segmentSeen // the last segment from the stack, by the port it went to
}

// segmentSeen is the header of a segment.
type segmentSeen struct {
	flags    header.TCPFlags
	seq, ack uint32
	data     int
}

// rows are the attacks of docs/security.md. Each runs for some hundred milliseconds over either IP
// version; an attack that opens connections resets them in the end.
var attackRows = []struct {
	name string
	run  func(a *attack)
}{
	{"SYN flood", func(a *attack) {
		a.flood(func() { a.segment(a.anyone(), 80, header.TCPFlagSyn, a.rng.Uint32(), 0, nil, nil) })
	}},
	{"ACK flood", func(a *attack) {
		a.flood(func() { a.segment(a.anyone(), 80, header.TCPFlagAck, a.rng.Uint32(), a.rng.Uint32(), nil, []byte("x")) })
	}},
	{"RST flood", func(a *attack) {
		a.flood(func() { a.segment(a.anyone(), 7, header.TCPFlagRst, a.rng.Uint32(), 0, nil, nil) })
	}},
	{"LAND", func(a *attack) {
		a.flood(func() {
			a.segment(netip.AddrPortFrom(a.stack(), 80), 80, header.TCPFlagSyn, a.rng.Uint32(), 0, nil, nil)
		})
	}},
	{"MSS 0 to 48", func(a *attack) {
		a.flood(func() {
			p := a.connect(80, []byte{header.TCPOptionMSS, 4, 0, byte(a.rng.IntN(49))}, 65535)
			p.get(1 << 20)
			p.acknowledge(65535)
			p.reset()
		})
	}},
	{"SACK of nothing sent, of single bytes, reversed", func(a *attack) {
		a.flood(func() {
			p := a.connect(80, sackPermitted, 65535)
			p.get(1 << 20)
			at := p.last()
			for range 30 {
				left := at.ack + a.rng.Uint32N(200_000) - 50_000
				p.send(header.TCPFlagAck, sackOption(left, left+a.rng.Uint32N(3)-1, left+1<<20, left), nil)
			}
			p.reset()
		})
	}},
	{"SACK reneging", func(a *attack) {
		a.flood(func() {
			p := a.connect(80, sackPermitted, 65535)
			p.get(1 << 20)
			una := p.una()
			for range 5 {
				p.sendAt(una, sackOption(una+1000, una+20_000)) // and then as if it had not been
				p.sendAt(una, nil)
			}
			p.acknowledge(65535)
			p.reset()
		})
	}},
	{"overlapping data", func(a *attack) {
		p := a.connect(7, nil, 65535)
		a.flood(func() {
			b := make([]byte, 1+a.rng.IntN(1400))
			p.sendFrom(p.next+a.rng.Uint32N(60_000), b)
		})
		p.reset()
	}},
	{"options and headers of random bytes", func(a *attack) {
		a.flood(func() {
			options := make([]byte, 4*a.rng.IntN(11))
			for i := range options {
				options[i] = byte(a.rng.Uint32())
			}
			a.segment(a.anyone(), []uint16{7, 9, 80}[a.rng.IntN(3)], header.TCPFlags(a.rng.Uint32()), a.rng.Uint32(), a.rng.Uint32(), options, nil)
			junk := make([]byte, 20+a.rng.IntN(100))
			for i := range junk {
				junk[i] = byte(a.rng.Uint32())
			}
			junk[0] = map[bool]byte{false: 0x45, true: 0x60}[a.v6]
			a.inject(junk)
		})
	}},
	{"fragments without an end", func(a *attack) { a.flood(a.fragment) }},
	{"blind RST, SYN and data", func(a *attack) {
		from := a.victim.LocalAddr().(*net.TCPAddr).AddrPort()
		inside := []header.TCPFlags{header.TCPFlagRst, header.TCPFlagSyn, header.TCPFlagRst | header.TCPFlagAck}
		outside := append(inside, header.TCPFlagAck|header.TCPFlagPsh, header.TCPFlagAck|header.TCPFlagFin)
		a.flood(func() {
			// In the window, but not the one number that resets the connection (RFC 5961 §3.2), or anywhere.
			nxt := a.last(from.Port()).ack
			a.segment(from, 7, inside[a.rng.IntN(len(inside))], nxt+1+a.rng.Uint32N(50_000), a.rng.Uint32(), nil, nil)
			a.segment(from, 7, outside[a.rng.IntN(len(outside))], nxt+1<<30+a.rng.Uint32N(1<<31), a.rng.Uint32(), nil, []byte("forged"))
		})
	}},
	{"timestamps of the future", func(a *attack) {
		from := a.victim.LocalAddr().(*net.TCPAddr).AddrPort()
		a.flood(func() {
			options := binary.BigEndian.AppendUint32([]byte{1, 1, header.TCPOptionTS, 10}, a.rng.Uint32())
			at := a.last(from.Port())
			a.segment(from, 7, header.TCPFlagAck, at.ack+a.rng.Uint32N(2)<<30, at.seq+1<<30, binary.BigEndian.AppendUint32(options, 0), nil)
		})
	}},
	{"forged ICMP of the victim's segments", func(a *attack) {
		from := a.victim.LocalAddr().(*net.TCPAddr).AddrPort()
		a.flood(func() {
			at := a.last(from.Port())
			a.icmp(from, at.seq+uint32(a.rng.IntN(at.data+1)), uint32([]int{0, 68, 296, 552, 1279, 1280, 65535}[a.rng.IntN(7)]), a.rng.IntN(2) == 0)
		})
	}},
	{"windows that stay at zero", func(a *attack) {
		var held []*attackPeer
		for range 60 {
			p := a.connect(80, nil, 65535)
			p.window = 0
			p.get(1 << 30)
			held = append(held, p)
		}
		if u, _ := netstack.Buffers(a.host.Stack()); u.Used > u.Limit+int64(len(held))<<12 {
			a.t.Errorf("buffers hold %d bytes of %d", u.Used, u.Limit)
		}
		time.Sleep(attackFor)
		for _, p := range held {
			p.reset()
		}
	}},
	{"half requests", func(a *attack) {
		var held []*attackPeer
		for range 60 {
			p := a.connect(80, nil, 65535)
			p.send(header.TCPFlagAck|header.TCPFlagPsh, nil, []byte("GET / HTTP/1.1\r\nHost: "))
			held = append(held, p)
		}
		time.Sleep(attackFor)
		for _, p := range held {
			p.reset()
		}
	}},
}

// attackFor is how long an attack goes on.
const attackFor = 300 * time.Millisecond

// TestAttack runs each attack of docs/security.md next to requests of the kernel over both IP
// versions, and a connection that the attack may name. No request fails, memory stays bounded, and
// afterwards the heap is what it was.
func TestAttack(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: the attacks take 20 seconds")
	}
	const most, buffers = 256 << 20, 8 << 20
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	ns := netns.Test(t)
	before := heap()
	host, err := up.Start(up.Config{Netns: ns.Path(), Addrs: addrsB[:], HostAddrs: addrsA[:], Buffers: buffers})
	must(t, err)
	var closing sync.Once
	end := func() { closing.Do(func() { must(t, host.Close()) }) }
	t.Cleanup(end)
	served, failed := new(atomic.Int64), new(atomic.Int64)
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for _, p := range addrsB {
		clients.Go(func() {
			for ctx.Err() == nil {
				if err := getPage(ns, p.Addr()); err != nil {
					failed.Add(1)
					t.Errorf("a request of the kernel: %v", err)
				}
				served.Add(1)
			}
		})
	}
	for i, p := range addrsB {
		t.Run([]string{"ipv4", "ipv6"}[i], func(t *testing.T) {
			a := newAttack(t, host, ns, p.Addr())
			for _, row := range attackRows {
				t.Run(row.name, func(t *testing.T) {
					a.t = t
					begun, was := time.Now(), served.Load()
					row.run(a)
					a.victimLives()
					for served.Load() < was+2 && time.Since(begun) < time.Minute {
						time.Sleep(10 * time.Millisecond)
					}
					var m runtime.MemStats
					runtime.ReadMemStats(&m)
					if m.HeapInuse > most {
						t.Errorf("the heap is %d bytes", m.HeapInuse)
					}
					t.Logf("%d requests in %v, heap %d MB", served.Load()-was, time.Since(begun).Round(time.Millisecond), m.HeapInuse>>20)
				})
			}
		})
	}
	stop()
	clients.Wait()
	t.Logf("%d requests of the kernel, %d failed; %s", served.Load(), failed.Load(), host.Summary())
	end()
	host = nil
	eventually(t, "the heap is what it was", func() bool { return heap() < before+4<<20 })
}

// getPage reads a page from the stack.
func getPage(ns *tun.Namespace, at netip.Addr) error {
	const size = 200_000
	dial := func(ctx context.Context, network, addr string) (c net.Conn, err error) {
		err = ns.Do(func() error {
			c, err = new(net.Dialer).DialContext(ctx, network, addr)
			return err
		})
		return c, err
	}
	web := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
	r, err := web.Get(fmt.Sprintf("http://%v/bytes/%d", netip.AddrPortFrom(at, 80), size))
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if n, err := io.Copy(io.Discard, r.Body); n != size {
		return fmt.Errorf("%d bytes of %d, %w", n, size, err)
	}
	return nil
}

func newAttack(t *testing.T, host *up.Host, ns *tun.Namespace, to netip.Addr) *attack {
	a := &attack{t: t, rng: rand.New(rand.NewPCG(1, 2)), host: host, ns: ns, v6: to.Is6(), seen: map[uint16]segmentSeen{}}
	must(t, ns.Do(func() (err error) {
		device, err := net.InterfaceByName(host.Device().Name())
		if err != nil {
			return err
		}
		a.index = device.Index
		if a.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, int(networkOrder(unix.ETH_P_ALL))); err != nil {
			return err
		}
		if err = unix.Bind(a.fd, &unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_ALL), Ifindex: a.index}); err != nil {
			return err
		}
		if err = unix.SetsockoptTimeval(a.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 50_000}); err != nil {
			return err
		}
		a.victim, err = net.DialTimeout("tcp", netip.AddrPortFrom(to, 7).String(), time.Minute)
		return err
	}))
	ctx, stop := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { a.watch(ctx) })
	t.Cleanup(func() {
		stop()
		watching.Wait()
		unix.Close(a.fd)
		a.victim.Close()
	})
	a.victimLives()
	return a
}

func networkOrder(n uint16) uint16 { return n<<8 | n>>8 }

// watch notes what the stack sends.
func (a *attack) watch(ctx context.Context) {
	for b := make([]byte, 1<<17); ctx.Err() == nil; {
		n, from, err := unix.Recvfrom(a.fd, b, 0)
		at, ok := from.(*unix.SockaddrLinklayer)
		if err != nil || !ok || at.Pkttype == unix.PACKET_OUTGOING {
			continue
		}
		head := header.IPv4MinimumSize
		if b[0]>>4 == 6 {
			head = header.IPv6MinimumSize
		}
		if n < head+header.TCPMinimumSize || (b[0]>>4 == 6) != a.v6 || !a.v6 && b[9] != 6 || a.v6 && b[6] != 6 {
			continue
		}
		h := header.TCP(b[head:n])
		a.mu.Lock()
		a.seen[h.DestinationPort()] = segmentSeen{h.Flags(), h.SequenceNumber(), h.AckNumber(), n - head - int(h.DataOffset())}
		a.mu.Unlock()
	}
}

func (a *attack) last(port uint16) segmentSeen {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen[port]
}

// stack is the stack's address, me the attacker's, and anyone a source that it makes up.
func (a *attack) stack() netip.Addr { return addrsB[a.family()].Addr() }
func (a *attack) me() netip.Addr    { return attackers[a.family()] }
func (a *attack) family() int {
	if a.v6 {
		return 1
	}
	return 0
}
func (a *attack) anyone() netip.AddrPort {
	b := a.me().AsSlice()
	b[len(b)-1] = byte(70 + a.rng.IntN(180))
	from, _ := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(from, uint16(1024+a.rng.IntN(60_000)))
}

// flood calls f again and again for attackFor, in bursts: the machine has others to serve.
func (a *attack) flood(f func()) {
	for until := time.Now().Add(attackFor); time.Now().Before(until) && !a.t.Failed(); time.Sleep(time.Millisecond) {
		for range 40 {
			if f(); !time.Now().Before(until) {
				break
			}
		}
	}
}

// victimLives exchanges a message over the victim.
func (a *attack) victimLives() {
	a.victim.SetDeadline(time.Now().Add(time.Minute))
	b := make([]byte, 20_000)
	_, err := a.victim.Write(b)
	if err == nil {
		_, err = io.ReadFull(a.victim, b)
	}
	if err != nil {
		a.t.Errorf("the victim: %v", err)
	}
}

// inject sends an IP packet to the stack. The kernel may have no room for it.
func (a *attack) inject(packet []byte) {
	proto := uint16(unix.ETH_P_IP)
	if a.v6 {
		proto = unix.ETH_P_IPV6
	}
	_ = unix.Sendto(a.fd, packet, unix.MSG_DONTWAIT, &unix.SockaddrLinklayer{Protocol: networkOrder(proto), Ifindex: a.index})
}

// ip returns an IP packet without its payload, which has size bytes.
func (a *attack) ip(from netip.Addr, proto uint8, size int) []byte {
	src, dst := tcpip.AddrFromSlice(from.AsSlice()), tcpip.AddrFromSlice(a.stack().AsSlice())
	if a.v6 {
		b := make([]byte, header.IPv6MinimumSize, header.IPv6MinimumSize+size)
		header.IPv6(b).Encode(&header.IPv6Fields{PayloadLength: uint16(size), TransportProtocol: tcpip.TransportProtocolNumber(proto), HopLimit: 64, SrcAddr: src, DstAddr: dst})
		return b
	}
	b := make([]byte, header.IPv4MinimumSize, header.IPv4MinimumSize+size)
	h := header.IPv4(b)
	h.Encode(&header.IPv4Fields{TotalLength: uint16(header.IPv4MinimumSize + size), TTL: 64, Protocol: proto, SrcAddr: src, DstAddr: dst})
	h.SetChecksum(^h.CalculateChecksum())
	return b
}

// transport returns a TCP segment with its checksum.
func (a *attack) transport(from netip.AddrPort, h header.TCPFields, options, data []byte) header.TCP {
	b := make([]byte, header.TCPMinimumSize, header.TCPMinimumSize+len(options)+len(data))
	b = append(append(b, options...), data...)
	h.SrcPort, h.DataOffset = from.Port(), uint8(header.TCPMinimumSize+len(options))
	seg := header.TCP(b)
	seg.Encode(&h)
	sum := header.PseudoHeaderChecksum(header.TCPProtocolNumber, tcpip.AddrFromSlice(from.Addr().AsSlice()), tcpip.AddrFromSlice(a.stack().AsSlice()), uint16(len(b)))
	seg.SetChecksum(^checksum.Checksum(b, sum))
	return seg
}

// segment sends a segment with a window of 64 KiB.
func (a *attack) segment(from netip.AddrPort, port uint16, flags header.TCPFlags, seq, ack uint32, options, data []byte) {
	b := a.transport(from, header.TCPFields{DstPort: port, SeqNum: seq, AckNum: ack, Flags: flags, WindowSize: 65535}, options, data)
	a.inject(append(a.ip(from.Addr(), uint8(header.TCPProtocolNumber), len(b)), b...))
}

// fragment sends a fragment of a packet that never becomes whole.
func (a *attack) fragment() {
	data := make([]byte, 1200)
	if a.v6 {
		b := a.ip(a.anyone().Addr(), 44, 8+len(data))
		at := uint16(a.rng.IntN(40))<<3 | 1
		b = append(b, uint8(header.TCPProtocolNumber), 0, byte(at>>8), byte(at))
		a.inject(append(binary.BigEndian.AppendUint32(b, a.rng.Uint32()), data...))
		return
	}
	b := a.ip(a.anyone().Addr(), uint8(header.TCPProtocolNumber), len(data))
	h := header.IPv4(b)
	h.SetID(uint16(a.rng.Uint32()))
	h.SetFlagsFragmentOffset(header.IPv4FlagMoreFragments, uint16(a.rng.IntN(40))*8)
	h.SetChecksum(0)
	h.SetChecksum(^h.CalculateChecksum())
	a.inject(append(b, data...))
}

// icmp sends a message that quotes a segment of the stack to the victim's kernel: that it is too
// big for an MTU, or that nobody is there.
func (a *attack) icmp(to netip.AddrPort, seq, mtu uint32, tooBig bool) {
	quoted := make([]byte, header.TCPMinimumSize)
	header.TCP(quoted).Encode(&header.TCPFields{SrcPort: 7, DstPort: to.Port(), SeqNum: seq, DataOffset: header.TCPMinimumSize})
	inner := a.ip(a.stack(), uint8(header.TCPProtocolNumber), len(quoted))
	dst := tcpip.AddrFromSlice(to.Addr().AsSlice())
	if a.v6 {
		header.IPv6(inner).SetDestinationAddress(dst)
		m := header.ICMPv6(append(make([]byte, header.ICMPv6MinimumSize), append(inner, quoted...)...))
		m.SetType(header.ICMPv6DstUnreachable)
		if m.SetCode(header.ICMPv6PortUnreachable); tooBig {
			m.SetType(header.ICMPv6PacketTooBig)
			m.SetCode(0)
			m.SetMTU(mtu)
		}
		m.SetChecksum(header.ICMPv6Checksum(header.ICMPv6ChecksumParams{Header: m, Src: tcpip.AddrFromSlice(a.me().AsSlice()), Dst: tcpip.AddrFromSlice(a.stack().AsSlice())}))
		a.inject(append(a.ip(a.me(), uint8(header.ICMPv6ProtocolNumber), len(m)), m...))
		return
	}
	header.IPv4(inner).SetDestinationAddress(dst)
	header.IPv4(inner).SetChecksum(0)
	header.IPv4(inner).SetChecksum(^header.IPv4(inner).CalculateChecksum())
	m := header.ICMPv4(append(make([]byte, header.ICMPv4MinimumSize), append(inner, quoted...)...))
	m.SetType(header.ICMPv4DstUnreachable)
	if m.SetCode(header.ICMPv4PortUnreachable); tooBig {
		m.SetCode(header.ICMPv4FragmentationNeeded)
		m.SetMTU(uint16(mtu))
	}
	m.SetChecksum(header.ICMPv4Checksum(m, 0))
	a.inject(append(a.ip(a.me(), uint8(header.ICMPv4ProtocolNumber), len(m)), m...))
}

// attackPeer is an end of a connection that the attacker has opened.
type attackPeer struct {
	a      *attack
	from   netip.AddrPort
	port   uint16
	next   uint32 // sequence number
	window uint16
}

var sackPermitted = []byte{header.TCPOptionMSS, 4, 1400 >> 8, 1400 & 255, header.TCPOptionSACKPermitted, 2, 1, 1}

// sackOption returns the option of the blocks with these edges.
func sackOption(edges ...uint32) []byte {
	b := []byte{1, 1, header.TCPOptionSACK, byte(2 + 4*len(edges))}
	for _, e := range edges {
		b = binary.BigEndian.AppendUint32(b, e)
	}
	return b
}

// connect opens a connection to a port of the stack. Its own port is a new one: the stack may still
// have a connection whose RST was lost, and answers a SYN of that with a challenge ACK.
func (a *attack) connect(port uint16, options []byte, window uint16) *attackPeer {
	a.ports++
	p := &attackPeer{a: a, from: netip.AddrPortFrom(a.me(), 20_000+a.ports), port: port, next: a.rng.Uint32(), window: window}
	a.mu.Lock()
	delete(a.seen, p.from.Port())
	a.mu.Unlock()
	for range 100 {
		a.segment(p.from, port, header.TCPFlagSyn, p.next, 0, options, nil)
		if p.awaits(func(s segmentSeen) bool { return s.flags.Contains(header.TCPFlagSyn) }) {
			p.next++
			p.send(header.TCPFlagAck, nil, nil)
			return p
		}
	}
	a.t.Fatal("the attacker cannot connect")
	return nil
}

// awaits waits for a segment, for 100 ms.
func (p *attackPeer) awaits(is func(segmentSeen) bool) bool {
	for until := time.Now().Add(100 * time.Millisecond); time.Now().Before(until); time.Sleep(100 * time.Microsecond) {
		if s := p.last(); s.ack != 0 && is(s) {
			return true
		}
	}
	return false
}

func (p *attackPeer) last() segmentSeen { return p.a.last(p.from.Port()) }

// una is the sequence number after all that has arrived.
func (p *attackPeer) una() uint32 {
	s := p.last()
	if s.flags.Contains(header.TCPFlagSyn) {
		s.data = 1
	}
	return s.seq + uint32(s.data)
}

func (p *attackPeer) write(flags header.TCPFlags, seq, ack uint32, options, data []byte) {
	b := p.a.transport(p.from, header.TCPFields{DstPort: p.port, SeqNum: seq, AckNum: ack, Flags: flags, WindowSize: p.window}, options, data)
	p.a.inject(append(p.a.ip(p.from.Addr(), uint8(header.TCPProtocolNumber), len(b)), b...))
}

func (p *attackPeer) send(flags header.TCPFlags, options, data []byte) {
	p.write(flags, p.next, p.una(), options, data)
	p.next += uint32(len(data))
}

func (p *attackPeer) sendAt(ack uint32, options []byte) {
	p.write(header.TCPFlagAck, p.next, ack, options, nil)
}

func (p *attackPeer) sendFrom(seq uint32, data []byte) {
	p.write(header.TCPFlagAck, seq, p.una(), nil, data)
}

// get asks for n bytes and waits for some.
func (p *attackPeer) get(n int) {
	p.send(header.TCPFlagAck|header.TCPFlagPsh, nil, fmt.Appendf(nil, "GET /bytes/%d HTTP/1.1\r\nHost: a\r\n\r\n", n))
	p.awaits(func(s segmentSeen) bool { return s.data > 0 || p.window == 0 })
}

func (p *attackPeer) acknowledge(window uint16) {
	p.window = window
	p.sendAt(p.una(), nil)
}

func (p *attackPeer) reset() { p.write(header.TCPFlagRst, p.next, 0, nil, nil) }
