package netstack

import (
	"math"
	"reflect"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// sockInts are the integer socket options. A connection's MSS is left out: ours is Linux's.
var sockInts = []tcpip.SockOptInt{
	tcpip.KeepaliveCountOption, tcpip.IPv4TOSOption, tcpip.IPv6TrafficClassOption, tcpip.MaxSegOption, tcpip.MTUDiscoverOption,
	tcpip.ReceiveQueueSizeOption, tcpip.IPv4TTLOption, tcpip.IPv6HopLimitOption, tcpip.TCPSynCountOption, tcpip.TCPWindowClampOption,
	tcpip.MulticastTTLOption, tcpip.SendQueueSizeOption,
}

// options reads all options, sets valid and invalid values, and reads them again.
func (s *rigSocket) options(mss bool) {
	r := s.r
	read := func() {
		for _, o := range sockInts {
			if o == tcpip.MaxSegOption && !mss {
				continue
			}
			v, err := s.ep.GetSockOptInt(o)
			r.notef("%s: option %d = %d, %s", s.name, o, v, errName(err))
		}
		for _, o := range []tcpip.GettableSocketOption{
			new(tcpip.KeepaliveIdleOption), new(tcpip.KeepaliveIntervalOption), new(tcpip.TCPUserTimeoutOption), new(tcpip.TCPLingerTimeoutOption),
			new(tcpip.TCPDeferAcceptOption), new(tcpip.OriginalDestinationOption),
		} {
			err := s.ep.GetSockOpt(o)
			r.notef("%s: %T = %v, %s", s.name, o, reflect.ValueOf(o).Elem(), errName(err))
		}
		ops := s.ep.SocketOptions()
		r.notef("%s: keepalive %v, delay %v, cork %v, quick ACK %v, linger %v, send buffer %d, receive buffer %d, accepts %v", s.name, ops.GetKeepAlive(),
			ops.GetDelayOption(), ops.GetCorkOption(), ops.GetQuickAck(), ops.GetLinger(), ops.GetSendBufferSize(), ops.GetReceiveBufferSize(),
			s.ep.(tcpip.SocketOptionsHandler).GetAcceptConn())
	}
	read()
	for _, o := range sockInts {
		for _, v := range []int{-1, 0, 1, 7, 88, 255, 256, 1400, 70000} {
			s.say("set", s.ep.SetSockOptInt(o, v))
		}
	}
	for _, d := range []time.Duration{-5, 0, 1, time.Second, time.Hour, 1000 * time.Hour, math.MaxInt64} {
		idle, every, uto := tcpip.KeepaliveIdleOption(d), tcpip.KeepaliveIntervalOption(d), tcpip.TCPUserTimeoutOption(d)
		linger, wait := tcpip.TCPLingerTimeoutOption(d), tcpip.TCPDeferAcceptOption(d)
		for _, o := range []tcpip.SettableSocketOption{&idle, &every, &uto, &linger, &wait} {
			s.say("set", s.ep.SetSockOpt(o))
			r.notef("%T is %v", o, reflect.ValueOf(o).Elem())
		}
		uto = 0
		s.ep.SetSockOpt(&uto)
		read()
	}
	for _, name := range []tcpip.CongestionControlOption{"cubic", "reno", "", "none such"} {
		s.say("control "+string(name), s.ep.SetSockOpt(&name))
		var got tcpip.CongestionControlOption
		s.ep.GetSockOpt(&got)
		r.notef("control %s", got)
	}
	s.say("filter", s.ep.SetSockOpt(new(tcpip.SocketDetachFilterOption)))
	ops := s.ep.SocketOptions()
	for _, v := range []bool{true, false} {
		ops.SetDelayOption(v)
		ops.SetCorkOption(v)
		ops.SetKeepAlive(v)
		ops.SetQuickAck(v)
		read()
	}
	for _, n := range []int64{1, 4096, 100_000, 8 << 20} {
		ops.SetSendBufferSize(n, true)
		ops.SetReceiveBufferSize(n, true)
		read()
	}
	s.look()
}

// TestOptionsAsGVisor sets and reads all options in all states.
func TestOptionsAsGVisor(t *testing.T) {
	runParity(t, []parityScript{
		{"new", func(r *rig) { r.socket("s").options(true) }},
		{"bound", func(r *rig) { r.socket("s").bind(90).options(true) }},
		{"listening", func(r *rig) { r.socket("s").bind(90).listen(3).options(true) }},
		{"connecting", func(r *rig) {
			s := r.socket("s")
			s.connect(2000)
			s.options(false)
		}},
		{"established", func(r *rig) {
			r.skip = []string{"SegmentsSent"} // window updates
			_, c, _ := r.established()
			c.options(false)
		}},
		{"established, with bytes unread", func(r *rig) {
			r.skip = []string{"SegmentsSent"}
			_, c, p := r.established()
			p.data(100)
			c.options(false)
			c.read()
		}},
		{"half closed", func(r *rig) {
			r.skip = []string{"SegmentsSent"}
			_, c, p := r.established()
			p.fin()
			c.options(false)
		}},
		{"closed", func(r *rig) { r.socket("s").bind(90).close().options(true) }},
		{"reset", func(r *rig) {
			_, c, p := r.established()
			p.rst()
			c.options(false)
		}},
		{"a TTL, a TOS and no fragments", func(r *rig) {
			s := r.socket("s")
			s.ep.SetSockOptInt(tcpip.IPv4TTLOption, 7)
			s.ep.SetSockOptInt(tcpip.IPv4TOSOption, 0x2b)
			s.ep.SetSockOptInt(tcpip.MTUDiscoverOption, int(tcpip.PMTUDiscoveryDo))
			p := s.connect(2000)
			tell := func() {
				ip := header.IPv4(p.packet)
				tos, _ := ip.TOS()
				r.notef("TTL %d, TOS %x, flags %x", ip.TTL(), tos, ip.Flags())
			}
			tell()
			p.synAck()
			s.write(2000)
			tell()
			s.ep.SetSockOptInt(tcpip.IPv4TTLOption, 9)
			s.ep.SetSockOptInt(tcpip.MTUDiscoverOption, int(tcpip.PMTUDiscoveryDont))
			p.ack()
			s.write(1)
			tell()
			s.abort()
			tell()
		}},
		{"an MSS", func(r *rig) {
			s := r.socket("s")
			s.ep.SetSockOptInt(tcpip.MaxSegOption, 700)
			s.connect(2000)
			l := r.socket("l").bind(rigPort)
			l.ep.SetSockOptInt(tcpip.MaxSegOption, 800)
			l.listen(3)
			r.peer(2001).syn()
		}},
		{"cork, and Nagle", func(r *rig) {
			_, c, p := r.established()
			ops := c.ep.SocketOptions()
			ops.SetCorkOption(true)
			c.write(100).write(100)
			ops.SetCorkOption(false)
			r.drain()
			p.ack()
			ops.SetDelayOption(true)
			c.write(10).write(10)
			p.ack()
			c.write(10).write(10)
			ops.SetDelayOption(false)
			r.drain()
		}},
		{"TCP_INFO", func(r *rig) {
			s := r.socket("s")
			tell := func(s *rigSocket) {
				var info tcpip.TCPInfoOption
				err := s.ep.GetSockOpt(&info)
				r.notef("%s: %s, state %v, %v", s.name, errName(err), gtcp.EndpointState(info.State), info.CcState)
			}
			tell(s)
			s.bind(90)
			tell(s)
			s.connect(2001)
			tell(s)
			s.abort()
			tell(s)
			l, c, p := r.established()
			tell(l)
			tell(c)
			p.fin()
			tell(c)
			c.close()
			tell(c)
		}},
	})
}

// TestForwarderAsGVisor compares the forwarders' answers and counters.
func TestForwarderAsGVisor(t *testing.T) {
	type request interface {
		ID() stack.TransportEndpointID
		Complete(bool)
		CreateEndpoint(*waiter.Queue) (tcpip.Endpoint, tcpip.Error)
	}
	// Handlers run in goroutines of their own, and wait until the script continues them.
	forward := func(r *rig, wnd, inFlight int) <-chan request {
		requests := make(chan request, 100)
		if r.ours {
			f := NewForwarder(r.s, wnd, inFlight, func(q *ForwarderRequest) { requests <- q })
			r.s.SetTransportProtocolHandler(ProtocolNumber, f.HandlePacket)
		} else {
			f := gtcp.NewForwarder(r.s, wnd, inFlight, func(q *gtcp.ForwarderRequest) { requests <- q })
			r.s.SetTransportProtocolHandler(ProtocolNumber, f.HandlePacket)
		}
		return requests
	}
	runParity(t, []parityScript{
		{"completed with a RST, and without", func(r *rig) {
			requests := forward(r, 0, 10)
			for i, rst := range []bool{true, false} {
				r.peer(uint16(2000 + i)).syn()
				q := <-requests
				id := q.ID()
				r.notef("from %v %d to %v %d", id.RemoteAddress, id.RemotePort, id.LocalAddress, id.LocalPort)
				q.Complete(rst)
				r.drain()
				if _, err := q.CreateEndpoint(new(waiter.Queue)); err != nil {
					r.notef("an endpoint after that: %s", errName(err))
				}
				func() {
					defer func() { r.notef("completed twice: panic %v", recover() != nil) }()
					q.Complete(false)
				}()
			}
		}},
		{"more than are wanted, and one again", func(r *rig) {
			requests := forward(r, 0, 2)
			for i := range 4 {
				r.peer(uint16(2000 + i)).syn()
				r.peer(uint16(2000 + i)).syn()
			}
			for range 2 {
				(<-requests).Complete(false)
			}
			r.drain()
			r.peer(2002).syn()
			(<-requests).Complete(true)
			r.drain()
		}},
		{"what is no SYN", func(r *rig) {
			forward(r, 0, 2)
			p := r.peer(2000)
			p.send(header.TCPFlagAck, 1, 1, 0)
			p.send(header.TCPFlagSyn|header.TCPFlagAck, 1, 1, 0)
			p.send(header.TCPFlagRst, 1, 0, 0)
			p.raw(header.TCPFlagSyn, 5, 0, nil, 1)
		}},
		{"an endpoint", func(r *rig) {
			requests := forward(r, 30_000, 2)
			p := r.peer(2000)
			p.syn()
			q := <-requests
			wq := new(waiter.Queue)
			made := make(chan tcpip.Endpoint)
			go func() {
				ep, _ := q.CreateEndpoint(wq)
				made <- ep
			}()
			for i := 0; p.sent == 0 && i < 1000; i++ {
				time.Sleep(time.Millisecond)
				r.drain()
			}
			p.ack()
			s := &rigSocket{r, "s", <-made, wq}
			q.Complete(false)
			r.t.Cleanup(s.ep.Close)
			s.look().write(10)
			r.notef("receive buffer %d", s.ep.SocketOptions().GetReceiveBufferSize())
			p.ack()
			p.data(5)
			s.read().close()
		}},
	})
}
