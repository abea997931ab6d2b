package netstack

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
)

// newCauseNet is a net with our TCP and Config.Causes.
func newCauseNet(t *testing.T, delay time.Duration, change func(*Config)) *clockNet {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Causes = true
	if change != nil {
		change(&cfg)
	}
	f, err := NewProtocolWith(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return newClockNetOf(t, delay, nil, f)
}

// timed lists the causes of the packets from the log's index first on.
func (n *clockNet) timed(first int) (list []string) {
	for _, p := range n.log[first:] {
		for _, c := range p.causes {
			s := fmt.Sprintf("%v %c data %d: %v armed %v for %v", p.at, p.from, p.data, c.Kind, c.Armed, c.Deadline)
			if c.SYN {
				s += " SYN"
			}
			if c.PerSegment {
				s += " segment"
			}
			if c.Segments != 1 || time.Duration(c.Expired) != p.at {
				s += fmt.Sprintf(" %+v", c)
			}
			list = append(list, s)
		}
	}
	return list
}

func (n *clockNet) wantTimed(first int, want ...string) {
	n.t.Helper()
	if got := n.timed(first); !slices.Equal(got, want) {
		n.t.Errorf("packets caused by timers: %q, want %q\n%s", got, want, n)
	}
}

// dropOnly loses the packets with these numbers, counted from 1 from now on.
func (n *clockNet) dropOnly(numbers ...int) {
	i := 0
	n.drop = func(clockPacket) bool {
		i++
		return slices.Contains(numbers, i)
	}
}

// send writes size bytes to an endpoint, loses packets and lets time pass. It returns the log's
// length before.
func (n *clockNet) send(ep tcpip.Endpoint, bytes int, wait time.Duration, lost ...int) (first int) {
	n.t.Helper()
	n.dropOnly(lost...)
	first = len(n.log)
	n.write(ep, make([]byte, bytes))
	n.clock.Advance(wait)
	return first
}

// TestCauses: each timer that sends is reported, at times that follow from the path's 100 ms.
func TestCauses(t *testing.T) {
	const ms = time.Millisecond
	n := newCauseNet(t, 50*ms, nil)

	n.dropOnly(1)
	client, server := n.dial()
	n.wantTimed(0, "1s a data 0: rexmit armed 0s for 1s SYN segment")

	client.SocketOptions().SetDelayOption(false)
	n.send(client, 4*1448, time.Second) // the window then lets two segments leave at once
	n.send(client, 8*1448, time.Second)
	// The probe's timer is capped by the retransmission timer, and either may expire first.
	n.wantTimed(n.send(client, 2*1448, time.Second, 2), "5.15s a data 1448: tlp armed 5s for 5.15s")
	// RFC 8985 §6.2: RACK waits for a quarter of the least round-trip time.
	n.wantTimed(n.send(client, 2*1448, time.Second, 1), "6.125s a data 1448: reorder armed 6.1s for 6.125s")
	// RFC 6298 §5 (5.5): the timeout backs off.
	n.wantTimed(n.send(client, 1448, time.Second, 1, 2), "7.15s a data 1448: rexmit armed 7s for 7.15s segment",
		"7.3s a data 1448: rexmit armed 7.15s for 7.3s segment")

	for range 16 {
		n.send(client, 100, 60*ms) // the receiver's quick ACKs
	}
	n.wantTimed(n.send(client, 100, 100*ms), "9.05s b data 0: delack armed 9.01s for 9.05s")

	idle, interval := tcpip.KeepaliveIdleOption(10*time.Second), tcpip.KeepaliveIntervalOption(time.Second)
	for _, o := range []tcpip.SettableSocketOption{&idle, &interval} {
		if err := client.SetSockOpt(o); err != nil {
			t.Fatal(err)
		}
	}
	n.clock.Advance(940 * ms)
	client.SocketOptions().SetKeepAlive(true)
	first := len(n.log)
	n.clock.Advance(15 * time.Second)
	n.wantTimed(first, "20s a data 0: keepalive armed 10s for 20s")
	client.SocketOptions().SetKeepAlive(false)

	n.read(server)
	for range 30 { // until both buffers are full, as the server does not read
		if _, err := client.Write(bytes.NewReader(make([]byte, 1<<20)), tcpip.WriteOptions{}); err != nil {
			break
		}
		n.clock.Advance(200 * ms)
	}
	first = len(n.log)
	n.clock.Advance(10 * time.Second)
	list := n.timed(first)
	if len(list) < 3 || !strings.Contains(list[len(list)-1], "a data 1: persist armed ") {
		t.Errorf("packets caused by timers with a closed window: %q, want the persist timer's probes", list)
	}
}

// TestCauseOfProbe: a tail loss probe under Linux's policy. With one segment in flight the probe
// waits for a delayed ACK, but at most for the RTO (RFC 8985 §7.2): SRTT plus 200 ms.
func TestCauseOfProbe(t *testing.T) {
	const ms = time.Millisecond
	n := newCauseNet(t, 5*ms, func(c *Config) { c.Conn = tcp.DefaultConfig(tcptimers.MustPolicy("linux")) })
	client, _ := n.dial()
	client.SocketOptions().SetDelayOption(false)
	n.send(client, 8*1448, time.Second)
	first := n.send(client, 3*1448, time.Second, 3)
	n.wantTimed(first, "2.228s a data 1448: tlp armed 2.018s for 2.228s")
}

// TestNoCausesByDefault: without Config.Causes packets carry no causes and keep the endpoint's
// owner.
func TestNoCausesByDefault(t *testing.T) {
	n := newCauseNet(t, 50*time.Millisecond, func(c *Config) { c.Causes = false })
	n.dropOnly(1)
	n.dial()
	n.wantTimed(0)
}

// TestCausesOfSuperSegments: causes name the positions of their segments in the packet.
func TestCausesOfSuperSegments(t *testing.T) {
	p := &scratch{packets: []packet{{first: 0}, {first: 3}, {first: 4}}}
	p.out.Segments = make([]tcp.Outgoing, 7)
	w := &packetParams{owner: causeOwner{}}
	if got := p.packetOwner(0, w); got != w.owner {
		t.Errorf("a packet without a cause has owner %v, want the endpoint's", got)
	}
	p.causes = []Cause{{First: 1, Last: 4, Kind: tcptimers.TLP}, {First: 5, Last: 6}}
	for i, want := range [][]Cause{
		{{First: 1, Last: 2, Segments: 3, Kind: tcptimers.TLP}},
		{{First: 0, Last: 0, Segments: 1, Kind: tcptimers.TLP}},
		{{First: 0, Last: 0, Segments: 3, Kind: tcptimers.TLP}, {First: 1, Last: 2, Segments: 3}},
	} {
		owner := p.packetOwner(i, w)
		pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{})
		pkt.Owner = owner
		if got := Causes(pkt); !slices.Equal(got, want) || owner.KUID() != 1000 || owner.KGID() != 100 {
			t.Errorf("packet %d: causes %+v, owner %d, %d; want %+v, owner 1000, 100", i, got, owner.KUID(), owner.KGID(), want)
		}
		pkt.DecRef()
	}
}

type causeOwner struct{}

func (causeOwner) KUID() uint32 { return 1000 }
func (causeOwner) KGID() uint32 { return 100 }

// TestArmed: Armed lists the running timers of a connection, one for each segment in flight.
func TestArmed(t *testing.T) {
	const ms = time.Millisecond
	n := newCauseNet(t, 50*ms, nil)
	client, server := n.dial()
	client.SocketOptions().SetDelayOption(false)
	n.send(client, 100, time.Second)
	if got := client.(*Endpoint).Armed(); len(got) != 0 {
		t.Errorf("an idle connection has timers %+v, want none", got)
	}
	n.write(client, make([]byte, 3*1448))
	now := n.clock.Time()
	want := ArmedTimers{Kind: tcptimers.Rexmit, PerSegment: true, Count: 3, Deadline: now.Add(client.(*Endpoint).ConnInfo().RTO)}
	if got := client.(*Endpoint).Armed(); !slices.Contains(got, want) {
		t.Errorf("three segments in flight have timers %+v, want %+v among them", got, want)
	}
	if got, ok := CountTimers(n.a); got < 3 || !ok {
		t.Errorf("the stack has %d timers, %v, want at least 3", got, ok)
	}
	if got := server.(*Endpoint).Armed(); len(got) != 0 {
		t.Errorf("the receiver has timers %+v, want none", got)
	}
	n.clock.Advance(time.Second)
	if _, ok := CountTimers(newClockNet(t, ms, nil).a); ok {
		t.Error("CountTimers returned ok for gVisor's TCP")
	}
}
