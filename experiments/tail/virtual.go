package tail

import (
	"errors"
	"net"
	"time"

	"tcpwheel/netstack"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/virtual"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// The ends in virtual time.
const (
	serverEnd = 0
	clientEnd = 1
)

// runVirtual does one run in virtual time.
func (c *Config) runVirtual(sender string, segments int, control bool) (outcome, error) {
	server, err := serverTCP(sender)
	if err != nil {
		return outcome{}, err
	}
	client := virtual.TCP{Config: netstack.Config{Conn: tcp.DefaultConfig(clientPolicy(control || c.DelayAcks))},
		Control: "cubic", StrictClock: true}
	w := newWatch(segments)
	server.Config.Causes = c.Capture != nil
	wire := virtualWire{watch: w, lossy: !control, delay: c.RTT / 2}
	if !control {
		wire.record = c.Capture.run(sender, segments)
	}
	n, err := virtual.New(virtual.Config{TCP: [2]virtual.TCP{server, client}, Wire: wire})
	if err != nil {
		return outcome{}, err
	}
	defer n.Close()
	local := uint16(40000)
	p := &program{
		spawn: n.Tasks.Go, sleep: n.Tasks.Sleep, rtt: c.RTT, size: int(w.size), count: c.Count, control: control,
		dial: func() (net.Conn, error) {
			local++ // tasks run one at a time
			return n.Dial(clientEnd, local, port)
		},
		acks: func(net.Conn, bool) error { return nil }, // the client's policy decides
	}
	n.Tasks.Go(func() {
		l, err := n.Listen(serverEnd, port)
		if err != nil {
			p.fail("listen", err)
			return
		}
		defer l.Close()
		p.accept(l)
	})
	p.clients()
	n.Run(time.Hour, nil)
	if n.Tasks.Unfinished() != 0 {
		p.fail("after an hour of virtual time", errors.New("connections still wait"))
	}
	return outcome{watch: w, causes: Causes(n.Counts(serverEnd)), control: "cubic"}, p.err()
}

// clientPolicy acknowledges at once, or delays ACKs by Linux's 40 ms from the start.
func clientPolicy(delay bool) tcptimers.Policy {
	p := tcptimers.MustPolicy(tcptimers.DefaultPolicy)
	p.DelAck = tcptimers.DelAckConfig{Every: 1}
	if delay {
		p.DelAck = tcptimers.DelAckConfig{Every: 2, Delay: 40 * time.Millisecond, Min: 40 * time.Millisecond,
			Max: 40 * time.Millisecond}
	}
	return p
}

// virtualWire is the path.
type virtualWire struct {
	watch  *watch
	lossy  bool
	delay  time.Duration
	record recordPacket // nil without a capture
}

// Send implements virtual.Wire.
func (w virtualWire) Send(now wheel.Time, from int, p *virtual.Packet) (time.Duration, bool) {
	fromServer := from == serverEnd
	lost := w.lossy && fromServer && w.watch.loses(segment{p.Header, p.Start, p.End})
	w.watch.sent(now, fromServer, segment{p.Header, p.Start, p.End}, lost)
	if w.record != nil {
		w.record(now, p.Bytes, p.Causes, lost)
	}
	return w.delay, !lost
}

// Arrive implements virtual.Wire.
func (w virtualWire) Arrive(now wheel.Time, from int, p *virtual.Packet) bool {
	w.watch.arrived(now, from == serverEnd, segment{p.Header, p.Start, p.End})
	return true
}
