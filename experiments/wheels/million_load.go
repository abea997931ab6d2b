package wheels

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/wheel"
)

// Each connection has three records, in this order.
const (
	millionKeepalive = iota
	millionRexmit
	millionDelack
	millionRecords
)

// millionLoad is the timers of a host's connections.
type millionLoad struct {
	p       *millionPlan
	f       wheel.Facility
	r       *rand.Rand
	running []bool // by record: the other timers of active connections
	part    time.Duration
	calls   uint64
	expired uint64
	expire  func(wheel.Timer)
}

// newLoad returns idle connections, whose keepalive timers expire evenly over an interval from
// first.
func (p *millionPlan) newLoad(f wheel.Facility, seed int, first wheel.Time) *millionLoad {
	l := &millionLoad{p: p, f: f, r: rand.New(rand.NewPCG(uint64(seed), 0xe22))}
	l.running = make([]bool, (p.Connections/p.Active+1)*millionRecords)
	f.Reserve(p.Connections * millionRecords)
	for range p.Connections * millionRecords {
		f.New(0)
	}
	for i := range p.Connections {
		f.Schedule(millionTimer(i, millionKeepalive), first+wheel.Time(l.r.Int64N(int64(p.Keepalive))))
	}
	l.expire = func(t wheel.Timer) {
		l.expired++
		i := int(t) - 1
		if i%millionRecords == millionKeepalive {
			// The host sends a probe, and the peer answers.
			l.f.Schedule(t, l.f.Now().Add(p.Keepalive))
			l.calls++
			return
		}
		l.running[i] = false
	}
	return l
}

// millionTimer returns a record of a connection. The facility numbers records from 1.
func millionTimer(connection, kind int) wheel.Timer {
	return wheel.Timer(1 + connection*millionRecords + kind)
}

// tick lets a tick pass.
func (l *millionLoad) tick() { l.f.Advance(l.f.Now().Add(l.p.Tick), 0, l.expire) }

// packets handles the packets of a tick, at random active connections.
func (l *millionLoad) packets() {
	l.part += l.p.Tick * time.Duration(l.p.Packets)
	n := l.part / time.Second
	l.part -= n * time.Second
	now := l.f.Now()
	for range n {
		c := l.r.IntN(max(l.p.Connections/l.p.Active, 1))
		l.f.Schedule(millionTimer(c, millionKeepalive), now.Add(l.p.Keepalive))
		// Half of the packets are segments sent. The others are received: they acknowledge, and every
		// second one starts the delayed-ACK timer.
		if l.r.Uint64()&1 != 0 {
			l.start(c, millionRexmit, now.Add(l.p.RTO))
		} else {
			l.stop(c, millionRexmit)
			if !l.stop(c, millionDelack) {
				l.start(c, millionDelack, now.Add(l.p.DelAck))
			}
		}
		l.calls++
	}
}

func (l *millionLoad) start(c, kind int, at wheel.Time) {
	l.f.Schedule(millionTimer(c, kind), at)
	l.running[c*millionRecords+kind] = true
	l.calls++
}

func (l *millionLoad) stop(c, kind int) bool {
	if !l.running[c*millionRecords+kind] {
		return false
	}
	l.f.Stop(millionTimer(c, kind))
	l.running[c*millionRecords+kind] = false
	l.calls++
	return true
}

func millionCells(p *millionPlan) (all []experiments.Cell[millionCell]) {
	for i := range p.Facilities {
		f := &p.Facilities[i]
		for _, mode := range []millionMode{millionIdle, millionSteady, millionActive} {
			if mode == millionIdle && !f.hashed() {
				continue // other facilities only migrate idle timers, which steady counts
			}
			for seed := 1; seed <= p.Seeds; seed++ {
				ticks := p.ticks(f, mode)
				looks := 1.0
				if f.hashed() {
					looks = float64(p.Connections) / float64(f.Slots)
				}
				all = append(all, experiments.Cell[millionCell]{
					Name: fmt.Sprintf("facility=%v mode=%s seed=%d", f, mode, seed),
					Cost: float64(3e-7*float64(p.Connections)) + float64(1e-8*float64(ticks)*(5+looks)),
					Run:  func(context.Context) (millionCell, error) { return millionRun(p, f, mode, seed) },
				})
			}
		}
	}
	return all
}

// ticks returns the ticks for which a facility is watched.
func (p *millionPlan) ticks(f *millionFacility, mode millionMode) uint64 {
	if mode == millionActive {
		return uint64(p.Watched / p.Tick)
	}
	if !f.hashed() {
		return p.interval()
	}
	n := uint64(p.Rotations * f.Slots)
	if mode == millionSteady {
		return min(n, p.interval())
	}
	if whole := p.interval() / uint64(f.Slots); n > p.interval() && whole > 0 {
		n = whole * uint64(f.Slots)
	}
	return n
}

func millionRun(p *millionPlan, of *millionFacility, mode millionMode, seed int) (millionCell, error) {
	c := millionCell{Facility: of.Text, Mode: mode, Seed: seed, Ticks: p.ticks(of, mode)}
	f, err := of.open(p.Tick, true)
	if err != nil {
		return c, err
	}
	first := wheel.Time(p.Tick)
	if mode == millionIdle {
		first += wheel.Time(c.Ticks) * wheel.Time(p.Tick)
	}
	l := p.newLoad(f, seed, first)
	begin := f.Counts()
	l.calls = 0
	before := begin
	for range c.Ticks {
		// The busiest tick is PER TICK BOOKKEEPING alone, without the cost of packets.
		l.tick()
		now := f.Counts()
		c.Busiest = max(c.Busiest, millionWork(now.Sub(before)))
		c.Expiring = max(c.Expiring, now.Expiries-before.Expiries)
		if before = now; mode == millionActive {
			l.packets()
			before = f.Counts()
		}
	}
	c.Counts, c.Calls = f.Counts().Sub(begin), l.calls
	if mode == millionIdle && l.expired > 0 {
		return c, fmt.Errorf("%d timers expired, want all idle", l.expired)
	}
	return c, nil
}

// millionWork returns the work on records: visits, moves and comparisons. START and STOP in a heap
// compare the records that they visit, which count once.
func millionWork(c wheel.Counts) uint64 { return c.TickVisits + c.Moves + c.Comparisons }
