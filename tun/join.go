package tun

import (
	"fmt"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/sim"
)

// Joined are two link endpoints with an emulated link between them, as by a cable: what one receives, the other sends.
// Neither may wait for anything when it is written to. With two devices, two kernels, or two namespaces of one, talk over it. No TTL is counted down.
type Joined struct {
	ends  [2]stack.LinkEndpoint
	wires [2]*wire
}

// Join attaches both endpoints, of links whose packets are IP packets without a link header. There is from a to b.
func Join(a, b stack.LinkEndpoint, o LinkOptions) (*Joined, error) {
	j := &Joined{ends: [2]stack.LinkEndpoint{a, b}}
	for _, e := range j.ends {
		if n := e.MaxHeaderLength(); n != 0 {
			return nil, fmt.Errorf("tun: link header of %d octets, want a link of plain IP packets", n)
		}
		if e.IsAttached() {
			return nil, fmt.Errorf("tun: link is attached to a stack already, want one that is free")
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
		w.inline = true // a device takes a packet or does not, at once
	}
	a.Attach(joinedEnd{j.wires[There]})
	b.Attach(joinedEnd{j.wires[Back]})
	return j, nil
}

// Counts returns what each direction has done with its packets, by Direction.
func (j *Joined) Counts() [2]sim.LinkCounts {
	return [2]sim.LinkCounts{j.wires[There].counts(), j.wires[Back].counts()}
}

// Noted reports whether the tap has been told of all that was sent before the call. It does not wait: while a packet is being sent, it
// returns false.
func (j *Joined) Noted() bool { return j.wires[There].noted() && j.wires[Back].noted() }

// Close detaches both endpoints, drops what is on the wire, and waits until nothing of the link runs any more. The
// endpoints stay as they are.
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

// joinedEnd is what an endpoint of Joined delivers to.
type joinedEnd struct{ wire *wire }

// DeliverNetworkPacket implements stack.NetworkDispatcher.
func (e joinedEnd) DeliverNetworkPacket(_ tcpip.NetworkProtocolNumber, pkt *stack.PacketBuffer) {
	e.wire.send(pkt)
}

// DeliverLinkPacket implements stack.NetworkDispatcher. Nobody listens to link packets here.
func (joinedEnd) DeliverLinkPacket(tcpip.NetworkProtocolNumber, *stack.PacketBuffer) {}
