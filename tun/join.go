package tun

import (
	"fmt"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/sim"
)

// Joined is two link endpoints with an emulated link between them: what one receives, the other
// sends. With two devices, two kernels or two namespaces of one kernel talk over it. A write to
// either endpoint must not block. The link does not decrement the TTL.
type Joined struct {
	ends  [2]stack.LinkEndpoint
	wires [2]*wire
}

// Join attaches both endpoints. Their links must carry plain IP packets without a link header.
// There is the direction from a to b.
func Join(a, b stack.LinkEndpoint, o LinkOptions) (*Joined, error) {
	j := &Joined{ends: [2]stack.LinkEndpoint{a, b}}
	for _, e := range j.ends {
		if n := e.MaxHeaderLength(); n != 0 {
			return nil, fmt.Errorf("tun: link header of %d bytes, want a link of plain IP packets", n)
		}
		if e.IsAttached() {
			return nil, fmt.Errorf("tun: link is attached to a stack already, want a detached one")
		}
	}
	var err error
	j.wires, err = o.wires([2]func(*stack.PacketBuffer){
		There: func(pkt *stack.PacketBuffer) { writeOne(b, pkt) },
		Back:  func(pkt *stack.PacketBuffer) { writeOne(a, pkt) },
	})
	if err != nil {
		return nil, err
	}
	for _, w := range j.wires {
		w.inline = true // a device accepts or refuses a packet without waiting
	}
	a.Attach(joinedEnd{j.wires[There]})
	b.Attach(joinedEnd{j.wires[Back]})
	return j, nil
}

// Counts returns what each direction did with its packets, indexed by Direction.
func (j *Joined) Counts() [2]sim.LinkCounts {
	return [2]sim.LinkCounts{j.wires[There].counts(), j.wires[Back].counts()}
}

// TapCaughtUp reports whether the tap has seen everything that was sent before the call. It does
// not wait: while a packet is being sent, it returns false.
func (j *Joined) TapCaughtUp() bool {
	return j.wires[There].tapCaughtUp() && j.wires[Back].tapCaughtUp()
}

// Close detaches both endpoints, drops the packets on the wire, and waits until nothing of the link
// is running. The endpoints stay open.
func (j *Joined) Close() {
	for _, e := range j.ends {
		e.Attach(nil)
	}
	for _, w := range j.wires {
		w.stop()
	}
	for i, w := range j.wires {
		j.ends[i].Wait()
		w.wait()
	}
}

// joinedEnd receives what an endpoint of Joined delivers.
type joinedEnd struct{ wire *wire }

// DeliverNetworkPacket implements stack.NetworkDispatcher.
func (e joinedEnd) DeliverNetworkPacket(_ tcpip.NetworkProtocolNumber, pkt *stack.PacketBuffer) {
	e.wire.send(pkt)
}

// DeliverLinkPacket implements stack.NetworkDispatcher. Link packets are ignored.
func (joinedEnd) DeliverLinkPacket(tcpip.NetworkProtocolNumber, *stack.PacketBuffer) {}
