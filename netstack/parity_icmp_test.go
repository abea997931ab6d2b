package netstack

import (
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// icmpCodes are the codes of ICMP's destination unreachable.
var icmpCodes = []header.ICMPv4Code{
	header.ICMPv4NetUnreachable, header.ICMPv4HostUnreachable, header.ICMPv4ProtoUnreachable, header.ICMPv4PortUnreachable,
	header.ICMPv4SourceRouteFailed, header.ICMPv4DestinationHostUnknown, header.ICMPv4SourceHostIsolated,
	header.ICMPv4NetProhibited, header.ICMPv4HostProhibited, header.ICMPv4AdminProhibited,
}

// errorQueue logs the error queue.
func (s *rigSocket) errorQueue() {
	for rec := s.ep.SocketOptions().DequeueErr(); rec != nil; rec = s.ep.SocketOptions().DequeueErr() {
		s.r.notef("record %s from %d type %d code %d, %d bytes, to %v %d by %v %d on %d", errName(rec.Err), rec.Cause.Origin(), rec.Cause.Type(),
			rec.Cause.Code(), rec.Payload.Size(), rec.Dst.Addr, rec.Dst.Port, rec.Offender.Addr, rec.Offender.Port, rec.Offender.NIC)
		rec.Payload.Release()
	}
}

// TestICMPAsGVisor compares the effect of ICMP messages: errors, SO_ERROR, and IP_RECVERR's queue.
func TestICMPAsGVisor(t *testing.T) {
	runParity(t, []parityScript{
		{"while connecting", func(r *rig) {
			for i, code := range icmpCodes {
				c := r.socket("c").bind(uint16(5000 + i))
				c.ep.SocketOptions().SetIPv4RecvError(true)
				p := c.connect(uint16(2000 + i))
				p.icmp(code, 0)
				r.notef("code %d", code)
				c.look().soError().soError().read().write(1)
				c.errorQueue()
				c.stats()
				c.close()
			}
		}},
		{"when established", func(r *rig) {
			_, c, p := r.established()
			c.ep.SocketOptions().SetIPv4RecvError(true)
			r.timing()
			c.write(10)
			for _, code := range icmpCodes {
				p.icmp(code, 0)
				r.notef("code %d", code)
				c.look().soError().soError()
			}
			c.read().errorQueue()
			c.ep.SocketOptions().SetIPv4RecvError(false)
			p.icmp(header.ICMPv4HostUnreachable, 0)
			c.errorQueue()
		}},
		{"before the peer is given up", func(r *rig) {
			retries := tcpip.TCPMaxRetriesOption(2)
			r.s.SetTransportProtocolOption(ProtocolNumber, &retries)
			_, c, p := r.established()
			c.write(10)
			p.icmp(header.ICMPv4HostUnreachable, 0)
			r.timing()
			r.quietly(func() { r.pass(5 * time.Minute) })
			c.look().soError().soError().soError()
		}},
		{"before a SYN is given up", func(r *rig) {
			c := r.socket("c")
			c.connect(2000)
			r.timing()
			r.quietly(func() { r.pass(4 * time.Minute) })
			c.look().soError().soError().stats()
		}},
		{"a packet that is too big", func(r *rig) {
			_, c, p := r.established()
			c.ep.SocketOptions().SetIPv4RecvError(true)
			c.write(1460)
			p.icmp(header.ICMPv4FragmentationNeeded, 1000)
			p.ack()
			c.write(1460).soError().errorQueue()
			r.timing()
			r.skip = append(r.skip, "FastRetransmit") // ours also counts losses found by ICMP
		}},
	})
}

// TestErrorQueueIsBounded floods a connection with ICMP messages; its program does not read errors.
func TestErrorQueueIsBounded(t *testing.T) {
	r := newRig(t, NewProtocol, true)
	_, c, p := r.established()
	c.ep.SocketOptions().SetIPv4RecvError(true)
	c.write(10)
	count := func() (n int) {
		for rec := c.ep.SocketOptions().DequeueErr(); rec != nil; rec = c.ep.SocketOptions().DequeueErr() {
			rec.Payload.Release()
			n++
		}
		return n
	}
	for range 2 { // the queue takes more after it was read
		for range 3 * maxQueuedErrs {
			p.icmp(header.ICMPv4HostUnreachable, 0)
			r.pass(10 * time.Millisecond) // the stack limits ICMP itself
		}
		if got := count(); got != maxQueuedErrs {
			t.Errorf("%d records in the queue, want %d", got, maxQueuedErrs)
		}
	}
	// RFC 5927 §4.1: a message counts only if its sequence number is in flight.
	header.TCP(p.packet[header.IPv4MinimumSize:]).SetSequenceNumber(12345)
	p.icmp(header.ICMPv4HostUnreachable, 0)
	if got := count(); got != 0 {
		t.Errorf("%d records for a segment never sent, want none", got)
	}
}
