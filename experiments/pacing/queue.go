package pacing

import (
	"container/heap"
	"context"
	"time"

	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/wheel"
)

// queue holds instants of flows. Wheels round them up to a tick; others keep them.
type queue interface {
	// set sets a flow's instant, or moves it.
	set(flow int, at wheel.Time)
	// advance calls due for each flow whose instant has come, which has none then.
	advance(now wheel.Time, due func(flow int))
	// work returns the records that were visited, compared or moved, and the ticks with any.
	work() (records, wakes uint64)
}

// pacer is a host that paces: each flow has a release time, and a retransmission timer that each
// packet moves. A flow is number flow in one queue, and flow+flows as its retransmission timer.
type pacer struct {
	queues []queue // one, or that of the release times and that of the retransmission timers
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
func (p *Plan) newPacer(kind string, flows int, count bool) (*pacer, error) {
	w := &pacer{flows: flows, rto: p.RTO, gap: p.flowGap(flows)}
	// open adds a facility for the numbers from, up to but not including to.
	open := func(scheme string, tick time.Duration, from, to int) error {
		f, err := wheel.New(scheme, wheel.Config{Tick: tick, Count: count})
		if err != nil {
			return err
		}
		f.Reserve(to - from)
		for i := from; i < to; i++ {
			f.New(uint64(i))
		}
		w.queues = append(w.queues, &facility{f, from - 1})
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
	case "heap":
		w.queues = append(w.queues, &timerHeap{place: make([]int, 2*flows), at: make([]wheel.Time, 2*flows)})
	case "tree":
		w.queues = append(w.queues, &redBlack{nodes: make([]rbNode, flows+1)})
		err = open(wheel.Default, p.Coarse, flows, 2*flows)
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
		r, t := q.work()
		records, wakes = records+r, wakes+t
	}
	return records, wakes
}

// operations returns a cell's run: it counts from when retransmission timers have come up once.
func (p *Plan) operations(c Cell) func(context.Context) (Cell, error) {
	return func(context.Context) (Cell, error) {
		w, err := p.newPacer(c.Queue, c.Flows, true)
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

func (f *facility) set(flow int, at wheel.Time) { f.Schedule(wheel.Timer(flow-f.before), at) }

func (f *facility) advance(now wheel.Time, due func(int)) {
	f.Advance(now, 0, func(t wheel.Timer) { due(int(t) + f.before) })
}

func (f *facility) work() (records, wakes uint64) {
	c := f.Counts()
	return c.Visits() + c.Moves, c.Wakeups
}

// timerHeap is container/heap over the instants: each step of a sift swaps two records. Package
// wheel's scheme3 moves one, and works on half as many (699,000 against 1,357,000 for 1,000 flows
// in the quick plan). The study compares with a heap as programs have it.
type timerHeap struct {
	flows   []int // a heap by at
	place   []int // by flow, from 1; 0 is not in the heap
	at      []wheel.Time
	records uint64
	wakes   uint64
}

// Len implements heap.Interface.
func (h *timerHeap) Len() int { return len(h.flows) }

// Less implements heap.Interface.
func (h *timerHeap) Less(i, j int) bool {
	h.records++
	return h.at[h.flows[i]] < h.at[h.flows[j]]
}

// Swap implements heap.Interface.
func (h *timerHeap) Swap(i, j int) {
	h.records++
	h.flows[i], h.flows[j] = h.flows[j], h.flows[i]
	h.place[h.flows[i]], h.place[h.flows[j]] = i+1, j+1
}

// Push implements heap.Interface.
func (h *timerHeap) Push(flow any) {
	h.flows = append(h.flows, flow.(int))
	h.place[flow.(int)] = len(h.flows)
}

// Pop implements heap.Interface.
func (h *timerHeap) Pop() any {
	last := len(h.flows) - 1
	flow := h.flows[last]
	h.flows, h.place[flow] = h.flows[:last], 0
	return flow
}

func (h *timerHeap) set(flow int, at wheel.Time) {
	h.at[flow] = at
	if h.place[flow] != 0 {
		heap.Fix(h, h.place[flow]-1)
		return
	}
	heap.Push(h, flow)
}

func (h *timerHeap) advance(now wheel.Time, due func(int)) {
	any := false
	for len(h.flows) > 0 && h.at[h.flows[0]] <= now {
		any = true
		due(heap.Pop(h).(int))
	}
	if any {
		h.wakes++
	}
}

func (h *timerHeap) work() (records, wakes uint64) { return h.records, h.wakes }
