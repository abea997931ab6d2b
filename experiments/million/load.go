package million

import (
	"math/rand/v2"
	"time"

	"tcpwheel/wheel"
)

// Each connection has three records, in this order.
const (
	keepalive = iota
	rexmit
	delack
	records
)

// load is a host with its connections.
type load struct {
	p       *Plan
	f       wheel.Facility
	r       *rand.Rand
	running []bool // by record, of the active connections' other timers
	part    time.Duration
	calls   uint64
	expired uint64
	expire  func(wheel.Timer)
}

// newLoad has all connections idle; their keepalive timers expire evenly over an interval from first on.
func (p *Plan) newLoad(f wheel.Facility, seed int, first wheel.Time) *load {
	l := &load{p: p, f: f, r: rand.New(rand.NewPCG(uint64(seed), 0xe22)), running: make([]bool, (p.Connections/p.Active+1)*records)}
	f.Reserve(p.Connections * records)
	for range p.Connections * records {
		f.New(0)
	}
	for i := range p.Connections {
		f.Schedule(timer(i, keepalive), first+wheel.Time(l.r.Int64N(int64(p.Keepalive))))
	}
	l.expire = func(t wheel.Timer) {
		l.expired++
		i := int(t) - 1
		if i%records == keepalive {
			// A probe is sent, the peer answers, and is idle again.
			l.f.Schedule(t, l.f.Now().Add(p.Keepalive))
			l.calls++
			return
		}
		l.running[i] = false
	}
	return l
}

// timer returns a record of a connection: the facility numbers them from 1.
func timer(connection, kind int) wheel.Timer { return wheel.Timer(1 + connection*records + kind) }

// tick lets a tick pass.
func (l *load) tick() { l.f.Advance(l.f.Now().Add(l.p.Tick), 0, l.expire) }

// packets has the packets of a tick arrive at active connections.
func (l *load) packets() {
	l.part += l.p.Tick * time.Duration(l.p.Packets)
	n := l.part / time.Second
	l.part -= n * time.Second
	now := l.f.Now()
	for range n {
		c := l.r.IntN(max(l.p.Connections/l.p.Active, 1))
		l.f.Schedule(timer(c, keepalive), now.Add(l.p.Keepalive))
		// Half of the packets are segments that leave, the others come: what was sent is acknowledged, and an ACK is owed or
		// leaves, every second time.
		if l.r.Uint64()&1 != 0 {
			l.start(c, rexmit, now.Add(l.p.RTO))
		} else {
			l.stop(c, rexmit)
			if !l.stop(c, delack) {
				l.start(c, delack, now.Add(l.p.DelAck))
			}
		}
		l.calls++
	}
}

func (l *load) start(c, kind int, at wheel.Time) {
	l.f.Schedule(timer(c, kind), at)
	l.running[c*records+kind] = true
	l.calls++
}

func (l *load) stop(c, kind int) bool {
	if !l.running[c*records+kind] {
		return false
	}
	l.f.Stop(timer(c, kind))
	l.running[c*records+kind] = false
	l.calls++
	return true
}
