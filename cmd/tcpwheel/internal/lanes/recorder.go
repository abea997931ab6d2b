package lanes

import (
	"time"

	"tcpwheel/netstack"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

const (
	keptPackets    = 600  // of a lane, for viewers
	KeptRecoveries = 300  // of a lane, for the distribution
	keptExpiries   = 200  // of a lane, for viewers
	keptTimers     = 1e5  // whose start is remembered
	maxDots        = 2000 // timers of a frame
)

// Recorder keeps what a page shows of a lane beyond its state: packets, expiries, and when each
// timer was armed and what stopped it. It is not safe for concurrent use.
type Recorder struct {
	packets  []*Transmission
	expired  [][2]int // the latest: slot and kind
	expiries uint64
	timers   map[timerKey]timerLife
	conns    map[int]*connTrace

	slots int // of the wheel that the page shows; 0 without one
	tick  time.Duration
}

// timerKey identifies a timer of a lane.
type timerKey struct {
	endpoint *netstack.Endpoint
	kind     tcptimers.Kind
	segment  int
}

// timerLife is the latest use of a timer.
type timerLife struct {
	armed, deadline wheel.Time
	ended           wheel.Time // 0 while it runs
	how             ending
	value           uint64
}

// connTrace is the latest at the server's end of a connection.
type connTrace struct {
	sent, arrived wheel.Time
	data          bool   // what arrived had data
	ack           uint64 // and acknowledged all before this byte
}

// NewRecorder makes a recorder.
func NewRecorder() *Recorder {
	return &Recorder{timers: map[timerKey]timerLife{}, conns: map[int]*connTrace{}}
}

func (r *Recorder) conn(id int) *connTrace {
	c := r.conns[id]
	if c == nil {
		c = &connTrace{}
		r.conns[id] = c
	}
	return c
}

// Packet records a packet as it leaves. It must not change afterwards.
func (r *Recorder) Packet(x *Transmission) {
	r.packets = latest(append(r.packets, x))
	if x.From != Server {
		return
	}
	r.conn(x.Conn).sent = wheel.Time(x.At)
}

// Arrived records a packet that reaches the server's end.
func (r *Recorder) Arrived(id int, at wheel.Time, ack uint64, data bool) {
	c := r.conn(id)
	c.arrived, c.ack, c.data = at, ack, data
}

// Timer records a change of a timer of a connection of the server.
func (r *Recorder) Timer(id int, ev netstack.TimerEvent) {
	k := timerKey{ev.Endpoint, ev.Kind, ev.Segment}
	switch ev.Change {
	case netstack.TimerStarted, netstack.TimerMoved:
		if len(r.timers) >= keptTimers {
			clear(r.timers)
		}
		r.timers[k] = timerLife{armed: ev.Time, deadline: ev.Deadline}
	case netstack.TimerStopped, netstack.TimerExpired:
		life, ok := r.timers[k]
		if !ok {
			return
		}
		life.ended = ev.Time
		life.how, life.value = r.cause(id, ev)
		r.timers[k] = life
		if ev.Change == netstack.TimerExpired && r.slots > 0 {
			slot := int(int64(ev.Deadline)/int64(r.tick)) & (r.slots - 1)
			r.expired = append(r.expired, [2]int{slot, int(ev.Kind)})
			r.expiries++
			if len(r.expired) > 2*keptExpiries { // the old array stays as it is for readers
				r.expired = append(r.expired[:0:0], r.expired[len(r.expired)-keptExpiries:]...)
			}
		}
	}
}

// cause returns what ended a timer: the latest that happened at its end of the connection.
func (r *Recorder) cause(id int, ev netstack.TimerEvent) (how ending, value uint64) {
	c := r.conn(id)
	arrived := c.arrived != 0 && ev.Time == c.arrived
	sent := c.sent != 0 && ev.Time == c.sent
	switch {
	case ev.Change == netstack.TimerExpired:
		return endedExpired, 0
	case ev.Kind == tcptimers.DelAck && arrived && c.data:
		return endedByData, 0
	case ev.Kind != tcptimers.DelAck && arrived && c.data:
		return endedByData, c.ack
	case ev.Kind != tcptimers.DelAck && arrived:
		return endedByACK, c.ack
	case sent || ev.Kind == tcptimers.DelAck:
		return endedBySend, 0
	}
	return endedUnknown, 0
}
