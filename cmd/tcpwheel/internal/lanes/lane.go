package lanes

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/virtual"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

// wheelSlots is the number of slots of a lane's wheels: few, so that a page can show each of them.
const wheelSlots = 512

// gvisorLane names the lane with gVisor's own TCP.
const gvisorLane = "gvisor"

// Lane is two stacks on a link, with the load that runs on them.
type Lane struct {
	Name   string // a timer policy, or "gvisor"
	index  int    // of the lane in its run
	Label  string // what a page calls it
	gvisor bool
	run    *Run
	net    *virtual.Net
	wire   *wire
	conns  []*connection
	ports  map[*netstack.Endpoint]int // the client's port, by the server's endpoint
	asked  [webConns]int              // requests begun so far
	done   [webConns]int              // of these, answered
	stats  Stats
	timers timerLog
	closed bool

	// For displays; may be nil. onArrival is for packets of the client, with the byte up to which they
	// acknowledge.
	onPacket  func(*Transmission, *virtual.Packet)
	onTimer   func(netstack.TimerEvent) // of the server's stack
	onArrival func(now wheel.Time, conn int, ack uint64, data bool)
}

// connection is a connection of the load, at both ends.
type connection struct {
	name string
	port uint16 // of the client
	ends [2]*sockets.Conn
}

// Stats is what a lane has counted. Spans are virtual time.
type Stats struct {
	Responses       sortedSpans // of the web-like load: from the request's time to its last byte
	Recoveries      []Recovery
	took            sortedSpans   // of Recoveries
	TimeLost        time.Duration // recovery times less an RTT each
	Lost            int           // data packets
	Retransmissions int
	Spurious        int    // data packets that brought nothing new to the receiver
	Started         uint64 // timers of the server's stack; 0 for gVisor
	Stopped         uint64
	Expired         uint64
}

// Recovery is a loss and its repair.
type Recovery struct {
	At   wheel.Time    // when the sender knew that all was repaired
	Took time.Duration // from the lost packet's first transmission to At
	By   string        // what sent the retransmission that arrived
}

// timerLog counts the timers of the server's stack.
type timerLog struct{ started, stopped, expired uint64 }

// newLane makes a lane and starts its load.
func newLane(r *Run, index int, name, label string) (*Lane, error) {
	l := &Lane{Name: name, Label: label, index: index, gvisor: name == gvisorLane, run: r, ports: map[*netstack.Endpoint]int{}}
	l.wire = &wire{lane: l, flows: map[flowKey]*flow{}}
	if err := l.wire.setLinks(&r.conditions); err != nil {
		return nil, err
	}
	var ends [2]virtual.TCP
	for i := range ends {
		ends[i] = virtual.TCP{GVisor: l.gvisor}
		if l.gvisor {
			continue
		}
		p, err := tcptimers.ParsePolicy(name)
		if err != nil {
			return nil, fmt.Errorf("%w, or gvisor", err)
		}
		cfg := netstack.Config{Conn: tcp.DefaultConfig(p), Causes: true, Slots: wheelSlots}
		if i == Server {
			cfg.TimerEvents = l.timerEvent
		}
		ends[i].Config = cfg
	}
	var err error
	if l.net, err = virtual.New(virtual.Config{Seed: r.Seed, TCP: ends, Wire: l.wire}); err != nil {
		return nil, err
	}
	if err := l.start(); err != nil {
		l.net.Close()
		return nil, err
	}
	return l, nil
}

func (l *Lane) timerEvent(ev netstack.TimerEvent) {
	switch ev.Change {
	case netstack.TimerStarted:
		l.timers.started++
	case netstack.TimerStopped:
		l.timers.stopped++
	case netstack.TimerExpired:
		l.timers.expired++
	}
	if l.onTimer != nil {
		l.onTimer(ev)
	}
}

func (l *Lane) record(x *Transmission, p *virtual.Packet) {
	if l.onPacket != nil {
		l.onPacket(x, p)
	}
}

// arrived notes a packet of the client at the server, which acknowledges data up to a byte.
func (l *Lane) arrived(now wheel.Time, p *virtual.Packet, ack uint64) {
	conn := int(p.Header.SrcPort)
	if len(l.run.losses) > 0 {
		l.run.acknowledged(l.index, conn, now, ack)
	}
	if l.onArrival != nil {
		l.onArrival(now, conn, ack, p.End > p.Start)
	}
}

func (l *Lane) recovered(now wheel.Time, x *loss) {
	took := now.Sub(x.sent)
	l.stats.took.add(took)
	l.stats.Recoveries = append(l.stats.Recoveries, Recovery{At: now, Took: took, By: x.by})
	l.stats.TimeLost += max(took-2*l.run.conditions.Delay, 0)
}

// Stats returns what the lane has counted so far.
func (l *Lane) Stats() Stats {
	s := l.stats
	s.Started, s.Stopped, s.Expired = l.timers.started, l.timers.stopped, l.timers.expired
	return s
}

// close ends the load and the stacks.
func (l *Lane) close() {
	l.closed = true
	for _, c := range l.conns {
		for _, end := range c.ends {
			if end != nil {
				end.SetLinger(0)
				end.Close()
			}
		}
	}
	l.net.Run(time.Hour, func() bool { return l.net.Tasks.Unfinished() == 0 })
	l.net.Close()
}

// repairs counts recoveries by what sent the repair, the most frequent first.
func (s *Stats) repairs() (names []string, counts map[string]int) {
	counts = map[string]int{}
	for _, r := range s.Recoveries {
		counts[r.By]++
	}
	for name := range counts {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := counts[b] - counts[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return names, counts
}

// sortedSpans is a list of spans in rising order, so that a quantile costs nothing.
type sortedSpans []time.Duration

func (s *sortedSpans) add(d time.Duration) {
	i, _ := slices.BinarySearch(*s, d)
	*s = slices.Insert(*s, i, d)
}

// quantile returns the q-quantile, as in package stat; 0 of none.
func (s sortedSpans) quantile(q float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	return s[stat.Rank(len(s), q)]
}
