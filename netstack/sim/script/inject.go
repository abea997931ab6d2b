package script

import (
	"math"
	"net/netip"
)

// flow returns the flow between two ends, a new one if there is none yet.
func (r *runner) flow(local, remote netip.AddrPort) *flow {
	for _, f := range r.flows {
		if f.local == local && f.remote == remote {
			return f
		}
	}
	f := &flow{local: local, remote: remote, isn: r.plan.remoteISN, win: math.MaxUint16}
	r.flows = append(r.flows, f)
	return f
}

// flowOf returns the flow that a packet of the remote end is for.
func (r *runner) flowOf(p *Packet) *flow {
	switch {
	case p.SrcPort != 0:
		r.current = r.flow(netip.AddrPortFrom(r.plan.local, p.DstPort), netip.AddrPortFrom(r.plan.remote, p.SrcPort))
	case r.current == nil:
		port := r.plan.bindPort
		if all := r.listeners(); len(all) > 0 {
			port = all[0].local.Port()
		}
		r.current = r.flow(netip.AddrPortFrom(r.plan.local, port), netip.AddrPortFrom(r.plan.remote, r.freeRemote))
		r.freeRemote++
	}
	return r.current
}

// inject lets a packet of the remote end arrive.
func (r *runner) inject(p *Packet) {
	f := r.flowOf(p)
	live, err := f.live(p)
	r.report.Received++
	r.note("%s", p)
	if err != nil {
		return // the owner of an engine drops what cannot be read
	}
	s, v := r.engine.Input(r.now, &live)
	if s != nil {
		f.socket = s
		if err := r.conn(s).arrived(v, live.Len); err != nil {
			r.fail("%v", err)
		}
	}
	r.step()
}

func (r *runner) injectICMP(m *ICMP) {
	f := r.current
	if f == nil {
		r.fail("there is no connection yet that the message could be about")
	}
	r.report.Received++
	r.note("%s", m)
	r.engine.ICMP(r.now, f.local, f.remote, f.icmpError(m, r.now))
	r.step()
}
