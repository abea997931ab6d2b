package netstack

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/waiter"
)

// watcher collects the events that a socket's queue reports.
type watcher struct {
	s     *rigSocket
	heard waiter.EventMask
}

// watch starts to collect.
func (s *rigSocket) watch() *watcher {
	w := &watcher{s: s}
	// EventRdHUp is left out: ours comes with a FIN, as in Linux, gVisor's only with a shutdown.
	const all = waiter.EventIn | waiter.EventOut | waiter.EventHUp | waiter.EventErr | waiter.EventPri | waiter.EventInternal
	e := waiter.NewFunctionEntry(all, func(mask waiter.EventMask) { w.heard |= mask })
	s.wq.EventRegister(&e)
	s.r.t.Cleanup(func() { s.wq.EventUnregister(&e) })
	return w
}

// tell logs the events since the last call.
func (w *watcher) tell(what string) {
	w.s.r.drain()
	w.s.r.notef("%s, %s hears of %b", what, w.s.name, w.heard)
	w.heard = 0
	w.s.look()
}

// TestEventsAsGVisor compares the events that sockets report: a program may wait for one event
// only.
func TestEventsAsGVisor(t *testing.T) {
	const both = tcpip.ShutdownRead | tcpip.ShutdownWrite
	events := func(what string, during func(*rig, *rigSocket, *rigPeer)) parityScript {
		return parityScript{what, func(r *rig) {
			_, c, p := r.established()
			w := c.watch()
			during(r, c, p)
			w.tell(what)
			c.read()
			w.tell("read")
			c.write(1)
			w.tell("written")
		}}
	}
	runParity(t, []parityScript{
		events("data", func(_ *rig, _ *rigSocket, p *rigPeer) { p.data(10) }),
		events("FIN", func(_ *rig, _ *rigSocket, p *rigPeer) { p.fin() }),
		events("data and FIN", func(_ *rig, _ *rigSocket, p *rigPeer) { p.data(10); p.fin() }),
		events("RST", func(_ *rig, _ *rigSocket, p *rigPeer) { p.rst() }),
		events("FIN and RST", func(_ *rig, _ *rigSocket, p *rigPeer) { p.fin(); p.rst() }),
		events("shutdown of writing", func(_ *rig, c *rigSocket, _ *rigPeer) { c.shutdown(tcpip.ShutdownWrite) }),
		events("shutdown of reading", func(_ *rig, c *rigSocket, _ *rigPeer) { c.shutdown(tcpip.ShutdownRead) }),
		events("shutdown of both", func(_ *rig, c *rigSocket, _ *rigPeer) { c.shutdown(both) }),
		events("shutdown, and data", func(_ *rig, c *rigSocket, p *rigPeer) { c.shutdown(tcpip.ShutdownRead); p.data(3) }),
		events("shutdown, data and FIN", func(_ *rig, c *rigSocket, p *rigPeer) { c.shutdown(tcpip.ShutdownRead); p.data(3); p.fin() }),
		events("close", func(_ *rig, c *rigSocket, _ *rigPeer) { c.close() }),
		events("abort", func(_ *rig, c *rigSocket, _ *rigPeer) { c.abort() }),
		events("both have closed", func(_ *rig, c *rigSocket, p *rigPeer) { c.shutdown(tcpip.ShutdownWrite); p.ack(); p.fin() }),
		events("the peer closed first", func(_ *rig, c *rigSocket, p *rigPeer) { p.fin(); c.shutdown(tcpip.ShutdownWrite); p.ack() }),
		events("room in the send buffer", func(_ *rig, c *rigSocket, p *rigPeer) {
			c.ep.SocketOptions().SetSendBufferSize(4096, true)
			c.write(4096)
			c.write(1)
			p.ack()
		}),
		events("a larger send buffer", func(_ *rig, c *rigSocket, _ *rigPeer) {
			c.ep.SocketOptions().SetSendBufferSize(4096, true)
			c.write(4096)
			c.write(1)
			c.ep.SocketOptions().SetSendBufferSize(6144, true) // so a third is free
		}),
		events("a peer that is gone", func(r *rig, c *rigSocket, _ *rigPeer) {
			timeout := tcpip.TCPUserTimeoutOption(3 * time.Second)
			c.ep.SetSockOpt(&timeout)
			c.write(10)
			r.timing()
			r.quietly(func() { r.pass(20 * time.Second) })
		}),
		events("an ICMP error", func(_ *rig, c *rigSocket, p *rigPeer) {
			c.write(10)
			p.icmp(header.ICMPv4HostUnreachable, 0)
		}),
		{"a listener", func(r *rig) {
			l := r.socket("l").bind(rigPort).listen(8)
			w := l.watch()
			p := r.peer(2000)
			p.syn()
			w.tell("SYN")
			p.ack()
			w.tell("ACK")
			l.accept("c")
			w.tell("accepted")
			l.shutdown(tcpip.ShutdownRead)
			w.tell("shut down")
			l.close()
			w.tell("closed")
		}},
		{"connecting", func(r *rig) {
			c := r.socket("c")
			w := c.watch()
			p := c.connect(2000)
			w.tell("SYN")
			p.synAck()
			w.tell("SYN-ACK")
		}},
		{"refused", func(r *rig) {
			c := r.socket("c")
			w := c.watch()
			p := c.connect(2000)
			p.send(header.TCPFlagRst|header.TCPFlagAck, 0, 1, 0)
			w.tell("RST")
		}},
		{"no answer", func(r *rig) {
			c := r.socket("c")
			c.ep.SetSockOptInt(tcpip.TCPSynCountOption, 2)
			w := c.watch()
			c.connect(2000)
			r.timing()
			r.quietly(func() { r.pass(10 * time.Minute) })
			w.tell("given up")
			c.soError()
		}},
	})
}

// TestCallsAsGVisor compares the calls that the other scripts do not make.
func TestCallsAsGVisor(t *testing.T) {
	peek := func(c *rigSocket, into *bytes.Buffer, o tcpip.ReadOptions) {
		res, err := c.ep.Read(into, o)
		c.say(fmt.Sprintf("read with %+v: %d of %d, from %v %d, control %v, %q", o, res.Count, res.Total, res.RemoteAddr.Addr, res.RemoteAddr.Port,
			res.ControlMessages.HasTimestamp, into), err)
	}
	addresses := func(c *rigSocket) {
		at, err := c.ep.GetLocalAddress()
		c.say(fmt.Sprintf("local address %v %d on %d", at.Addr, min(at.Port, 1024), at.NIC), err)
		at, err = c.ep.GetRemoteAddress()
		c.say(fmt.Sprintf("remote address %v %d on %d", at.Addr, at.Port, at.NIC), err)
	}
	runParity(t, []parityScript{
		{"peeking", func(r *rig) {
			_, c, p := r.established()
			var b bytes.Buffer
			peek(c, &b, tcpip.ReadOptions{Peek: true})
			p.raw(header.TCPFlagAck, p.iss+1, p.theirs+1, []byte("hello "), 0)
			p.raw(header.TCPFlagAck, p.iss+7, p.theirs+1, []byte("world"), 0)
			peek(c, &b, tcpip.ReadOptions{Peek: true})
			b.Reset()
			peek(c, &b, tcpip.ReadOptions{Peek: true, NeedRemoteAddr: true, NeedLinkPacketInfo: true})
			w := tcpip.LimitedWriter{W: &b, N: 3}
			b.Reset()
			res, err := c.ep.Read(&w, tcpip.ReadOptions{})
			c.say(fmt.Sprintf("read %d of %d, %q", res.Count, res.Total, b.String()), err)
			b.Reset()
			peek(c, &b, tcpip.ReadOptions{NeedRemoteAddr: true})
			p.snd = 12
			p.fin()
			peek(c, &b, tcpip.ReadOptions{Peek: true})
			peek(c, &b, tcpip.ReadOptions{})
			c.close()
			peek(c, &b, tcpip.ReadOptions{Peek: true})
		}},
		{"a writer that fails", func(r *rig) {
			_, c, p := r.established()
			p.data(10)
			w := tcpip.LimitedWriter{W: new(bytes.Buffer), N: 0}
			res, err := c.ep.Read(&w, tcpip.ReadOptions{})
			c.say(fmt.Sprintf("read %d of %d", res.Count, res.Total), err)
			c.read()
		}},
		{"writing to an address", func(r *rig) {
			_, c, p := r.established()
			to := tcpip.FullAddress{Addr: rigThere, Port: 7}
			n, err := c.ep.Write(strings.NewReader("abc"), tcpip.WriteOptions{To: &to})
			c.say(fmt.Sprintf("wrote %d", n), err)
			p.ack()
		}},
		{"MSG_EOR, and a TTL", func(r *rig) {
			_, c, p := r.established()
			for _, o := range []tcpip.WriteOptions{{}, {EndOfRecord: true}, {ControlMessages: tcpip.SendableControlMessages{HasTTL: true, TTL: 3}}} {
				n, err := c.ep.Write(strings.NewReader("abc"), o)
				c.say(fmt.Sprintf("wrote %d", n), err)
				p.ack()
			}
		}},
		{"nothing to write", func(r *rig) {
			_, c, p := r.established()
			c.write(0).writeAtomic(0)
			p.fin()
			c.write(0)
			c.shutdown(tcpip.ShutdownWrite).write(0).writeAtomic(0)
		}},
		{"addresses", func(r *rig) {
			c := r.socket("c")
			addresses(c)
			c.bind(90)
			addresses(c)
			p := c.connect(2000)
			addresses(c)
			p.synAck()
			addresses(c)
			p.fin()
			addresses(c)
			c.close()
			addresses(c)
			p.ack()
			addresses(c)
			l := r.socket("l").bind(rigPort).listen(1)
			addresses(l)
			l.close()
			addresses(l)
		}},
		{"disconnecting, and shutting what is not open", func(r *rig) {
			c := r.socket("c")
			c.say("disconnect", c.ep.Disconnect())
			for _, f := range []tcpip.ShutdownFlags{0, tcpip.ShutdownRead, tcpip.ShutdownWrite, tcpip.ShutdownRead | tcpip.ShutdownWrite} {
				c.shutdown(f)
			}
			c.bind(90).shutdown(tcpip.ShutdownWrite)
			_, d, p := r.established()
			d.say("disconnect", d.ep.Disconnect())
			d.shutdown(0).shutdown(tcpip.ShutdownRead).shutdown(tcpip.ShutdownRead)
			p.data(4)
			d.look().read()
			d.shutdown(tcpip.ShutdownWrite).shutdown(tcpip.ShutdownWrite)
			d.close().shutdown(tcpip.ShutdownWrite)
		}},
		{"shut down for reading, data, and for writing", func(r *rig) {
			_, c, p := r.established()
			c.shutdown(tcpip.ShutdownRead)
			p.data(3)
			c.shutdown(tcpip.ShutdownWrite).look().soError().read().read().write(1)
		}},
		{"what Info tells", func(r *rig) {
			tell := func(s *rigSocket) {
				i := s.ep.Info().(*stack.TransportEndpointInfo)
				r.notef("%s: %v %v %+v %v", s.name, i.NetProto, i.TransProto, i.ID, i.BindAddr)
			}
			_, c, p := r.established()
			tell(c)
			p.rst()
			tell(c)
		}},
	})
}
