package watch

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/net/bpf"

	"tcpwheel/pcaps/capture"
)

// program returns the machine of a filter.
func program(t *testing.T, f *Filter, ethernet bool) *bpf.VM {
	t.Helper()
	raw, err := f.Program(ethernet, 192)
	if err != nil {
		t.Fatal(err)
	}
	all, ok := bpf.Disassemble(raw)
	if !ok {
		t.Fatal("the program does not disassemble")
	}
	vm, err := bpf.NewVM(all)
	if err != nil {
		t.Fatal(err)
	}
	return vm
}

// ipPacket returns an IP packet with a TCP or UDP header.
func ipPacket(protocol byte, src, dst netip.AddrPort, options int) []byte {
	transport := make([]byte, 20)
	binary.BigEndian.PutUint16(transport, src.Port())
	binary.BigEndian.PutUint16(transport[2:], dst.Port())
	transport[12] = 5 << 4
	if src.Addr().Is4() {
		ip := make([]byte, 20+options)
		ip[0], ip[8], ip[9] = 4<<4|byte(5+options/4), 64, protocol
		binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)+len(transport)))
		copy(ip[12:], src.Addr().AsSlice())
		copy(ip[16:], dst.Addr().AsSlice())
		return append(ip, transport...)
	}
	ip := make([]byte, 40)
	ip[0], ip[6], ip[7] = 6<<4, protocol, 64
	binary.BigEndian.PutUint16(ip[4:], uint16(len(transport)))
	copy(ip[8:], src.Addr().AsSlice())
	copy(ip[24:], dst.Addr().AsSlice())
	return append(ip, transport...)
}

// onEthernet returns a frame with VLAN tags.
func onEthernet(ip []byte, tags ...uint16) []byte {
	frame := make([]byte, 12)
	for i, protocol := range tags {
		frame = binary.BigEndian.AppendUint16(frame, protocol)
		frame = binary.BigEndian.AppendUint16(frame, uint16(i+1))
	}
	kind := uint16(0x0800)
	if ip[0]>>4 == 6 {
		kind = 0x86dd
	}
	return append(binary.BigEndian.AppendUint16(frame, kind), ip...)
}

// TestFilterProgram runs filters on packets that they must keep or drop.
func TestFilterProgram(t *testing.T) {
	at := netip.MustParseAddrPort
	a4, b4, a6, b6 := at("10.0.0.1:40000"), at("192.0.2.9:443"), at("[2001:db8::1]:40000"), at("[2001:db8:1::9]:443")
	tcp4, tcp6 := ipPacket(6, a4, b4, 0), ipPacket(6, a6, b6, 0)
	later := ipPacket(6, a4, at("192.0.2.9:1"), 0)
	later[6], later[7] = 0x20, 7
	hop := ipPacket(0, a6, b6, 0)
	vxlan := ipPacket(17, a4, at("192.0.2.9:4789"), 0)
	for _, test := range []struct {
		name         string
		hosts, ports string
		packet       []byte
		want         bool
	}{
		{"no filter", "", "", onEthernet(tcp4), true},
		{"no filter, IPv6", "", "", onEthernet(tcp6), true},
		{"UDP", "", "", onEthernet(ipPacket(17, a4, at("192.0.2.9:53"), 0)), false},
		{"QUIC", "", "443", onEthernet(ipPacket(17, a6, b6, 0)), false},
		{"ARP", "", "", append(make([]byte, 12), 8, 6, 0, 1), false},
		{"ICMP", "10.9.9.9", "", onEthernet(ipPacket(1, a4, b4, 0)), true},
		{"PPPoE", "", "443", append(make([]byte, 12), 0x88, 0x64, 0, 1), true},
		{"a VXLAN tunnel", "10.9.9.9", "", onEthernet(vxlan), true},
		{"port", "", "443", onEthernet(tcp4), true},
		{"source port", "", "80,40000", onEthernet(tcp6), true},
		{"another port", "", "80", onEthernet(tcp4), false},
		{"another port, IPv6", "", "80", onEthernet(tcp6), false},
		{"port behind IP options", "", "443", onEthernet(ipPacket(6, a4, b4, 12)), true},
		{"another port behind IP options", "", "80", onEthernet(ipPacket(6, a4, b4, 12)), false},
		{"a later fragment", "10.9.9.9", "80", onEthernet(later), true},
		{"an extension header", "", "80", onEthernet(hop), true},
		{"host", "10.0.0.1", "", onEthernet(tcp4), true},
		{"destination host", "192.0.2.9", "", onEthernet(tcp4), true},
		{"prefix", "10.0.0.0/8", "", onEthernet(tcp4), true},
		{"another prefix", "11.0.0.0/8", "", onEthernet(tcp4), false},
		{"any prefix", "0.0.0.0/0", "", onEthernet(tcp4), true},
		{"IPv6 host", "2001:db8::1", "", onEthernet(tcp6), true},
		{"IPv6 prefix", "2001:db8:1::/48", "443", onEthernet(tcp6), true},
		{"another IPv6 host", "2001:db8::2", "", onEthernet(tcp6), false},
		{"IPv4 only", "10.0.0.1", "", onEthernet(tcp6), false},
		{"host and another port", "10.0.0.1", "80", onEthernet(tcp4), false},
		{"a VLAN", "10.0.0.1", "443", onEthernet(tcp4, 0x8100), true},
		{"another port in a VLAN", "", "80", onEthernet(tcp4, 0x8100), false},
		{"two VLANs", "10.0.0.1", "443", onEthernet(tcp4, 0x88a8, 0x8100), true},
		{"another host in two VLANs", "10.0.0.2", "", onEthernet(tcp4, 0x88a8, 0x8100), false},
		{"IP without a link", "10.0.0.1", "443", tcp4, true},
		{"IPv6 without a link", "2001:db8::1", "443", tcp6, true},
		{"another port without a link", "", "80", tcp6, false},
		{"neither IP without a link", "", "", []byte{0, 1, 8, 0}, false},
	} {
		list := func(s string) []string {
			if s == "" {
				return nil
			}
			return strings.Split(s, ",")
		}
		f, err := ParseFilter(list(test.hosts), list(test.ports))
		if err != nil {
			t.Fatal(err)
		}
		n, err := program(t, &f, len(test.packet) < 4 || test.packet[0] == 0 && len(test.packet) > 12).Run(test.packet)
		if err != nil || n > 0 != test.want {
			t.Errorf("%s: %d bytes, %v, want %v", test.name, n, err, test.want)
		}
	}
}

// TestFilterAgreesWithMatches compares program and Matches on random filters and packets.
func TestFilterAgreesWithMatches(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	addr := func() netip.Addr {
		if rng.IntN(2) == 0 {
			return netip.AddrFrom4([4]byte{10, 0, byte(rng.IntN(2)), byte(rng.IntN(4))})
		}
		return netip.AddrFrom16([16]byte{0: 0x20, 1: 1, 7: byte(rng.IntN(2)), 15: byte(rng.IntN(4))})
	}
	kept := 0
	for range 3000 {
		var f Filter
		for range rng.IntN(4) {
			a := addr()
			f.Hosts = append(f.Hosts, netip.PrefixFrom(a, a.BitLen()-rng.IntN(a.BitLen()/2)).Masked())
		}
		for range rng.IntN(3) {
			f.Ports = append(f.Ports, uint16(1+rng.IntN(3)))
		}
		src, dst := addr(), addr()
		for src.Is4() != dst.Is4() {
			dst = addr()
		}
		p := capture.Packet{Src: netip.AddrPortFrom(src, uint16(1+rng.IntN(5))), Dst: netip.AddrPortFrom(dst, uint16(1+rng.IntN(5)))}
		ip := ipPacket(6, p.Src, p.Dst, 0)
		want := f.Matches(&p)
		if want {
			kept++
		}
		for _, ethernet := range []bool{true, false} {
			packet := ip
			if ethernet {
				packet = onEthernet(ip)
			}
			if n, err := program(t, &f, ethernet).Run(packet); err != nil || n > 0 != want {
				t.Fatalf("%+v on %v > %v: %d bytes, %v, want %v", f, p.Src, p.Dst, n, err, want)
			}
		}
	}
	if kept < 100 || kept > 2900 {
		t.Errorf("%d of 3000 packets match, want a mix", kept)
	}
}

// TestLargestFilter fits into the kernel's limit, and a larger one is refused.
func TestLargestFilter(t *testing.T) {
	var hosts, ports []string
	for i := range maxFilter {
		hosts, ports = append(hosts, fmt.Sprintf("2001:db8::%x", i)), append(ports, fmt.Sprint(i+1))
	}
	f, err := ParseFilter(hosts, ports)
	if err != nil {
		t.Fatal(err)
	}
	last := netip.MustParseAddrPort(fmt.Sprintf("[2001:db8::%x]:%d", maxFilter-1, maxFilter))
	if n, err := program(t, &f, true).Run(onEthernet(ipPacket(6, last, netip.MustParseAddrPort("[::1]:9999"), 0))); err != nil || n == 0 {
		t.Errorf("%d bytes of the last host and port, %v", n, err)
	}
	if _, err := ParseFilter(append(hosts, "::1"), nil); err == nil || !strings.Contains(err.Error(), "want at most 64") {
		t.Errorf("%v, want at most 64", err)
	}
}

func TestParseFilterErrors(t *testing.T) {
	for _, test := range []struct{ host, port, want string }{
		{"example.com", "1", "an address or a prefix"}, {"10.0.0.0/33", "1", "an address or a prefix"}, {"fe80::1%eth0", "1", "an address"},
		{"::1", "0", "want 1 to 65535"}, {"::1", "65536", "want 1 to 65535"}, {"::1", "http", "want 1 to 65535"},
	} {
		if _, err := ParseFilter([]string{test.host}, []string{test.port}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q, %q: %v, want %q", test.host, test.port, err, test.want)
		}
	}
}
