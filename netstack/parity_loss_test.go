package netstack

import (
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// TestTroubleAsGVisor compares connections whose segments are lost, malformed or hostile, and their
// counters.
func TestTroubleAsGVisor(t *testing.T) {
	runParity(t, []parityScript{
		{"a peer that is gone", func(r *rig) {
			retries := tcpip.TCPMaxRetriesOption(3)
			r.s.SetTransportProtocolOption(ProtocolNumber, &retries)
			_, c, _ := r.established()
			c.write(10)
			r.quietly(func() { r.pass(10 * time.Minute) })
			c.look().soError().soError().read().write(1)
		}},
		{"a peer that is gone, and no retries", func(r *rig) {
			retries := tcpip.TCPMaxRetriesOption(0)
			r.s.SetTransportProtocolOption(ProtocolNumber, &retries)
			_, c, _ := r.established()
			c.write(10)
			r.pass(10 * time.Minute)
			c.look().soError().soError().stats()
		}},
		{"the user timeout", func(r *rig) {
			_, c, _ := r.established()
			timeout := tcpip.TCPUserTimeoutOption(3 * time.Second)
			c.say("timeout", c.ep.SetSockOpt(&timeout))
			c.write(10)
			r.timing()
			r.quietly(func() { r.pass(20 * time.Second) })
			c.look().soError().soError().read().write(1)
		}},
		{"keepalive", func(r *rig) {
			_, c, p := r.established()
			idle, every := tcpip.KeepaliveIdleOption(10*time.Second), tcpip.KeepaliveIntervalOption(time.Second)
			c.say("idle", c.ep.SetSockOpt(&idle)).say("interval", c.ep.SetSockOpt(&every))
			c.say("count", c.ep.SetSockOptInt(tcpip.KeepaliveCountOption, 3))
			c.ep.SocketOptions().SetKeepAlive(true)
			before := p.sent
			r.pass(9 * time.Second)
			r.notef("probes after 9 s: %d", p.sent-before)
			r.pass(1500 * time.Millisecond)
			r.notef("probes after 10.5 s: %d", p.sent-before)
			p.ack()
			r.pass(10 * time.Second)
			r.notef("probes after another 10 s: %d", p.sent-before)
			r.skip = []string{"SegmentsSent", "ResetsSent"} // ours sends a RST, as Linux does
			r.quietly(func() { r.pass(30 * time.Second) })
			c.look().soError().soError().read()
		}},
		{"a SYN without an answer", func(r *rig) {
			c := r.socket("c")
			c.say("count", c.ep.SetSockOptInt(tcpip.TCPSynCountOption, 3))
			c.connect(2000)
			r.pass(10 * time.Second)
			c.look()
		}},
		{"a checksum is wrong", func(r *rig) {
			_, c, p := r.established()
			p.raw(header.TCPFlagAck, p.iss+p.snd, p.theirs+p.nxt, make([]byte, 3), 1)
			q := r.peer(3000)
			q.here = 9999
			q.raw(header.TCPFlagSyn, 7, 0, nil, 1)
			c.read().stats()
		}},
		{"to a port without an endpoint", func(r *rig) {
			p := r.peer(3000)
			p.here = 9999
			p.send(header.TCPFlagSyn, 0, 0, 0)
			p.send(header.TCPFlagSyn|header.TCPFlagFin, 0, 0, 5)
			p.send(header.TCPFlagAck, 5, 9, 0)
			p.send(header.TCPFlagRst, 5, 0, 0)
			r.notef("unknown %d", r.s.Stats().TCP.ResetsReceived.Value())
		}},
		{"a closed window", func(r *rig) {
			l := r.socket("l").bind(rigPort)
			l.ep.SocketOptions().SetReceiveBufferSize(8192, true)
			l.listen(3)
			p := r.peer(2000)
			p.syn()
			p.ack()
			c := l.accept("c")
			if c == nil {
				return
			}
			r.skip = []string{"SegmentsSent", "ValidSegmentsReceived"} // gVisor's window: half the buffer
			for range 20 {
				n := int(p.last.WindowSize())
				if n == 0 {
					break
				}
				p.data(min(n, 1000))
			}
			r.notef("closed: %v", p.last.WindowSize() == 0)
			c.look()
			if c.ep.Stats() == nil {
				return
			}
		}},
		{"a RST that is not quite right", func(r *rig) {
			_, c, p := r.established()
			r.acks = true
			p.send(header.TCPFlagRst, 10, 0, 0)
			p.send(header.TCPFlagRst, 0, 0, 0)
			c.look()
			r.pass(time.Second)
			p.send(header.TCPFlagSyn, 5, 0, 0)
			c.look()
		}},
		{"an ACK that is wrong, of a SYN", func(r *rig) {
			c := r.socket("c")
			p := c.connect(2000)
			p.send(header.TCPFlagAck, 5, 77, 0)
			p.send(header.TCPFlagRst, 0, 0, 0)
			p.send(header.TCPFlagRst|header.TCPFlagAck, 0, 77, 0)
			c.look()
		}},
		{"FIN-WAIT-2 ends", func(r *rig) {
			_, c, p := r.established()
			linger := tcpip.TCPLingerTimeoutOption(5 * time.Second)
			c.say("linger", c.ep.SetSockOpt(&linger))
			c.close()
			p.ack()
			c.look()
			r.pass(4 * time.Second)
			c.look()
			r.pass(2 * time.Second)
			c.look().soError()
			q := r.socket("q").bind(rigPort)
			q.close()
			p.data(3)
		}},
		{"out of order", func(r *rig) {
			_, c, p := r.established()
			p.send(header.TCPFlagAck, 11, 1, 10)
			p.send(header.TCPFlagAck, 31, 1, 10)
			c.look().read()
			p.send(header.TCPFlagAck, 1, 1, 10)
			c.read()
			p.send(header.TCPFlagAck, 21, 1, 10)
			c.read()
			p.send(header.TCPFlagAck, 21, 1, 10)
			c.read()
		}},
	})
}
