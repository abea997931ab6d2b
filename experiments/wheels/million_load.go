package wheels

import (
	"math/rand/v2"
	"time"

	"tcpwheel/wheel"
)

// Each connection has three records, in this order.
const (
	millionKeepalive = iota
	millionRexmit
	millionDelack
	millionRecords
)

// millionLoad is a host with its connections.
type millionLoad struct {
	p       *millionPlan
	f       wheel.Facility
	r       *rand.Rand
	running []bool // by record, of the active connections' other timers
	part    time.Duration
	calls   uint64
	expired uint64
	expire  func(wheel.Timer)
}

// newLoad has all connections idle; their keepalive timers expire evenly over an interval from first on.
func (p *millionPlan) newLoad(f wheel.Facility, seed int, first wheel.Time) *millionLoad {
	l := &millionLoad{p: p, f: f, r: rand.New(rand.NewPCG(uint64(seed), 0xe22)), running: make([]bool, (p.Connections/p.Active+1)*millionRecords)}
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
			// A probe is sent, the peer answers, and is idle again.
			l.f.Schedule(t, l.f.Now().Add(p.Keepalive))
			l.calls++
			return
		}
		l.running[i] = false
	}
	return l
}

// millionTimer returns a record of a connection: the facility numbers them from 1.
func millionTimer(connection, kind int) wheel.Timer {
	return wheel.Timer(1 + connection*millionRecords + kind)
}

// tick lets a tick pass.
func (l *millionLoad) tick() { l.f.Advance(l.f.Now().Add(l.p.Tick), 0, l.expire) }

// packets has the packets of a tick arrive at active connections.
func (l *millionLoad) packets() {
	l.part += l.p.Tick * time.Duration(l.p.Packets)
	n := l.part / time.Second
	l.part -= n * time.Second
	now := l.f.Now()
	for range n {
		c := l.r.IntN(max(l.p.Connections/l.p.Active, 1))
		l.f.Schedule(millionTimer(c, millionKeepalive), now.Add(l.p.Keepalive))
		// Half of the packets are segments that leave, the others come: what was sent is acknowledged, and an ACK is owed or
		// leaves, every second time.
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
