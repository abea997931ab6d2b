package pacing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/virtual"
	"tcpwheel/tun/netns"
)

// kernelLimit bounds a transfer of the live part.
const kernelLimit = 2 * time.Minute

// needsRoot returns an error if the kernel's TCP cannot run here.
func needsRoot() error {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return errors.New("the kernel's TCP needs Linux and root, for TUN devices in network namespaces")
	}
	return nil
}

// kernelGaps measures the gaps of real senders over the path of gaps.csv by the log of its link:
// this machine's kernel, and the binding, each with pacing and without.
func kernelGaps(ctx context.Context, p *Plan) (*experiments.Outcome, error) {
	t := experiments.Table{Name: "kernel", Title: fmt.Sprintf("Trains of real senders, ended by a gap of %v, by the log "+
		"of the link between two namespaces: %v Mbit/s, %v", p.Train, p.GapRate/1e6, p.GapTrip),
		Columns: []string{"sender", "packets", "alone, %", "in trains of up to 5, %", "longest train",
			"dropped by the queue"},
	}
	for _, s := range []struct {
		name          string
		paced, kernel bool
	}{
		{"the kernel", false, true}, {"the kernel, SO_MAX_PACING_RATE", true, true},
		{"the binding", false, false}, {"the binding, +pacing", true, false},
	} {
		w, err := p.realGaps(ctx, s.kernel, s.paced)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		share := func(n int) float64 { return 100 * float64(n) / float64(max(w.Sent, 1)) }
		t.Add(s.name, w.Sent, share(w.Alone), share(w.UpTo5), w.Longest, int(w.Dropped))
	}
	return &experiments.Outcome{Tables: []experiments.Table{t}, Notes: []string{fmt.Sprintf("Without fq the kernel's TCP "+
		"paces by a timer of its own, at the rate of the bottleneck; the binding by its wheel, with a tick of %v.",
		p.Ticks[0])}}, nil
}

// realGaps sends one transfer of the plan in real time.
func (p *Plan) realGaps(ctx context.Context, kernel, paced bool) (w *watch, err error) {
	w = &watch{Cell: Cell{Gap: packetTime(p.GapRate)}, split: p.Train}
	link := sim.LinkConfig{Rate: uint64(p.GapRate), Overhead: overhead, Delay: p.GapTrip / 2,
		Queue: sim.Limit{Packets: uint32(p.GapBuffer)}}
	cfg := netns.PairConfig{There: link, Back: sim.LinkConfig{Delay: p.GapTrip / 2}, Sent: func(s netns.Packet) {
		if s.FromServer && s.Model.End > s.Model.Start {
			w.depart(s.At)
			if s.Fate.Outcome == sim.QueueDropped {
				w.Dropped++
			}
		}
	}}
	if !kernel {
		conn := p.Timers.Config()
		conn.Policy.Tick, conn.Pacing = p.Ticks[0], paced
		cfg.Server = &virtual.TCP{Config: netstack.Config{Conn: conn}}
	}
	pair, err := netns.NewPair(cfg)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, kernelLimit)
	defer cancel()
	l, _, err := pair.Listen(livePort)
	if err != nil {
		return nil, errors.Join(err, pair.Close())
	}
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	sent := make(chan error, 1)
	go func() { sent <- p.serve(ctx, l, kernel && paced) }()
	c, err := pair.Dial(ctx, 0, livePort)
	if err == nil {
		if at, ok := ctx.Deadline(); ok {
			err = c.SetDeadline(at)
		}
		_, failed := io.Copy(io.Discard, c)
		err = errors.Join(err, failed, c.Close())
	}
	if stop() {
		err = errors.Join(err, l.Close())
	}
	err = errors.Join(err, <-sent, pair.Close())
	w.endTrain()
	return w, err
}

// livePort is the port of the sender.
const livePort = 80

// serve sends one transfer to the first client.
func (p *Plan) serve(ctx context.Context, l net.Listener, limit bool) error {
	c, err := l.Accept()
	if err != nil {
		return err
	}
	defer c.Close()
	if at, ok := ctx.Deadline(); ok {
		err = c.SetDeadline(at)
	}
	if err == nil && limit {
		err = netns.SetPacingRate(c, p.GapRate/8)
	}
	if err == nil {
		_, err = c.Write(make([]byte, p.GapBytes))
	}
	return err
}
