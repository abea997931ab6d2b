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
	notes    []*TimerNote
	noted    uint64   // number of the next note
	expired  [][2]int // the latest: slot and kind
	expiries uint64
	timers   map[timerKey]timerLife
	conns    map[int]*connTrace
	near     time.Duration

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
	packet          uint64 // whose timer it is
	known           bool   // packet is set
}

// connTrace is the latest at the server's end of a connection.
type connTrace struct {
	sent, arrived wheel.Time
	data          bool            // what arrived had data
	ack           uint64          // and acknowledged all before this byte
	fresh         []*Transmission // left a moment ago; their timers have not started yet
	started       []timerKey      // a moment ago, for packets that have not left yet
}

// NewRecorder makes a recorder. Events of one moment are at most near apart.
func NewRecorder(near time.Duration) *Recorder {
	return &Recorder{timers: map[timerKey]timerLife{}, conns: map[int]*connTrace{}, near: near}
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
	if x.From != Server || x.Mark {
		return
	}
	c := r.conn(x.Conn)
	c.sent = x.At
	if x.End == x.Start {
		return
	}
	for len(c.started) > 0 {
		k := c.started[0]
		c.started = c.started[1:]
		if life, ok := r.timers[k]; ok && x.At.Sub(life.armed) <= r.near {
			r.attach(k, life, x)
			return
		}
	}
	for len(c.fresh) > 0 && x.At.Sub(c.fresh[0].At) > r.near { // their segments have no timers
		c.fresh = c.fresh[1:]
	}
	c.fresh = append(c.fresh, x)
}

// attach notes that a timer is that of the segment in a packet.
func (r *Recorder) attach(k timerKey, life timerLife, x *Transmission) {
	life.packet, life.known = x.Seq, true
	r.timers[k] = life
	r.note(TimerNote{Packet: x.Seq, Span: life.deadline.Sub(life.armed)})
}

func (r *Recorder) note(n TimerNote) {
	n.Seq = r.noted
	r.noted++
	r.notes = latest(append(r.notes, &n))
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
		if ev.Kind == tcptimers.Rexmit && ev.Segment > 0 {
			r.match(id, k)
		}
	case netstack.TimerStopped, netstack.TimerExpired:
		life, ok := r.timers[k]
		if !ok {
			return
		}
		life.ended = ev.Time
		life.how, life.value = r.cause(id, ev)
		r.timers[k] = life
		if life.known {
			r.note(TimerNote{Packet: life.packet, Ended: ev.Time, How: life.how, Value: life.value})
		}
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

// match finds the packet whose segment's timer has started: they leave and start in the same order.
func (r *Recorder) match(id int, k timerKey) {
	c, life := r.conn(id), r.timers[k]
	for len(c.fresh) > 0 {
		x := c.fresh[0]
		c.fresh = c.fresh[1:]
		if life.armed.Sub(x.At) <= r.near {
			r.attach(k, life, x)
			return
		}
	}
	for len(c.started) > 0 && life.armed.Sub(r.timers[c.started[0]].armed) > r.near {
		c.started = c.started[1:]
	}
	c.started = append(c.started, k)
}

// cause returns what ended a timer: the latest that happened at its end of the connection.
func (r *Recorder) cause(id int, ev netstack.TimerEvent) (how ending, value uint64) {
	c := r.conn(id)
	arrived := c.arrived != 0 && ev.Time.Sub(c.arrived) <= r.near
	sent := c.sent != 0 && ev.Time.Sub(c.sent) <= r.near
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

// Packets returns the latest packets.
func (r *Recorder) Packets() []*Transmission { return r.packets }

// Forget forgets all connections.
func (r *Recorder) Forget() { clear(r.conns) }
