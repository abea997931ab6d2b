package pacing

import (
	"context"
	"time"

	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/wheel"
)

// pacer is a host that paces: each flow has a release time, and a retransmission timer that each
// packet moves. A flow is number flow in one queue, and flow+flows as its retransmission timer.
type pacer struct {
	queues []facility // one, or that of the release times and that of the retransmission timers
	flows  int
	gap    time.Duration // of a flow
	rto    time.Duration

	now      wheel.Time
	packets  uint64
	timeouts uint64
	due      func(int)
}

// flowGap returns the time between two packets of one of so many flows.
func (p *Plan) flowGap(flows int) time.Duration {
	return time.Duration(int64(flows) * int64(time.Second) / int64(p.Packets))
}

// newPacer returns a pacer whose flows begin evenly over a gap.
func (p *Plan) newPacer(kind string, flows int) (*pacer, error) {
	w := &pacer{flows: flows, rto: p.RTO, gap: p.flowGap(flows)}
	// open adds a facility for the numbers from, up to but not including to.
	open := func(scheme string, tick time.Duration, from, to int) error {
		f, err := wheel.New(scheme, wheel.Config{Tick: tick, Count: true})
		if err != nil {
			return err
		}
		f.Reserve(to - from)
		for i := from; i < to; i++ {
			f.New(uint64(i))
		}
		w.queues = append(w.queues, facility{f, from - 1})
		return nil
	}
	var err error
	switch kind {
	case oneWheel:
		err = open(wheel.Default, p.Tick, 0, 2*flows)
	case "hierarchy":
		err = open("scheme7", p.Tick, 0, 2*flows)
	case "two-wheels":
		if err = open(wheel.Default, p.Tick, 0, flows); err == nil {
			err = open(wheel.Default, p.Coarse, flows, 2*flows)
		}
	}
	if err != nil {
		return nil, err
	}
	w.due = w.expire
	for i := range flows {
		phase := testbed.Uniform(1, 0xe29, uint64(flows), uint64(i))
		w.queues[0].set(i, wheel.Time(phase*float64(w.gap)))
	}
	return w, nil
}

// expire releases a packet, which moves the flow's retransmission timer.
func (w *pacer) expire(i int) {
	if i >= w.flows {
		w.timeouts++
		return
	}
	w.packets++
	w.queues[0].set(i, w.now.Add(w.gap))
	w.queues[len(w.queues)-1].set(i+w.flows, w.now.Add(w.rto))
}

// run lets time pass, tick by tick.
func (w *pacer) run(until wheel.Time, tick time.Duration) {
	for w.now < until {
		w.now = w.now.Add(tick)
		for _, q := range w.queues {
			q.advance(w.now, w.due)
		}
	}
}

// work returns the sums over the queues.
func (w *pacer) work() (records, wakes uint64) {
	for _, q := range w.queues {
		c := q.Counts()
		records, wakes = records+c.Visits()+c.Moves, wakes+c.Wakeups
	}
	return records, wakes
}

// operations returns a cell's run: it counts from when retransmission timers have come up once.
func (p *Plan) operations(c Cell) func(context.Context) (Cell, error) {
	return func(context.Context) (Cell, error) {
		w, err := p.newPacer(c.Queue, c.Flows)
		if err != nil {
			return c, err
		}
		begin := wheel.Time(p.RTO + w.gap)
		w.run(begin, p.Tick)
		records, wakes := w.work()
		sent := w.packets
		w.run(begin.Add(max(p.Watched, w.gap)), p.Tick)
		c.Work, c.Wakes = w.work()
		c.Work, c.Wakes, c.Sent, c.Timeouts = c.Work-records, c.Wakes-wakes, int(w.packets-sent), w.timeouts
		return c, nil
	}
}

// facility is a facility of package wheel. Its timers are numbered from 1.
type facility struct {
	wheel.Facility
	before int // the number before that of the first timer
}

func (f facility) set(flow int, at wheel.Time) { f.Schedule(wheel.Timer(flow-f.before), at) }

func (f facility) advance(now wheel.Time, due func(int)) {
	f.Advance(now, 0, func(t wheel.Timer) { due(int(t) + f.before) })
}
