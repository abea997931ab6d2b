package pacing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/virtual"
	"tcpwheel/tun/netns"
)

// judgeSenders judges the gaps of real senders.
func judgeSenders(p *Plan, all []sender) *experiments.Outcome {
	of := func(name string) (cells []Cell) {
		for _, s := range all {
			if s.name == name {
				cells = append(cells, s.Cell)
			}
		}
		return cells
	}
	out := &experiments.Outcome{}
	out.Judge(sameAsTCP("this kernel's TCP", of("kernel"), map[string]string{
		"no-pacing": "other work on this machine, which joins trains",
		"goodput":   "gap_bytes below 20 MB, as the slow start weighs more",
		"dropped":   "whether HyStart ends the slow start before the queue is full, which a busy machine decides",
	})...)
	out.Judge(
		experiments.Claim{
			Name: "precise", Class: experiments.Law, Tag: experiments.Computed,
			Text:     "the binding with pacing, as 'up --pacing', spaces packets as precisely as fq was found to do",
			Source:   "gaps.csv, of quiche over fq without GSO: from the data of Kempf et al., QUIC Steps",
			Basis:    "their measurement, by their own rule for trains",
			Measured: experiments.Measured(perSent(of("binding-paced"), alone), "% of the packets alone"),
			Expected: experiments.AtLeast(fqAlone, "%").OrDiffers(experiments.AtLeast(50, "%")),
		},
		experiments.Claim{
			Name: "rate", Class: experiments.Law, Tag: experiments.Computed, Text: "pacing costs the binding no goodput",
			Source: "definition of pacing: its rate is 1.2 windows in a round trip",
			Basis:  "a tenth of what the binding has without pacing",
			Measured: experiments.Measured(100*(perTook(of("binding-paced"))/perTook(of("binding"))-1),
				"% more than without pacing"),
			Expected: experiments.AtLeast(-10, "%").OrDiffers(experiments.AtLeast(-50, "%")),
		})
	t := gapsTable(p.Train, nil)
	t.Name, t.Columns = "kernel", append([]string{"sender", "packets"}, t.Columns[2:]...)
	for _, s := range all {
		c := []Cell{s.Cell}
		t.Add(s.name, s.Sent, perSent(c, alone), perSent(c, upTo5), s.Longest, s.Dropped, perTook(c)/1e6)
	}
	out.Tables = append(out.Tables, t)
	return out
}

// kernelLimit bounds a transfer of the live part.
const kernelLimit = 2 * time.Minute

// sender is a real sender's transfer.
type sender struct {
	name   string
	qdisc  string // of the kernel that sends, if it is not the kernel's own choice
	kernel bool   // whether this machine's kernel sends, and not the binding
	Cell
}

// kernelGaps measures the gaps of real senders over the path of gaps.csv by the log of its link:
// this machine's kernel, and the binding, each with pacing and without. A kernel without fq leaves
// out its row.
func kernelGaps(ctx context.Context, p *Plan) (*experiments.Outcome, error) {
	path := Cell{Kind: ofGaps, Tick: p.Ticks[0], Rate: p.GapRate, RoundTrip: p.GapTrip, Gap: packetTime(p.GapRate),
		Room: p.GapBuffer}
	paced := path
	paced.Paced = true
	var all []sender
	var lacks []string
	for _, s := range []sender{{"kernel", "", true, path}, {"kernel-paced", "", true, paced},
		{"kernel-fq", "fq", true, paced}, {"binding", "", false, path}, {"binding-paced", "", false, paced}} {
		err := p.send(ctx, &s)
		if errors.Is(err, errors.ErrUnsupported) {
			lacks = append(lacks, fmt.Sprintf("Without the row %s: %v.", s.name, err))
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		all = append(all, s)
	}
	out := judgeSenders(p, all)
	out.Notes = lacks
	return out, nil
}

// send sends one transfer of the plan in real time.
func (p *Plan) send(ctx context.Context, s *sender) (err error) {
	w := &watch{Cell: s.Cell, split: p.Train}
	link := sim.LinkConfig{Rate: uint64(p.GapRate), Overhead: overhead, Delay: p.GapTrip / 2,
		Queue: sim.Limit{Packets: uint32(p.GapBuffer)}}
	cfg := netns.PairConfig{There: link, Back: sim.LinkConfig{Delay: p.GapTrip / 2}, Qdisc: s.qdisc,
		Sent: func(n netns.Packet) {
			if n.FromServer && n.Model.End > n.Model.Start {
				w.depart(n.At)
				if n.Fate.Outcome == sim.QueueDropped {
					w.Dropped++
				}
			}
		}}
	if !s.kernel {
		conn := p.GapTimers.Config()
		conn.Policy.Tick, conn.Pacing = s.Tick, s.Paced
		cfg.Server = &virtual.TCP{Config: netstack.Config{Conn: conn}}
	}
	pair, err := netns.NewPair(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, kernelLimit)
	defer cancel()
	l, _, err := pair.Listen(livePort)
	if err != nil {
		return errors.Join(err, pair.Close())
	}
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	sent := make(chan error, 1)
	go func() { sent <- p.serve(ctx, l, s.kernel && s.Paced) }()
	c, err := pair.Dial(ctx, 0, livePort)
	if err == nil {
		if at, ok := ctx.Deadline(); ok {
			err = c.SetDeadline(at)
		}
		began := pair.Now()
		n, failed := io.Copy(io.Discard, c)
		w.Took, w.Bits = pair.Now().Sub(began), float64(8*n)
		err = errors.Join(err, failed, c.Close())
	}
	if stop() {
		err = errors.Join(err, l.Close())
	}
	err = errors.Join(err, <-sent, pair.Close())
	w.endTrain()
	s.Cell = w.Cell
	return err
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
