package deadpeer

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/netstack"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/virtual"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// gvisorCases are those of gVisor's own TCP, whose timers have no tick.
func gvisorCases(p *Plan) (all []death) {
	all = append(all, death{name: "gVisor, keepalive", idle: 2 * time.Hour, each: 75 * time.Second, count: 9},
		death{name: "gVisor, keepalive, fast", idle: p.FastIdle, each: p.FastInterval, count: p.FastCount})
	for _, user := range p.UserTimeouts {
		all = append(all, death{name: fmt.Sprintf("gVisor, user timeout of %v", user), what: data, user: user},
			death{name: fmt.Sprintf("gVisor, user timeout of %v, no probes", user), what: data, user: user, bare: true})
	}
	return append(all, death{name: "gVisor, R2", what: data}, death{name: "gVisor, SYN", what: opening})
}

// dieUnderGVisor has the peer of a connection of gVisor's own TCP die.
func dieUnderGVisor(p *Plan, d *death) (Cell, error) {
	c := Cell{Case: d.name, Seed: 1}
	w := &gvisorWire{way: p.RTT / 2, dead: d.what == opening}
	peer := virtual.TCP{Config: netstack.Config{Conn: tcp.DefaultConfig(tcptimers.MustPolicy(tcptimers.DefaultPolicy))}}
	n, err := virtual.New(virtual.Config{Seed: 1, TCP: [2]virtual.TCP{peer, {GVisor: true, NoRACK: d.bare}}, Wire: w})
	if err != nil {
		return c, err
	}
	defer n.Close()
	var failed error
	fail := func(what string, err error) {
		if failed == nil {
			failed = fmt.Errorf("%s: %s: %w", d.name, what, err)
		}
	}
	const port, size = 80, 100
	var ended bool
	var start, end wheel.Time
	if d.what != opening {
		n.Tasks.Go(func() {
			l, err := n.Listen(0, port)
			if err != nil {
				fail("listen", err)
				return
			}
			defer l.Close()
			conn, err := l.Accept()
			if err != nil {
				fail("accept", err)
				return
			}
			defer conn.Close()
			for b := make([]byte, size); ; { // an echo
				got, err := conn.Read(b)
				if err != nil {
					return
				}
				if _, err := conn.Write(b[:got]); err != nil {
					return
				}
			}
		})
	}
	n.Tasks.Go(func() {
		defer func() { end, ended = n.Now(), true }()
		start = n.Now()
		conn, err := n.Dial(1, 40000, port)
		if d.what == opening {
			if err == nil {
				conn.Close()
				fail("dial", errors.New("there is a peer"))
			}
			return
		}
		if err != nil {
			fail("dial", err)
			return
		}
		defer conn.Close()
		if err := d.configure(conn); err != nil {
			fail("options", err)
			return
		}
		b := make([]byte, size)
		for range 20 { // a round trip is measured; the last segment of the peer's is what came last
			n.Tasks.Sleep(2 * time.Second)
			if _, err := conn.Write(b); err != nil {
				fail("write", err)
				return
			}
			if _, err := conn.Read(b); err != nil {
				fail("read", err)
				return
			}
		}
		w.dead, start = true, n.Now()
		if d.what == data {
			if _, err := conn.Write(b); err != nil {
				fail("write", err)
				return
			}
		}
		if _, err := conn.Read(b); !errors.Is(err, syscall.ETIMEDOUT) {
			fail("read", fmt.Errorf("%v, want a timeout", err))
		}
	})
	n.Run(5*time.Hour, func() bool { return ended })
	w.dead = true
	n.Run(5*time.Hour, nil) // the peer ends, too
	switch {
	case failed != nil:
		return c, failed
	case !ended:
		return c, fmt.Errorf("%s: the connection lives after five hours", d.name)
	}
	c.Took = end.Sub(start).Seconds()
	if d.what == idle || d.user > 0 {
		c.Rule = d.user
		if d.what == idle {
			c.Rule = d.idle + time.Duration(d.count)*d.each
		}
		if d.late(c) >= time.Millisecond {
			c.Off = 1
		}
	}
	return c, nil
}

// configure sets the options of the case. Keepalive of two hours is what gVisor has by itself.
func (d *death) configure(conn *sockets.Conn) error {
	switch {
	case d.what == idle && d.idle == 2*time.Hour:
		return conn.SetKeepAlive(true)
	case d.what == idle:
		return conn.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: d.idle, Interval: d.each, Count: d.count})
	case d.user > 0:
		return conn.SetUserTimeout(d.user)
	}
	return nil
}

// gvisorWire carries all until it is dead.
type gvisorWire struct {
	way  time.Duration
	dead bool
}

func (w *gvisorWire) Send(wheel.Time, int, *virtual.Packet) (time.Duration, bool) {
	return w.way, !w.dead
}
func (w *gvisorWire) Arrive(wheel.Time, int, *virtual.Packet) bool { return true }

// late is how far the end was from the rule.
func (d *death) late(c Cell) time.Duration {
	return (time.Duration(c.Took*1e9) - c.Rule).Abs()
}

// judgeGVisor judges gVisor's own TCP.
func judgeGVisor(p *Plan, cells []Cell, out *experiments.Outcome) {
	t := experiments.Table{
		Name: "gvisor", Title: "How long a connection of gVisor's own TCP outlives its peer", Columns: []string{"case", "rule, s", "lives, s", "beyond the rule, ms"},
	}
	var kept, keeps, users, lateUsers, bares, lateBares int
	worst := time.Duration(0) // of the user timeouts
	for _, d := range gvisorCases(p) {
		for _, c := range cells {
			if c.Case != d.name {
				continue
			}
			if c.Rule == 0 {
				t.Add(d.name, "none", c.Took, "")
				continue
			}
			t.Add(d.name, c.Rule.Seconds(), c.Took, 1e3*(c.Took-c.Rule.Seconds()))
			switch {
			case d.what == idle:
				keeps, kept = keeps+1, kept+1-c.Off
			case d.bare:
				bares, lateBares = bares+1, lateBares+c.Off
			default:
				users, lateUsers = users+1, lateUsers+c.Off
				worst = max(worst, d.late(c))
			}
		}
	}
	out.Tables = append(out.Tables, t)
	out.Claim(experiments.Claim{
		Name: "gvisor", Text: fmt.Sprintf("gVisor's own TCP notices after 7875 s, and under keepalive of %v, %v and %d after their sum", p.FastIdle, p.FastInterval, p.FastCount),
		Published: "7200 s + 9·75 s", Source: "gVisor, tcp/endpoint.go", Tag: experiments.FromPrint, Measured: experiments.MeasuredText("%d of %d", kept, keeps),
		Expected:  experiments.Whether(keeps > 0 && kept == keeps, "both within a millisecond"),
		Otherwise: "its timers are others",
	})
	verdict := experiments.NotReproduced
	probe := 2*p.RTT + maxAckDelay
	switch {
	case users > 0 && lateUsers == 0:
		verdict = experiments.Reproduced
	case users > 0 && worst < probe+time.Millisecond:
		verdict = experiments.Differs
	}
	out.Claim(experiments.Claim{
		Name: "gvisor-user-timeout", Text: "with data under way the user timeout decides for gVisor's own TCP, too", Source: "RFC 9293 §3.8.3 and RFC 5482", Tag: experiments.Standard,
		Measured: experiments.MeasuredText("%d of %d off, by %v at most", lateUsers, users, worst.Round(time.Millisecond)), Expected: experiments.Decided(verdict, "within a millisecond; by more than a probe takes is not reproduced"),
		Otherwise: fmt.Sprintf("at its first timeout it looks at when the first segment in flight was sent last, and the probe for a lost tail has sent it again by then, 2·SRTT + 200 ms after the first time: "+
			"%v here. Without RACK and its probe %d of %d are off", probe, lateBares, bares),
	})
}

// maxAckDelay is what gVisor's probe allows for the delayed ACK of a lone segment (rack.go, schedulePTO).
const maxAckDelay = 200 * time.Millisecond
