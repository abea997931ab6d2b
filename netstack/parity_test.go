package netstack

import (
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// TestSameAsGVisor runs scripts with our TCP and gVisor's. Errors, states, readiness, segments and
// counters must be equal.
func TestSameAsGVisor(t *testing.T) {
	const both = tcpip.ShutdownRead | tcpip.ShutdownWrite
	runParity(t, []parityScript{
		{"passive open and close by the peer", func(r *rig) {
			l, c, p := r.established()
			l.look()
			c.look().read().write(10)
			p.ack()
			p.data(5)
			c.look().read()
			p.fin()
			c.look().read().shutdown(tcpip.ShutdownWrite).look()
			p.ack()
			c.look().write(1).read()
			c.close().stats()
			l.stats()
		}},
		{"active open and close, TIME-WAIT", func(r *rig) {
			c := r.socket("c")
			c.look().read().write(1)
			p := c.connect(2000)
			c.look().read().write(1)
			c.connect(2000)
			p.synAck()
			c.look()
			c.connect(2000)
			c.connect(2000)
			c.write(5)
			p.ack()
			c.shutdown(tcpip.ShutdownWrite).write(1)
			p.ack()
			c.look()
			p.fin()
			c.look().read().shutdown(both).soError()
			r.pass(61 * time.Second)
			c.look().read().stats()
		}},
		{"refused", func(r *rig) {
			c := r.socket("c")
			p := c.connect(2000)
			p.send(header.TCPFlagRst|header.TCPFlagAck, 0, 1, 0)
			c.look().soError().soError().read().write(1)
			c.connect(2000)
			c.stats()
		}},
		{"RST to a passive open", func(r *rig) {
			l := r.socket("l").bind(rigPort).listen(8)
			p := r.peer(2000)
			p.syn()
			p.rst()
			l.look().accept("c")
			l.stats()
		}},
		{"RST in ESTABLISHED", func(r *rig) {
			_, c, p := r.established()
			p.data(3)
			p.rst()
			c.look().read().read().read().write(1).soError().close().stats()
		}},
		{"RST in CLOSE-WAIT", func(r *rig) {
			_, c, p := r.established()
			p.fin()
			p.rst()
			c.look().read().write(1).soError().close().stats()
		}},
		{"abort", func(r *rig) {
			_, c, _ := r.established()
			c.abort().look().soError().read().stats()
		}},
		{"close with bytes unread", func(r *rig) {
			_, c, p := r.established()
			p.data(3)
			c.close().look().soError().stats()
		}},
		{"close with a linger time of 0", func(r *rig) {
			_, c, _ := r.established()
			c.ep.SocketOptions().SetLinger(tcpip.LingerOption{Enabled: true})
			c.close().look().soError()
		}},
		{"shutdown while connecting", func(r *rig) {
			c := r.socket("c")
			c.connect(2000)
			c.shutdown(tcpip.ShutdownWrite).look().soError().soError().read().write(1)
		}},
		{"close while connecting", func(r *rig) {
			c := r.socket("c")
			c.connect(2000)
			c.close().look().soError()
		}},
		{"simultaneous close", func(r *rig) {
			_, c, p := r.established()
			c.shutdown(tcpip.ShutdownWrite)
			p.send(header.TCPFlagFin|header.TCPFlagAck, 1, 1, 0)
			c.look()
			p.snd = 2
			p.ack()
			c.look()
		}},
		{"simultaneous open", func(r *rig) {
			c := r.socket("c")
			p := c.connect(2000)
			p.syn()
			c.look()
			p.ack()
			c.look().write(3)
		}},
		{"atomic writes", func(r *rig) {
			_, c, p := r.established()
			c.ep.SocketOptions().SetSendBufferSize(4000, true)
			c.writeAtomic(1000).writeAtomic(10_000).writeAtomic(1)
			p.ack()
			c.writeAtomic(500)
			c.close().writeAtomic(1)
		}},
		{"a full send buffer", func(r *rig) {
			_, c, p := r.established()
			c.ep.SocketOptions().SetSendBufferSize(4000, true)
			c.write(3999).look().write(2).look().write(1)
			p.ack()
			c.look().write(1).stats()
		}},
		{"data after close", func(r *rig) {
			_, c, p := r.established()
			c.close()
			p.ack()
			p.data(10)
			c.look()
		}},
	})
}

// parityScript is a named script.
type parityScript struct {
	name   string
	script func(r *rig)
}

func runParity(t *testing.T, scripts []parityScript) {
	for _, c := range scripts {
		t.Run(c.name, func(t *testing.T) { sameAsGVisor(t, c.script) })
	}
}
