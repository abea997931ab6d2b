package script

import (
	"math"
	"net/netip"

	"tcpwheel/netstack/tcp"
)

// flow returns the flow between two addresses, and makes it if needed.
func (r *runner) flow(local, remote netip.AddrPort) *flow {
	for _, f := range r.flows {
		if f.local == local && f.remote == remote {
			return f
		}
	}
	f := &flow{local: local, remote: remote, isn: r.setup.RemoteISN, win: math.MaxUint16}
	r.flows = append(r.flows, f)
	return f
}

// flowOf returns the flow of a packet of the remote end.
func (r *runner) flowOf(p *Packet) *flow {
	switch {
	case p.SrcPort != 0:
		r.current = r.flow(netip.AddrPortFrom(r.setup.local, p.DstPort), netip.AddrPortFrom(r.setup.remote, p.SrcPort))
	case r.current == nil:
		r.current = r.flow(netip.AddrPortFrom(r.setup.local, servicePort), netip.AddrPortFrom(r.setup.remote, remotePort))
	}
	return r.current
}

// inject delivers a packet of the remote end to the host.
func (r *runner) inject(p *Packet) {
	f := r.flowOf(p)
	r.report.Received++
	r.note("%s", p)
	r.host.Input(f.toHost(p))
	r.step()
}

func (r *runner) injectICMP(m *ICMP) {
	f := r.current
	if f == nil {
		r.fail("there is no connection for the message yet")
	}
	r.report.Received++
	r.note("%s", m.Text)
	r.host.ICMP(f.local, f.remote, tcp.ICMPError{Kind: m.Kind, MTU: uint32(m.MTU), Seq: f.liveAck(m.Quoted.Start)})
	r.step()
}
