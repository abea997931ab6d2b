package lanes

import (
	"time"

	"tcpwheel/netstack"
	"tcpwheel/netstack/virtual"
	"tcpwheel/wheel"
)

// Frame is what a page shows of one moment. It is made between two steps of the lanes, and does not
// change.
type Frame struct {
	Time       seconds    `json:"time_s"`
	Speed      float64    `json:"speed"` // virtual seconds per real second
	Paused     bool       `json:"paused"`
	Seed       uint64     `json:"seed"`
	Actions    string     `json:"actions"`
	Initial    string     `json:"initial"` // conditions at the beginning
	Conditions string     `json:"conditions"`
	Restarts   int        `json:"restarts"` // a page clears its diagrams when it changes
	Verdict    string     `json:"verdict"`
	Losses     []LossView `json:"losses"` // that the user caused, the newest first
	Begun      []string   `json:"begun"`  // the lanes at the beginning
	Policies   []string   `json:"policies,omitempty"`
	Lanes      []LaneView `json:"lanes"`

	Comparison  Comparison   `json:"comparison"`
	Comparisons []Comparison `json:"comparisons,omitempty"`
	Differences []string     `json:"differences,omitempty"` // settings of the first two lanes
}

// LaneView is a lane in a frame.
type LaneView struct {
	Result
	Wheel   *WheelView      `json:"wheel,omitempty"` // nil for gVisor
	Expired [][2]int        `json:"expired"`         // slot and kind, since the frame before
	Conns   []ConnView      `json:"conns"`
	Took    []seconds       `json:"recoveries_s"` // the times of the latest recoveries
	Packets []*Transmission `json:"packets"`      // since the viewer's frame before

	transmitted []*Transmission // the latest, for all viewers
	expired     [][2]int
	expiries    uint64 // so far
}

// WheelView is the timing wheel of a lane's server.
type WheelView struct {
	Slots   int     `json:"slots"`
	Hand    int     `json:"hand"`
	Tick    seconds `json:"tick_s"`
	Running int     `json:"running"` // timers; Timers also has stopped ones, and is at most maxDots long
	// Timers has, for each record: slot, kind, 1 if it runs, time to its expiry, the connection, the
	// segment record, time since it was armed, for how long it was set, time since it ended, what
	// ended it, and the byte that the ACK had that ended it. Times are in seconds.
	Timers [][11]float64 `json:"timers"`
}

// ConnView is a connection at the server.
type ConnView struct {
	Name string `json:"name"`
	ID   int    `json:"id"`
}

// view returns the lane as a frame shows it.
func (l *Lane) view(r *Recorder) LaneView {
	v := LaneView{Result: l.result()}
	v.transmitted, v.expired, v.expiries = r.packets, r.expired, r.expiries
	rec := l.stats.Recoveries
	for _, x := range rec[max(0, len(rec)-KeptRecoveries):] {
		v.Took = append(v.Took, seconds(x.Took))
	}
	if all, ok := netstack.Wheels(l.net.Stack(Server)); ok && len(all) == 1 { // virtual stacks have one
		v.Wheel = r.drawWheel(&all[0], l.run.now, func(e *netstack.Endpoint) int { return l.ports[e] })
	}
	for _, c := range l.conns {
		v.Conns = append(v.Conns, ConnView{c.name, int(c.port)})
	}
	return v
}

// drawWheel draws a wheel. conn returns the number of a connection.
func (r *Recorder) drawWheel(w *netstack.WheelSnapshot, now wheel.Time, conn func(*netstack.Endpoint) int) *WheelView {
	r.slots, r.tick = w.Slots, w.Tick
	v := &WheelView{Slots: w.Slots, Hand: int(int64(now)/int64(w.Tick)) & (w.Slots - 1), Tick: seconds(w.Tick), Timers: [][11]float64{}}
	every := 1 + len(w.Timers)/maxDots
	for i := range w.Timers {
		if w.Timers[i].Running {
			v.Running++
		}
		if i%every == 0 {
			v.Timers = append(v.Timers, r.dot(&w.Timers[i], conn(w.Timers[i].Endpoint), now))
		}
	}
	return v
}

// dot returns a timer as WheelView.Timers has it.
func (r *Recorder) dot(t *netstack.TimerSnapshot, conn int, now wheel.Time) [11]float64 {
	d := [11]float64{float64(t.Slot), float64(t.Kind), 0, t.Deadline.Sub(now).Seconds(), float64(conn), float64(t.Segment)}
	life, ok := r.timers[timerKey{t.Endpoint, t.Kind, t.Segment}]
	if ok {
		d[6], d[7] = now.Sub(life.armed).Seconds(), life.deadline.Sub(life.armed).Seconds()
	}
	switch {
	case t.Running:
		d[2] = 1
	case ok && life.ended != 0:
		d[8], d[9], d[10] = now.Sub(life.ended).Seconds(), float64(life.how), float64(life.value)
	}
	return d
}

// FrameEvery is the least time between two frames.
const FrameEvery = 50 * time.Millisecond

// watch makes a lane record for frames.
func (l *Lane) watch() *Recorder {
	r := NewRecorder()
	l.onPacket = func(x *Transmission, _ *virtual.Packet) { r.Packet(x) }
	l.onTimer = func(ev netstack.TimerEvent) { r.Timer(l.ports[ev.Endpoint], ev) }
	l.onArrival = func(now wheel.Time, conn int, ack uint64, data bool) { r.Arrived(conn, now, ack, data) }
	return r
}
