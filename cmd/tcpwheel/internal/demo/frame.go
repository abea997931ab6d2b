package demo

import (
	"strings"
	"time"

	"tcpwheel/netstack"
	"tcpwheel/netstack/virtual"
	"tcpwheel/wheel"
)

// frame is what a page shows of one moment. It is made between two steps of the lanes.
type frame struct {
	Time       wheel.Time `json:"time_ns"`
	Speed      float64    `json:"speed"` // virtual seconds per real second
	Paused     bool       `json:"paused"`
	Seed       uint64     `json:"seed"`
	Actions    string     `json:"actions"`
	Conditions string     `json:"conditions"`
	Restarts   int        `json:"restarts"` // a page clears its diagrams when it changes
	Verdict    string     `json:"verdict"`
	Lanes      []laneView `json:"lanes"`
}

// laneView is a lane in a frame.
type laneView struct {
	Result
	Wheel       *wheelView      `json:"wheel,omitempty"` // nil for gVisor
	Expired     [][2]int        `json:"expired"`         // slot and kind, since the last frame
	Conns       []connView      `json:"conns"`
	RecoveryMS  []float64       `json:"recovery_ms"` // of the latest recoveries
	Packets     []*Transmission `json:"packets"`     // since the viewer's frame before
	transmitted []*Transmission // the latest, for all viewers
}

// wheelView is the timing wheel of a lane's server. Timers has, for each record: slot, kind, 1 if
// it runs, time to its expiry in ns, the client's port, and the segment record.
type wheelView struct {
	Slots  int        `json:"slots"`
	Hand   int        `json:"hand"`
	TickNS int64      `json:"tick_ns"`
	Timers [][6]int64 `json:"timers"`
}

// connView is a connection at the server.
type connView struct {
	Name     string              `json:"name"`
	Port     uint16              `json:"port"`
	SRTTNS   int64               `json:"srtt_ns"`
	RTTVarNS int64               `json:"rttvar_ns"`
	RTONS    int64               `json:"rto_ns"`
	Cwnd     uint32              `json:"cwnd_bytes"`
	Timers   map[string][2]int64 `json:"timers"` // by kind: how many run, and ns to the first expiry
}

const (
	keptPackets    = 600 // of a lane, for viewers
	keptRecoveries = 300 // of a lane, for the distribution
	keptExpiries   = 200 // between two frames
)

// recorder keeps what frames show of a lane beyond its state.
type recorder struct {
	packets []*Transmission
	expired [][2]int
	capture *ring
	slots   int
	tick    time.Duration
}

// watch makes a lane record for frames and captures.
func (l *Lane) watch() *recorder {
	r := &recorder{capture: &ring{}}
	l.onPacket = func(x *Transmission, p *virtual.Packet) {
		r.packets = append(r.packets, x)
		if len(r.packets) > 2*keptPackets {
			r.packets = append(r.packets[:0:0], r.packets[len(r.packets)-keptPackets:]...)
		}
		r.capture.add(x, p)
	}
	l.onTimer = func(ev netstack.TimerEvent) {
		if ev.Change == netstack.TimerExpired && r.slots > 0 && len(r.expired) < keptExpiries {
			slot := int(int64(ev.Deadline)/int64(r.tick)) & (r.slots - 1)
			r.expired = append(r.expired, [2]int{slot, int(ev.Kind)})
		}
	}
	return r
}

// view returns the lane as a frame shows it.
func (l *Lane) view(r *recorder) laneView {
	v := laneView{Result: l.result(), Expired: r.expired, transmitted: r.packets}
	r.expired = nil
	rec := l.stats.Recoveries
	for _, x := range rec[max(0, len(rec)-keptRecoveries):] {
		v.RecoveryMS = append(v.RecoveryMS, float64(x.Took)/1e6)
	}
	ports := map[*netstack.Endpoint]uint16{}
	byPort := map[uint16]map[string][2]int64{}
	for _, c := range l.conns {
		if c.ends[server] == nil {
			continue
		}
		if e, ok := c.ends[server].Endpoint().(*netstack.Endpoint); ok {
			ports[e] = c.port
		}
		byPort[c.port] = map[string][2]int64{}
	}
	v.Wheel = l.wheelView(ports, byPort, r)
	for _, c := range l.conns {
		end := c.ends[server]
		if end == nil {
			continue
		}
		x := connView{Name: c.name, Port: c.port, Timers: byPort[c.port]}
		if info, ok := end.Info(); ok {
			x.SRTTNS, x.RTTVarNS, x.RTONS, x.Cwnd = int64(info.SRTT), int64(info.RTTVar), int64(info.RTO), info.Cwnd
		}
		v.Conns = append(v.Conns, x)
	}
	return v
}

// wheelView returns the wheel with the most timers, and adds the running ones to byPort.
func (l *Lane) wheelView(ports map[*netstack.Endpoint]uint16, byPort map[uint16]map[string][2]int64, r *recorder) *wheelView {
	all, ok := netstack.Wheels(l.net.Stack(server))
	if !ok || len(all) == 0 {
		return nil
	}
	most := &all[0]
	for i := range all {
		if len(all[i].Timers) > len(most.Timers) {
			most = &all[i]
		}
		for _, t := range all[i].Timers {
			m := byPort[ports[t.Endpoint]]
			if !t.Running || m == nil {
				continue
			}
			kind, left := t.Kind.String(), int64(t.Deadline.Sub(l.run.now))
			if x, ok := m[kind]; ok {
				left = min(left, x[1])
			}
			m[kind] = [2]int64{m[kind][0] + 1, left}
		}
	}
	r.slots, r.tick = most.Slots, most.Tick
	v := &wheelView{Slots: most.Slots, Hand: int(int64(l.run.now)/int64(most.Tick)) & (most.Slots - 1), TickNS: int64(most.Tick), Timers: [][6]int64{}}
	for _, t := range most.Timers {
		running := int64(0)
		if t.Running {
			running = 1
		}
		v.Timers = append(v.Timers, [6]int64{int64(t.Slot), int64(t.Kind), running, int64(t.Deadline.Sub(l.run.now)), int64(ports[t.Endpoint]), int64(t.Segment)})
	}
	return v
}

// text returns the conditions in a line.
func (c *Conditions) text() string {
	parts := []string{"delay=" + c.Delay.String(), "rate=" + rateText(c.Rate), "loss=" + percent(c.Loss)}
	if c.Burst > 1 {
		parts = append(parts, "burst="+itoa(c.Burst))
	}
	for _, x := range []struct {
		name string
		d    time.Duration
	}{{"tick", c.Tick}, {"floor", c.Floor}, {"delack", c.DelAck}} {
		if x.d > 0 {
			parts = append(parts, x.name+"="+x.d.String())
		}
	}
	return strings.Join(parts, " ")
}
