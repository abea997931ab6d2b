package tail

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/virtual"
	"tcpwheel/tun/netns"
)

// connectionLimit bounds a connection in real time. No policy takes that long.
const connectionLimit = 5 * time.Minute

// runReal does one run in real time.
func (c *Config) runReal(ctx context.Context, sender string, segments int, control bool) (o outcome, err error) {
	o.watch = newWatch(segments)
	link := sim.LinkConfig{Delay: c.RTT / 2}
	var record recordPacket
	if !control {
		record = c.Capture.run(sender, segments)
	}
	cfg := netns.PairConfig{Bytes: record != nil, There: link, Back: link,
		Sent: func(p netns.Packet) {
			o.watch.sent(p.At, p.FromServer, realSegment(p), p.Fate.Outcome == sim.Lost)
			if record != nil {
				record(p.At, p.Bytes, p.Causes, p.Fate.Outcome == sim.Lost)
			}
		},
		Arrived: func(p netns.Packet) { o.watch.arrived(p.At, p.FromServer, realSegment(p)) },
	}
	if !control {
		cfg.There.Loss = sim.Losses{sim.LostRanges{{From: o.watch.last(), To: o.watch.last() + 1, Attempt: 1}}}
	}
	if sender != Linux {
		server, err := serverTCP(sender)
		if err != nil {
			return o, err
		}
		server.Config.Causes = record != nil
		cfg.Server = &server
	}
	pair, err := netns.NewPair(cfg)
	if err != nil {
		return o, err
	}
	l, name, err := pair.Listen(port)
	if err != nil {
		return o, errors.Join(err, pair.Close())
	}
	o.control = name
	var wrote func(net.Conn) error
	if sender == Linux && !control {
		var mu sync.Mutex
		o.kernels = map[uint16]Kernel{}
		wrote = func(conn net.Conn) error {
			k, ok, err := askKernel(ctx, conn)
			mu.Lock()
			defer mu.Unlock()
			if ok {
				o.kernels[conn.RemoteAddr().(*net.TCPAddr).AddrPort().Port()] = k
			}
			return err
		}
	}
	err = c.converse(ctx, pair, l, int(o.watch.size), control, wrote)
	counts, e := pair.Counts()
	o.causes = Causes(counts)
	return o, errors.Join(err, e, pair.Close())
}

// realSegment returns what the watch sees of a packet. The link counts a FIN as a byte, the watch
// does not.
func realSegment(p netns.Packet) segment {
	s := segment{p.Header, p.Model.Start, p.Model.End}
	if s.header.Flags.Has(fin) && s.end > s.start {
		s.end--
	}
	return s
}

// serverTCP returns the TCP of a sender that is a stack, with CUBIC.
func serverTCP(sender string) (t virtual.TCP, err error) {
	t = virtual.TCP{GVisor: sender == GVisor, Control: "cubic", StrictClock: true}
	if !t.GVisor {
		t.Config, err = protocol(policyOf(sender))
	}
	return t, err
}

// askKernel polls the kernel until only one segment of a connection is in flight. ok is false if
// that segment was retransmitted or acknowledged before, as on a busy machine.
func askKernel(ctx context.Context, c net.Conn) (k Kernel, ok bool, err error) {
	for ctx.Err() == nil {
		info, err := netns.ReadInfo(c)
		if err != nil || info.Retransmitted > 0 || info.Unacked == 0 {
			return k, false, err
		}
		if info.Unacked == 1 {
			return Kernel{SRTT: info.SRTT, RTO: info.RTO, Jiffy: info.Jiffy}, true, nil
		}
		time.Sleep(200 * time.Microsecond)
	}
	return k, false, nil
}

// converse runs all clients and the server until they have ended or the context has.
func (c *Config) converse(ctx context.Context, pair *netns.Pair, l net.Listener, size int, control bool,
	wrote func(net.Conn) error) error {
	var (
		all   sync.WaitGroup
		mu    sync.Mutex
		conns []net.Conn // to close if the context ends
	)
	p := &program{
		spawn: func(f func()) { all.Go(f) }, rtt: c.RTT, size: size, count: c.Count, control: control,
		delay: c.DelayAcks, acks: netns.SetQuickAck, wrote: wrote,
		sleep: func(d time.Duration) {
			select {
			case <-ctx.Done():
			case <-time.After(d):
			}
		},
	}
	p.dial = func() (net.Conn, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		conn, err := pair.Dial(ctx, 0, port)
		if err != nil {
			return nil, err
		}
		conn.SetDeadline(time.Now().Add(connectionLimit))
		mu.Lock()
		defer mu.Unlock()
		conns = append(conns, conn)
		return conn, nil
	}
	stop := context.AfterFunc(ctx, func() {
		l.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range conns {
			conn.Close()
		}
	})
	defer stop()
	all.Go(func() { p.accept(l) })
	p.clients()
	all.Wait()
	l.Close()
	if err := ctx.Err(); err != nil {
		return err
	}
	return p.err()
}
