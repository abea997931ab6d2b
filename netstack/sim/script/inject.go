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
		r.current = r.flow(netip.AddrPortFrom(r.setup.LocalIP, p.DstPort), netip.AddrPortFrom(r.setup.RemoteIP, p.SrcPort))
	case r.current == nil:
		port := r.setup.BindPort
		if all := r.listeners(); len(all) > 0 {
			port = all[0].local.Port()
		}
		r.current = r.flow(netip.AddrPortFrom(r.setup.LocalIP, port), netip.AddrPortFrom(r.setup.RemoteIP, r.freeRemote))
		r.freeRemote++
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
	r.note("%s", m)
	una := tcp.Seq(f.rawISS)
	if i := r.info(f); i != nil {
		una = una.Add(uint32(i.SndUna))
	}
	r.host.ICMP(f.local, f.remote, f.icmpError(m, una))
	r.step()
}
