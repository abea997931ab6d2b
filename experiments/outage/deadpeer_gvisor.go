package outage

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/virtual"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// gvisorCases are those of gVisor's own TCP, whose timers have no tick.
func gvisorCases(p *deadPlan) (all []death) {
	all = append(all, death{name: "gVisor, keepalive", idle: 2 * time.Hour, each: 75 * time.Second, count: 9},
		death{name: "gVisor, keepalive, fast", idle: p.FastIdle, each: p.FastInterval, count: p.FastCount})
	for _, user := range p.UserTimeouts {
		all = append(all, death{name: fmt.Sprintf("gVisor, user timeout of %v", user), activity: data, user: user},
			death{name: fmt.Sprintf("gVisor, user timeout of %v, no probes", user), activity: data, user: user, bare: true})
	}
	return append(all, death{name: "gVisor, R2", activity: data}, death{name: "gVisor, SYN", activity: opening})
}

// gvisorDeath is a connection of gVisor's own TCP whose peer dies.
type gvisorDeath struct {
	*testbed.Stacks
	*death
	dead       bool // the path loses all packets
	start, end wheel.Time
}

// dieUnderGVisor measures how long a connection of gVisor's own TCP outlives its peer.
func dieUnderGVisor(p *deadPlan, d *death) (deadCell, error) {
	c := deadCell{Case: d.name, Seed: 1}
	g := &gvisorDeath{death: d, dead: d.activity == opening}
	link := sim.LinkConfig{Delay: p.RTT / 2}
	s, err := testbed.NewStacks(testbed.StacksPlan{Seed: 1, Up: link, Down: link,
		Client: testbed.Subject{Kind: testbed.GVisor, NoRACK: d.bare},
		Server: tcp.DefaultConfig(tcptimers.MustPolicy(tcptimers.DefaultPolicy))})
	if err != nil {
		return c, err
	}
	g.Stacks = s
	g.Sent = func(_ wheel.Time, _ int, _ *virtual.Packet, fate *sim.Fate) {
		if g.dead {
			fate.Outcome = sim.Lost
		}
	}
	if d.activity != opening {
		g.Serve(echo)
	}
	g.Go(func() error {
		err := g.live()
		g.end = g.Net.Now()
		return err
	})
	err = g.Run(wheel.Time(5*time.Hour), func() bool { return g.end > 0 })
	if err == nil && g.end == 0 {
		err = errors.New("the connection lives after five hours")
	}
	g.dead = true
	if err = errors.Join(err, g.Close()); err != nil {
		return c, fmt.Errorf("%s: %w", d.name, err)
	}
	c.Took = g.end.Sub(g.start).Seconds()
	if d.activity == idle || d.user > 0 {
		c.Rule = d.user
		if d.activity == idle {
			c.Rule = d.idle + time.Duration(d.count)*d.each
		}
		if d.late(c) >= time.Millisecond {
			c.Off = 1
		}
	}
	return c, nil
}

// segmentSize is the bytes of each segment with data.
const segmentSize = 100

func echo(c *sockets.Conn) error {
	for b := make([]byte, segmentSize); ; {
		n, err := c.Read(b)
		if err != nil {
			return nil
		}
		if _, err := c.Write(b[:n]); err != nil {
			return nil
		}
	}
}

// live is the program of the connection, until gVisor's TCP notices that the peer is dead.
func (g *gvisorDeath) live() error {
	g.start = g.Net.Now()
	c, err := g.Connect(testbed.DialEnd, 40000)
	if g.activity == opening {
		if err == nil {
			return errors.New("there is a peer")
		}
		return nil
	}
	if err != nil {
		return err
	}
	if err := g.configure(c); err != nil {
		return err
	}
	b := make([]byte, segmentSize)
	for range 20 { // round trips are measured; the peer's segment comes last
		g.Net.Tasks.Sleep(2 * time.Second)
		if _, err := c.Write(b); err != nil {
			return err
		}
		if _, err := c.Read(b); err != nil {
			return err
		}
	}
	g.dead, g.start = true, g.Net.Now()
	if g.activity == data {
		if _, err := c.Write(b); err != nil {
			return err
		}
	}
	if _, err := c.Read(b); !errors.Is(err, syscall.ETIMEDOUT) {
		return fmt.Errorf("read: %v, want a timeout", err)
	}
	return nil
}

// configure sets the options of the case. Keepalive of two hours is gVisor's default.
func (d *death) configure(conn *sockets.Conn) error {
	switch {
	case d.activity == idle && d.idle == 2*time.Hour:
		return conn.SetKeepAlive(true)
	case d.activity == idle:
		return conn.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: d.idle, Interval: d.each,
			Count: d.count})
	case d.user > 0:
		return conn.SetUserTimeout(d.user)
	}
	return nil
}

// late returns the distance between the end and the rule.
func (d *death) late(c deadCell) time.Duration {
	return (time.Duration(c.Took*1e9) - c.Rule).Abs()
}
