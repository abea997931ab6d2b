package netstack

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

// segments lists the data and FIN segments that f lets leave, as the first byte, the length and the
// flags besides ACK.
func (p *rigPeer) segments(f func()) string {
	from := len(p.all)
	f()
	p.r.drain()
	var all []string
	for _, s := range p.all[from:] {
		flags := strings.ReplaceAll(strings.ReplaceAll((s.Flags()&^header.TCPFlagAck).String(), " ", ""), "A", "")
		if n := len(s) - int(s.DataOffset()); n > 0 || flags != "" {
			all = append(all, strings.TrimSpace(fmt.Sprintf("%d+%d %s", s.SequenceNumber()-p.theirs, n, flags)))
		}
	}
	return strings.Join(all, ", ")
}

// timeTo returns how long it takes until the next segment leaves, to a tenth of a second.
func (p *rigPeer) timeTo() time.Duration {
	before := p.sent
	for d := time.Duration(0); d < 10*time.Second; d += 100 * time.Millisecond {
		if p.r.pass(100 * time.Millisecond); p.sent > before {
			return d + 100*time.Millisecond
		}
	}
	return 0
}

// timeWait brings a connection of the stack to TIME-WAIT.
func (r *rig) timeWait() (c *rigSocket, p *rigPeer) {
	_, c, p = r.established()
	c.shutdown(tcpip.ShutdownWrite)
	p.ack()
	p.fin()
	return c, p
}

func (s *rigSocket) state() string { return gtcp.EndpointState(s.ep.State()).String() }

// TestDiffersFromGVisor proves rows of docs/differences.md: what ours does and what gVisor's TCP
// does, as go.mod pins it.
func TestDiffersFromGVisor(t *testing.T) {
	for _, c := range []struct {
		name         string
		script       func(r *rig) string
		ours, gvisor string
	}{
		{"receive window of a buffer of 20,000", func(r *rig) string {
			l := r.socket("l")
			l.ep.SocketOptions().SetReceiveBufferSize(20_000, true)
			l.bind(rigPort).listen(8)
			p := r.peer(2000)
			p.syn()
			return fmt.Sprint(p.last.WindowSize())
		}, "20000", "9984"}, // rounded to its scale
		{"window below the MSS", func(r *rig) string {
			r.peer(2000).wnd = 1000
			_, c, p := r.established()
			return p.segments(func() { c.write(1000) })
		}, "1+500, 501+500 P", "1+1000 P"},
		{"FIN beyond the congestion window", func(r *rig) string {
			_, c, p := r.established()
			c.write(10 * 1460)
			return p.segments(func() { c.shutdown(tcpip.ShutdownWrite) })
		}, "14601+0 F", ""},
		{"FIN beyond the peer's window", func(r *rig) string {
			r.peer(2000).wnd = 1000
			_, c, p := r.established()
			c.write(1000)
			return p.segments(func() { c.shutdown(tcpip.ShutdownWrite) })
		}, "", "1001+0 F"},
		{"a write of three segments", func(r *rig) string {
			_, c, p := r.established()
			return p.segments(func() { c.write(3000) })
		}, "1+1460, 1461+1460, 2921+80 P", "1+1460, 1461+1460, 2921+80 P"},
		{"congestion controls", func(r *rig) string {
			var all tcpip.TCPAvailableCongestionControlOption
			r.say(r.s.TransportProtocolOption(ProtocolNumber, &all))
			return string(all)
		}, "reno cubic vegas", "reno cubic"},
		{"options of a SYN cookie", func(r *rig) string {
			on := tcpip.TCPAlwaysUseSynCookies(true)
			r.say(r.s.SetTransportProtocolOption(ProtocolNumber, &on))
			sack := tcpip.TCPSACKEnabled(true)
			r.say(r.s.SetTransportProtocolOption(ProtocolNumber, &sack))
			r.socket("l").bind(rigPort).listen(8)
			p := r.peer(2000)
			p.sack, p.stamps = true, true
			p.syn()
			o := header.ParseSynOptions(p.last.Options(), true)
			return fmt.Sprintf("SACK %v, timestamps %v", o.SACKPermitted, o.TS)
		}, "SACK true, timestamps true", "SACK false, timestamps true"},
		{"merging under a cork", func(r *rig) string {
			_, c, p := r.established()
			c.ep.SocketOptions().SetCorkOption(true)
			return p.segments(func() {
				c.write(1000).write(1000)
				p.ack()
				r.pass(210 * time.Millisecond)
				p.ack()
			})
		}, "1+1460, 1461+540 P", "1+1000 P, 1001+1000 P"},
		{"merging under Nagle's algorithm", func(r *rig) string {
			_, c, p := r.established()
			c.ep.SocketOptions().SetDelayOption(true)
			c.write(100)
			return p.segments(func() {
				c.write(1000).write(1000)
				p.ack()
				p.ack()
			})
		}, "101+1460, 1561+540 P", "101+1000 P, 1101+1000 P"},
		{"end of a record under Nagle's algorithm", func(r *rig) string {
			_, c, p := r.established()
			c.ep.SocketOptions().SetDelayOption(true)
			c.write(100)
			return p.segments(func() {
				for range 2 {
					_, err := c.ep.Write(strings.NewReader("record"), tcpip.WriteOptions{EndOfRecord: true})
					r.say(err)
				}
				p.ack()
				p.ack()
			})
		}, "101+6 P, 107+6 P", "101+12 P"},
		{"cwnd after 20 small writes", func(r *rig) string {
			_, c, p := r.established()
			for range 20 {
				c.write(10)
				p.ack()
			}
			var info tcpip.TCPInfoOption
			c.say("info", c.ep.GetSockOpt(&info))
			return fmt.Sprint(info.SndCwnd)
		}, "10", "30"},
		{"RTO of a SYN with a MinRTO of 3 s", func(r *rig) string {
			least := tcpip.TCPMinRTOOption(3 * time.Second)
			r.say(r.s.SetTransportProtocolOption(ProtocolNumber, &least))
			return r.socket("c").connect(2000).timeTo().String()
		}, "3s", "1s"},
		{"RTO after a lost SYN", func(r *rig) string {
			c := r.socket("c")
			p := c.connect(2000)
			p.timeTo()
			p.synAck()
			c.write(100)
			return p.timeTo().String()
		}, "3s", "1s"},
		{"SYN-ACK with an echo never sent", func(r *rig) string {
			c := r.socket("c")
			p := c.connect(2000)
			p.stamps, p.late = true, 1<<20
			p.synAck()
			return c.state()
		}, "SYN-SENT", "ESTABLISHED"},
		{"ACK at the edge of the window in SYN-RECEIVED", func(r *rig) string {
			l := r.socket("l").bind(rigPort).listen(8)
			p := r.peer(2000)
			p.syn()
			p.send(header.TCPFlagAck, 1+uint32(p.last.WindowSize()), 1, 0)
			return fmt.Sprint(l.accept("c") != nil)
		}, "true", "false"},
		{"FIN with an ACK above SND.NXT", func(r *rig) string {
			_, c, p := r.established()
			p.send(header.TCPFlagFin|header.TCPFlagAck, p.snd, p.nxt+1000, 0)
			return c.state()
		}, "ESTABLISHED", "CLOSE-WAIT"},
		{"retransmissions after a packet-too-big", func(r *rig) string {
			_, c, p := r.established()
			c.write(1460).write(100).write(1460)
			return p.segments(func() { p.icmp(header.ICMPv4FragmentationNeeded, 1000) })
		}, "1+960, 961+500 P, 1561+960, 2521+500 P", "1+960, 961+500 P, 1461+100 P, 1561+960, 2521+500 P"},
		{"room for options", func(r *rig) string {
			sack := tcpip.TCPSACKEnabled(true)
			r.say(r.s.SetTransportProtocolOption(ProtocolNumber, &sack))
			p := r.peer(2000)
			p.sack, p.stamps = true, true
			_, c, _ := r.established()
			return p.segments(func() { c.write(2000) })
		}, "1+1448, 1449+552 P", "1+1420, 1421+580 P"},
		{"old SYN in TIME-WAIT", func(r *rig) string {
			_, p := r.timeWait()
			before := p.sent
			p.send(header.TCPFlagSyn, 0, 0, 0)
			return fmt.Sprint(p.sent-before, " answers")
		}, "1 answers", "0 answers"},
		{"RST in TIME-WAIT", func(r *rig) string {
			c, p := r.timeWait()
			p.rst()
			return c.state()
		}, "CLOSED", "TIME-WAIT"},
		{"ACKs of segments in sequence", func(r *rig) string {
			_, _, p := r.established()
			before := p.sent
			for range 40 {
				p.data(100)
			}
			return fmt.Sprint(p.sent-before < 40)
		}, "true", "false"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, tcp := range []struct {
				name    string
				factory stack.TransportProtocolFactory
				want    string
			}{{"ours", NewProtocol, c.ours}, {"gVisor's", gtcp.NewProtocol, c.gvisor}} {
				r := newRig(t, tcp.factory, tcp.name == "ours")
				if got := c.script(r); got != tcp.want {
					t.Errorf("%s TCP: %s, want %s\n%s", tcp.name, got, tcp.want, strings.Join(r.log, "\n"))
				}
			}
		})
	}
}
