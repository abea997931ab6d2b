package watch

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"golang.org/x/net/bpf"

	"tcpwheel/pcaps/capture"
)

// Filter selects connections by their ends. An empty list selects all.
type Filter struct {
	Hosts []netip.Prefix // either end is in one of them
	Ports []uint16       // either end has one of them
}

// maxFilter bounds each list. The kernel takes programs of 4,096 instructions; a host costs 32.
const maxFilter = 64

// ParseFilter reads addresses, prefixes such as 10.0.0.0/8, and ports.
func ParseFilter(hosts, ports []string) (f Filter, err error) {
	if len(hosts) > maxFilter {
		return f, fmt.Errorf("%d hosts, want at most %d", len(hosts), maxFilter)
	}
	if len(ports) > maxFilter {
		return f, fmt.Errorf("%d ports, want at most %d", len(ports), maxFilter)
	}
	for _, text := range hosts {
		p, err := netip.ParsePrefix(text)
		if a, e := netip.ParseAddr(text); e == nil && a.Zone() == "" {
			p, err = netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()), nil
		}
		if err != nil {
			return f, fmt.Errorf("host %q, want an address or a prefix, such as 10.0.0.1 or 10.0.0.0/8", text)
		}
		f.Hosts = append(f.Hosts, p.Masked())
	}
	for _, text := range ports {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil || n == 0 {
			return f, fmt.Errorf("port %q, want 1 to 65535", text)
		}
		f.Ports = append(f.Ports, uint16(n))
	}
	return f, nil
}

// Matches reports whether f selects the connection of p, by the innermost addresses.
func (f *Filter) Matches(p *capture.Packet) bool {
	in := func(a netip.AddrPort) bool {
		return slices.ContainsFunc(f.Hosts, func(h netip.Prefix) bool { return h.Contains(a.Addr()) })
	}
	return (len(f.Hosts) == 0 || in(p.Src) || in(p.Dst)) &&
		(len(f.Ports) == 0 || slices.Contains(f.Ports, p.Src.Port()) || slices.Contains(f.Ports, p.Dst.Port()))
}

// UDP ports of the tunnels that package capture decodes.
var tunnelPorts = []uint32{4789, 8472, 6081, 2152}

// Program returns a classic BPF program that keeps snaplen bytes of each packet that f may select,
// for packets that begin with an Ethernet header, or with an IP header. It rejects TCP with other
// ends, and UDP that is no tunnel. What it cannot judge it accepts, for Matches to decide: tunnels,
// fragments, extension headers and ICMP.
func (f *Filter) Program(ethernet bool, snaplen uint32) ([]bpf.RawInstruction, error) {
	a := assembler{labels: map[string]int{}}
	if ethernet {
		a.ethernet()
	} else {
		a.add(bpf.LoadConstant{Dst: bpf.RegX, Val: 0}, bpf.LoadAbsolute{Off: 0, Size: 1}, bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 4})
		a.jump(bpf.JumpEqual, 4, "ipv4")
		a.jump(bpf.JumpEqual, 6, "ipv6")
		a.goTo("reject")
	}
	f.ipv4(&a)
	f.ipv6(&a)
	a.label("accept")
	a.add(bpf.RetConstant{Val: snaplen})
	a.label("reject")
	a.add(bpf.RetConstant{Val: 0})
	all, err := a.resolve()
	if err != nil {
		return nil, err
	}
	return bpf.Assemble(all)
}

// ethernet finds the IP header behind up to two VLAN tags, and leaves its offset in X.
func (a *assembler) ethernet() {
	for tags := range uint32(3) {
		a.label(fmt.Sprint("tags", tags))
		a.add(bpf.LoadConstant{Dst: bpf.RegX, Val: 14 + 4*tags}, bpf.LoadAbsolute{Off: 12 + 4*tags, Size: 2})
		a.jump(bpf.JumpEqual, 0x0800, "ipv4")
		a.jump(bpf.JumpEqual, 0x86dd, "ipv6")
		a.jump(bpf.JumpEqual, 0x0806, "reject") // ARP
		if tags < 2 {
			a.jump(bpf.JumpEqual, 0x8100, fmt.Sprint("tags", tags+1))
			a.jump(bpf.JumpEqual, 0x88a8, fmt.Sprint("tags", tags+1))
		}
		a.goTo("accept") // PPPoE, MPLS and others
	}
}

// ipv4 judges the IPv4 packet at X.
func (f *Filter) ipv4(a *assembler) {
	a.label("ipv4")
	a.add(bpf.LoadIndirect{Off: 6, Size: 2}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0x1fff})
	a.jump(bpf.JumpNotEqual, 0, "accept") // a later fragment has no ports
	a.add(bpf.LoadIndirect{Off: 9, Size: 1})
	a.jump(bpf.JumpEqual, 17, "udp4")
	a.jump(bpf.JumpNotEqual, 6, "accept")
	f.hosts(a, netip.Addr.Is4, 12, 16, "ports4")
	a.label("ports4")
	if len(f.Ports) == 0 {
		a.goTo("accept")
	} else {
		a.skipIPv4()
		for _, p := range f.Ports {
			a.port(uint32(p), 0)
		}
		a.goTo("reject")
	}
	a.label("udp4")
	a.skipIPv4()
	a.tunnels(0)
}

// ipv6 judges the IPv6 packet at X.
func (f *Filter) ipv6(a *assembler) {
	const header = 40
	a.label("ipv6")
	a.add(bpf.LoadIndirect{Off: 6, Size: 1})
	a.jump(bpf.JumpEqual, 17, "udp6")
	a.jump(bpf.JumpNotEqual, 6, "accept")
	f.hosts(a, netip.Addr.Is6, 8, 24, "ports6")
	a.label("ports6")
	if len(f.Ports) == 0 {
		a.goTo("accept")
	} else {
		for _, p := range f.Ports {
			a.port(uint32(p), header)
		}
		a.goTo("reject")
	}
	a.label("udp6")
	a.tunnels(header)
}

// hosts goes on at a label if an address of the packet at X is among f.Hosts, and rejects it
// otherwise. The offsets are those of source and destination. Without hosts all go on.
func (f *Filter) hosts(a *assembler, family func(netip.Addr) bool, src, dst uint32, to string) {
	if len(f.Hosts) == 0 {
		return
	}
	for _, h := range f.Hosts {
		if family(h.Addr()) {
			a.prefix(h, src, to)
			a.prefix(h, dst, to)
		}
	}
	a.goTo("reject")
}

// skipIPv4 adds the length of the IPv4 header at X to X.
func (a *assembler) skipIPv4() {
	a.add(
		bpf.LoadIndirect{Off: 0, Size: 1}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 15}, bpf.ALUOpConstant{Op: bpf.ALUOpShiftLeft, Val: 2},
		bpf.ALUOpX{Op: bpf.ALUOpAdd}, bpf.TAX{},
	)
}

// port accepts a packet with that port, where the ports are at X and an offset.
func (a *assembler) port(port, off uint32) {
	for side := range uint32(2) {
		a.add(bpf.LoadIndirect{Off: off + 2*side, Size: 2})
		a.jump(bpf.JumpEqual, port, "accept")
	}
}

// tunnels accepts UDP to or from the port of a tunnel and rejects other UDP.
func (a *assembler) tunnels(off uint32) {
	for _, p := range tunnelPorts {
		a.port(p, off)
	}
	a.goTo("reject")
}

// prefix jumps if the address at X and an offset is in h.
func (a *assembler) prefix(h netip.Prefix, off uint32, to string) {
	addr := h.Addr().AsSlice()
	a.blocks++
	next := fmt.Sprint("next", a.blocks)
	for bits := h.Bits(); bits > 0; bits, addr, off = bits-32, addr[4:], off+4 {
		mask := ^uint32(0) << max(32-bits, 0)
		word := uint32(addr[0])<<24 | uint32(addr[1])<<16 | uint32(addr[2])<<8 | uint32(addr[3])
		a.add(bpf.LoadIndirect{Off: off, Size: 4}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: mask})
		a.jump(bpf.JumpNotEqual, word&mask, next)
	}
	a.goTo(to)
	a.label(next)
}

// assembler collects instructions whose jumps go forward to labels.
type assembler struct {
	all    []bpf.Instruction
	jumps  []forward
	labels map[string]int
	blocks int
}

// forward is a jump at an index.
type forward struct {
	at int
	to string
}

func (a *assembler) add(all ...bpf.Instruction) { a.all = append(a.all, all...) }
func (a *assembler) label(name string)          { a.labels[name] = len(a.all) }

// goTo jumps to a label.
func (a *assembler) goTo(label string) {
	a.jumps = append(a.jumps, forward{len(a.all), label})
	a.add(bpf.Jump{})
}

// jump jumps to a label if the accumulator compares so. Conditional jumps reach 255 instructions
// only, so each skips a longer one.
func (a *assembler) jump(cond bpf.JumpTest, value uint32, label string) {
	a.add(bpf.JumpIf{Cond: cond, Val: value, SkipFalse: 1})
	a.goTo(label)
}

// resolve sets the distances of the jumps.
func (a *assembler) resolve() ([]bpf.Instruction, error) {
	for _, j := range a.jumps {
		to, ok := a.labels[j.to]
		if !ok || to <= j.at {
			panic("BUG: a jump to " + j.to)
		}
		a.all[j.at] = bpf.Jump{Skip: uint32(to - j.at - 1)}
	}
	const most = 4096 // BPF_MAXINSNS
	if len(a.all) > most {
		return nil, fmt.Errorf("the filter takes %d instructions, want at most %d", len(a.all), most)
	}
	return a.all, nil
}
