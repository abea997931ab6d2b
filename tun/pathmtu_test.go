package tun

import (
	"testing"

	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/sim"
)

// TestTooBigIsReported sends packets over a link with a path MTU and reads the errors that come
// back.
func TestTooBigIsReported(t *testing.T) {
	const mtu = 1300
	for _, test := range []struct {
		name      string
		v6, df    bool
		n         int
		want      bool // whether an error comes back
		delivered int
	}{
		{"fits", false, true, mtu - 52, false, 1},
		{"IPv4 with DF", false, true, mtu - 51, true, 0},
		{"IPv4 without DF", false, false, mtu - 51, false, 0},
		{"IPv6 fits", true, false, mtu - 72, false, 1},
		{"IPv6", true, false, mtu - 71, true, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			delivered, errors := 0, make(chan []byte, 1)
			tap := &tunTap{}
			o := LinkOptions{There: sim.LinkConfig{}, Clock: newTunClock(t), Tap: tap, PathMTU: mtu}
			w, err := o.wires([2]func(*stack.PacketBuffer){
				func(*stack.PacketBuffer) { delivered++ },
				func(pkt *stack.PacketBuffer) { errors <- tunOctets(pkt) },
			})
			if err != nil {
				t.Fatal(err)
			}
			b := tunTCP(t, test.v6, 0x10, tunPayload(test.n))
			if !test.v6 {
				ip := header.IPv4(b)
				if test.df {
					ip.SetFlagsFragmentOffset(header.IPv4FlagDontFragment, 0)
				}
				ip.SetChecksum(0)
				ip.SetChecksum(^ip.CalculateChecksum())
			}
			pkt := tunPacket(b, stack.GSO{}, maxHeaders)
			w[There].send(pkt)
			pkt.DecRef()
			tunDrain(w[There])
			tunDrain(w[Back])
			if delivered != test.delivered || len(errors) == 1 != test.want || len(tap.sent) != 1 {
				t.Fatalf("%d packets and %d errors arrived, %d packets seen, want %d, %v and 1", delivered, len(errors), len(tap.sent), test.delivered, test.want)
			}
			if test.want {
				checkTooBig(t, <-errors, b, test.v6, mtu)
			}
			w[There].stop()
			w[Back].stop()
		})
	}
}

func checkTooBig(t *testing.T, e, b []byte, v6 bool, mtu uint32) {
	t.Helper()
	h, err := parseHeaders(e, len(e))
	if err != nil || h.total != len(e) {
		t.Fatalf("error packet: %v", err)
	}
	if v6 {
		ip, icmp := header.IPv6(e), header.ICMPv6(e[header.IPv6MinimumSize:])
		if icmp.Type() != header.ICMPv6PacketTooBig || icmp.MTU() != mtu || len(e) > header.IPv6MinimumMTU {
			t.Errorf("type %v, MTU %d, %d bytes", icmp.Type(), icmp.MTU(), len(e))
		}
		if checksum.Checksum(icmp, header.PseudoHeaderChecksum(header.ICMPv6ProtocolNumber, ip.SourceAddress(), ip.DestinationAddress(), uint16(len(icmp)))) != 0xffff {
			t.Error("the checksum is wrong")
		}
		if string(icmp[8:48]) != string(b[:40]) {
			t.Error("the quote is not the packet")
		}
		return
	}
	ip, icmp := header.IPv4(e), header.ICMPv4(e[header.IPv4MinimumSize:])
	if icmp.Type() != header.ICMPv4DstUnreachable || icmp.Code() != header.ICMPv4FragmentationNeeded || uint32(icmp.MTU()) != mtu {
		t.Errorf("type %v, code %v, MTU %d", icmp.Type(), icmp.Code(), icmp.MTU())
	}
	if !ip.IsChecksumValid() || checksum.Checksum(icmp, 0) != 0xffff || len(e) > 576 {
		t.Errorf("wrong checksum, or %d bytes", len(e))
	}
	if string(icmp[8:48]) != string(b[:40]) || ip.DestinationAddress() != header.IPv4(b).SourceAddress() {
		t.Error("the quote is not the packet, or it goes elsewhere")
	}
}

// TestNoErrorForAnError: an ICMP error that is too big gets no answer, in either IP version.
func TestNoErrorForAnError(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		b := tunTCP(t, v6, 0x10, tunPayload(400))
		var e []byte
		if v6 {
			e = packetTooBig(b, 1280)
			if packetTooBig(e, 100) != nil {
				t.Error("an ICMPv6 error is answered")
			}
		} else {
			header.IPv4(b).SetFlagsFragmentOffset(header.IPv4FlagDontFragment, 0)
			e = fragmentationNeeded(b, header.IPv4MinimumSize, 1280)
			header.IPv4(e).SetFlagsFragmentOffset(header.IPv4FlagDontFragment, 0)
			if fragmentationNeeded(e, header.IPv4MinimumSize, 100) != nil {
				t.Error("an ICMP error is answered")
			}
		}
		if e == nil {
			t.Error("a segment is not answered")
		}
	}
}
