package truth

import (
	"bufio"
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"tcpwheel/internal/pcapng"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/pcaps/tasks"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Gate is a plan of simulated connections: all timer policies, options on and off, several RTTs,
// with and without reordering, 2 and 8 % random loss and less in bursts.
type Gate struct {
	Seeds  int    // connections per combination, at least 1
	Tshark string // program that labels the captures at both ends; "" for none

	// Note, if not nil, is called for each difference, in order.
	Note func(format string, args ...any)

	every int // run only each so many of the plan, for short tests; 0 is all
}

// apps are the senders' applications.
var apps = []func() host.App{
	func() host.App { return &host.Bulk{Bytes: 1 << 20, Finish: true} },
	func() host.App {
		return &host.OnOff{Burst: 20_000, Pause: 700 * time.Millisecond, Bursts: 40, Finish: true}
	},
	func() host.App {
		return &host.OnOff{Burst: 900, Pause: 450 * time.Millisecond, Bursts: 60, Finish: true}
	},
}

// scenarios returns the plan.
func (g *Gate) scenarios() (all []Scenario) {
	seed := uint64(0)
	for _, name := range tcptimers.PolicyNames() {
		policy := tcptimers.MustPolicy(name)
		for _, options := range [][2]bool{{true, true}, {true, false}, {false, true}, {false, false}} {
			for _, rtt := range []time.Duration{4 * time.Millisecond, 40 * time.Millisecond, 180 * time.Millisecond} {
				for _, app := range apps {
					for _, reorder := range []float64{0, 0.01, 0.05} {
						for range g.Seeds {
							seed++
							loss := sim.Losses{sim.Bernoulli{P: 0.02}}
							switch seed % 4 {
							case 1:
								loss = sim.Losses{sim.Bernoulli{P: 0.08}}
							case 2:
								loss = sim.Losses{sim.GilbertElliott{P: 0.008, R: 0.3, Bad: 1}}
							}
							all = append(all, Scenario{
								Policy: policy, SACK: options[0], Timestamps: options[1], RTT: rtt, Rate: 20_000_000, Loss: loss,
								Upstream: seed%3 == 0, Reorder: reorder, Jitter: rtt / 100, App: app, Seed: seed, Span: 5 * time.Minute,
							})
						}
					}
				}
			}
		}
	}
	return all
}

// some returns one in every so many of a plan, all of it for 0.
func some[T any](plan []T, every int) (part []T) {
	for i := 0; i < len(plan); i += max(every, 1) {
		part = append(part, plan[i])
	}
	return part
}

// batchSize is the number of connections per pair of captures, one after the other: starting tshark
// is slow.
const batchSize = 64

// Run simulates the plan on all processors. It returns the tallies and the number of connections.
// The result does not depend on the number of processors.
func (g *Gate) Run(ctx context.Context) (Tallies, int, error) {
	if g.Seeds < 1 {
		return nil, 0, fmt.Errorf("truth: %d seeds, want 1 and more", g.Seeds)
	}
	all := g.scenarios()
	all = some(all, g.every)
	batches := make([]batch, (len(all)+batchSize-1)/batchSize)
	err := tasks.Each(ctx, len(batches), runtime.GOMAXPROCS(0), func(ctx context.Context, i int) error {
		return batches[i].run(ctx, g, i*batchSize, all[i*batchSize:min((i+1)*batchSize, len(all))])
	})
	if err != nil {
		return nil, 0, err
	}
	sum := Tallies{}
	for i := range batches {
		b := &batches[i]
		for _, n := range b.notes {
			g.Note("%s", n)
		}
		sum.Add(b.sum)
	}
	return sum, len(all), nil
}

// batch is a part of the plan.
type batch struct {
	sum   Tallies
	notes []string
}

// run simulates scenarios; first is the number of the first one.
func (b *batch) run(ctx context.Context, g *Gate, first int, scenarios []Scenario) (err error) {
	b.sum = Tallies{}
	var files [3]*labelled
	if g.Tshark != "" {
		dir, err := os.MkdirTemp("", "tcpwheel-truth-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		for _, point := range [2]int{AtA, AtB} {
			if files[point], err = newLabelled(filepath.Join(dir, PointName(point)+".pcapng")); err != nil {
				return err
			}
			defer files[point].file.Close()
		}
	}
	for i, s := range scenarios {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := first + i
		s.Sender = netip.AddrFrom4([4]byte{10, byte(1 + n>>16), byte(n >> 8), byte(n)})
		s.Epoch = wheel.Time(i) * wheel.Time(2*s.Span)
		for point, f := range files {
			if f != nil {
				s.Files[point] = f.out
			}
		}
		w, err := Simulate(s)
		if err != nil {
			return err
		}
		for point := range w.Packets {
			var note func(string, ...any)
			if g.Note != nil {
				note = func(format string, args ...any) {
					b.notes = append(b.notes, fmt.Sprintf("%v, captured at %s: ", &s, PointName(point))+fmt.Sprintf(format, args...))
				}
			}
			b.sum.of(w.Class(point)).Add(w.Compare(point, note))
			if files[point] != nil {
				files[point].add(w, point)
			}
		}
	}
	for _, f := range files {
		if f != nil && err == nil {
			err = f.label(g.Tshark, b.sum)
		}
	}
	return err
}

// labelled is a capture of several connections for tshark, with the truth about each packet.
type labelled struct {
	file  *os.File
	buf   *bufio.Writer
	out   *pcapng.Writer
	truth []labelledPacket
}

type labelledPacket struct {
	sent  *Sent // nil for the other direction, and without sequence space
	class Class
}

func newLabelled(name string) (*labelled, error) {
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	l := &labelled{file: file, buf: bufio.NewWriterSize(file, 1<<16)}
	if l.out, err = newFile(l.buf); err != nil {
		file.Close()
	}
	return l, err
}

// add adds the packets of a connection in the file.
func (l *labelled) add(w *Simulated, point int) {
	class := w.Class(point)
	for i := range w.Packets[point] {
		p := labelledPacket{class: class}
		if k, ok := w.transmission(point, int64(i+1)); ok {
			p.sent = &w.Sent[k]
		}
		l.truth = append(l.truth, p)
	}
}

// label runs tshark on the file and counts its labels.
func (l *labelled) label(tshark string, to Tallies) error {
	if err := l.buf.Flush(); err != nil {
		return err
	}
	said, err := tsharkSays(tshark, l.file.Name())
	if err != nil {
		return err
	}
	for i := range l.truth {
		label, ok := said[int64(i+1)]
		if !ok {
			label = len(labels) - 1
		}
		p := &l.truth[i]
		to.of(p.class).Labels.count(p.sent, label)
	}
	return nil
}
