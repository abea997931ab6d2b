package netstack

import (
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
)

// TestPortsAsGVisor compares who gets which address and port.
func TestPortsAsGVisor(t *testing.T) {
	bindTo := func(s *rigSocket, addr tcpip.Address, nic tcpip.NICID, port uint16) *rigSocket {
		return s.say("bind", s.ep.Bind(tcpip.FullAddress{Addr: addr, NIC: nic, Port: port}))
	}
	const both = tcpip.ShutdownRead | tcpip.ShutdownWrite
	runParity(t, []parityScript{
		{"taken", func(r *rig) {
			a, b := r.socket("a"), r.socket("b")
			a.bind(90)
			b.bind(90).bind(91).bind(92)
			c := bindTo(r.socket("c"), rigHere, 0, 90)
			bindTo(c, rigHere, 1, 93)
			bindTo(r.socket("d"), rigThere, 0, 94)
			bindTo(r.socket("e"), rigHere, 2, 94)
			a.close()
			r.socket("f").bind(90).listen(1)
			r.socket("g").bind(90)
		}},
		{"SO_REUSEADDR", func(r *rig) {
			var s []*rigSocket
			for _, name := range []string{"a", "b", "c"} {
				x := r.socket(name)
				x.ep.SocketOptions().SetReuseAddress(true)
				s = append(s, x.bind(90))
			}
			s[0].listen(1)
			s[1].listen(1)
			d := r.socket("d")
			d.ep.SocketOptions().SetReuseAddress(true)
			d.bind(90)
			s[0].close()
			d.bind(90)
		}},
		{"SO_REUSEPORT", func(r *rig) {
			for _, name := range []string{"a", "b"} {
				x := r.socket(name)
				x.ep.SocketOptions().SetReusePort(true)
				x.bind(90).listen(3)
			}
			r.socket("c").bind(90)
		}},
		{"a listener's port after it is closed", func(r *rig) {
			l, c, p := r.established()
			l.close()
			r.socket("m").bind(rigPort)
			n := r.socket("n")
			n.ep.SocketOptions().SetReuseAddress(true)
			n.bind(rigPort).listen(3)
			p.data(1)
			c.read().close()
			p.ack()
			p.fin()
			r.pass(2 * time.Minute)
			n.close()
			r.socket("o").bind(rigPort)
		}},
		{"a port with a connection in TIME-WAIT", func(r *rig) {
			l := r.socket("l")
			l.ep.SocketOptions().SetReuseAddress(true)
			l.bind(rigPort).listen(3)
			p := r.peer(2000)
			p.syn()
			p.ack()
			c := l.accept("c")
			l.close()
			c.close()
			p.ack()
			p.fin()
			c.look()
			p.send(header.TCPFlagSyn, 50_000, 0, 0) // no listener
			r.skip = []string{"SegmentsSent"}       // ours challenges an old SYN
			c.look()
			r.socket("m").bind(rigPort)
			n := r.socket("n")
			n.ep.SocketOptions().SetReuseAddress(true)
			n.bind(rigPort).listen(3)
			// One incarnation with a later sequence number, and one without.
			q := &rigPeer{r: r, port: 2000, here: rigPort, iss: rigISS + 100_000}
			p.send(header.TCPFlagSyn, 0, 0, 0)
			c.look()
			r.peers[2000] = q
			q.syn()
			q.ack()
			n.accept("again")
			c.look().read()
		}},
		{"the only ephemeral port, with a connection in TIME-WAIT", func(r *rig) {
			onlyEphemeralPort(r, func(a *rigSocket) { a.shutdown(both) })
		}},
		{"the only ephemeral port, with a closed connection in TIME-WAIT", func(r *rig) {
			onlyEphemeralPort(r, func(a *rigSocket) { a.close() })
		}},
		{"a port that a closed connection in TIME-WAIT was bound to", func(r *rig) {
			a := r.socket("a").bind(90)
			p := a.connect(2000)
			p.synAck()
			a.close()
			p.ack()
			p.fin()
			a.look()
			r.socket("b").bind(90)
			c := r.socket("c")
			c.ep.SocketOptions().SetReuseAddress(true)
			c.bind(90)
			r.say(r.s.SetPortRange(90, 90))
			r.socket("d").bind(0)
			r.socket("e").connect(2001)
			r.socketOf("f", ipv6.ProtocolNumber).bind(90)
		}},
		{"connected from a port", func(r *rig) {
			a := r.socket("a").bind(90)
			a.connect(2000)
			r.socket("b").bind(90)
			c := r.socket("c")
			c.ep.SocketOptions().SetReuseAddress(true)
			c.bind(90)
			a.close()
		}},
		{"bound to a device", func(r *rig) {
			a := r.socket("a")
			a.say("device 2", a.ep.SocketOptions().SetBindToDevice(2))
			a.say("device 1", a.ep.SocketOptions().SetBindToDevice(1)).bind(90).listen(3)
			r.socket("b").bind(90)
			c := r.socket("c")
			c.ep.SocketOptions().SetBindToDevice(1)
			c.bind(91)
			c.connect(2000)
			p := r.peer(2001)
			p.here = 90
			p.syn()
			p.ack()
			a.accept("d")
			r.socket("e").bind(91)
		}},
		{"dual stack", func(r *rig) {
			a := r.socketOf("a", ipv6.ProtocolNumber).bind(90)
			r.socket("b").bind(90)
			a.listen(3)
			p := r.peer(2000)
			p.here = 90
			p.syn()
			p.ack()
			a.accept("c")
			only := r.socketOf("only", ipv6.ProtocolNumber)
			only.ep.SocketOptions().SetV6Only(true)
			only.bind(91).listen(1)
			r.socket("d").bind(91)
			q := r.peer(2001)
			q.here = 91
			q.syn()
			v4 := tcpip.AddrFrom16([16]byte{10: 0xff, 11: 0xff, 12: 10, 15: 2})
			e := r.socketOf("e", ipv6.ProtocolNumber)
			e.say("connect to a mapped address", e.ep.Connect(tcpip.FullAddress{Addr: v4, Port: 2002}))
			f := r.socketOf("f", ipv6.ProtocolNumber)
			f.ep.SocketOptions().SetV6Only(true)
			f.say("connect to a mapped address", f.ep.Connect(tcpip.FullAddress{Addr: v4, Port: 2003}))
			g := r.socket("g")
			g.say("connect to IPv6", g.ep.Connect(tcpip.FullAddress{Addr: rigHere6, Port: 2003}))
			h := r.socketOf("h", ipv6.ProtocolNumber)
			h.say("bind to a mapped address", h.ep.Bind(tcpip.FullAddress{Addr: tcpip.AddrFrom16([16]byte{10: 0xff, 11: 0xff, 12: 10, 15: 1}), Port: 95}))
			r.socket("i").bind(95)
		}},
		{"nowhere to go", func(r *rig) {
			r.s.SetRouteTable(nil)
			c := r.socket("c")
			c.connect(2000)
			c.look().soError()
			c.bind(0)
			c.connect(2000)
			c.stats()
		}},
		{"addresses", func(r *rig) {
			tell := func(s *rigSocket) {
				local, err := s.ep.GetLocalAddress()
				r.notef("%s local %v %d on %d: %s", s.name, local.Addr, local.Port, local.NIC, errName(err))
				remote, err := s.ep.GetRemoteAddress()
				r.notef("%s remote %v %d on %d: %s", s.name, remote.Addr, remote.Port, remote.NIC, errName(err))
			}
			a := r.socket("a")
			tell(a)
			bindTo(a, rigHere, 0, 90)
			tell(a)
			p := a.connect(2000)
			tell(a)
			p.synAck()
			tell(a)
			a.close()
			tell(a)
			r.peers = map[uint16]*rigPeer{}
			_, c, _ := r.established()
			tell(c)
		}},
		{"connected to itself", func(r *rig) {
			a := r.socket("a").bind(90)
			a.say("connect", a.ep.Connect(tcpip.FullAddress{Addr: rigHere, Port: 90}))
			r.drain()
			a.look()
		}},
	})
}

// onlyEphemeralPort connects twice from the only ephemeral port, with TIME-WAIT of the first
// connection, which end closes, in between.
func onlyEphemeralPort(r *rig, end func(a *rigSocket)) {
	r.say(r.s.SetPortRange(5000, 5000))
	for _, how := range []tcpip.TCPTimeWaitReuseOption{
		tcpip.TCPTimeWaitReuseLoopbackOnly, tcpip.TCPTimeWaitReuseDisabled, tcpip.TCPTimeWaitReuseGlobal,
	} {
		r.notef("reuse %d", how)
		r.say(r.s.SetTransportProtocolOption(ProtocolNumber, &how))
		r.peers = map[uint16]*rigPeer{}
		a := r.socket("a")
		p := a.connect(2000)
		p.stamps = true // without timestamps ours does not dial again, gVisor's TCP does at once
		p.synAck()
		end(a)
		p.ack()
		p.fin()
		a.look()
		b := r.socket("b")
		b.connect(2000)
		r.pass(1500 * time.Millisecond)
		r.peers = map[uint16]*rigPeer{}
		b.connect(2000)
		a.look()
		c := r.socket("c")
		c.connect(2001)
		c.abort()
		b.abort()
		r.pass(2 * time.Minute)
	}
}
