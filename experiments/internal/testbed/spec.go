package testbed

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/virtual"
)

// Kind names the sender's TCP.
type Kind string

// The kinds.
const (
	Engine  Kind = "engine"  // package netstack/tcp in package netstack/sim
	Binding Kind = "binding" // the same engine in a gVisor stack
	GVisor  Kind = "gvisor"  // gVisor's own
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Engine, Binding, GVisor} }

// Shape is the order of a flow's objects.
type Shape string

// The shapes of work.
const (
	Bulk        Shape = "bulk"             // one object, as soon as the connection is open
	Answers     Shape = "request-response" // the receiver requests each, on one connection
	Web         Shape = "web"              // each has its own connection, whose handshake counts
	Tail        Shape = "tail"             // the sender writes each, a pause after the one before arrived
	Stream      Shape = "stream"           // the sender writes each, a pause after the write before
	StopAndWait Shape = "stop-and-wait"    // the sender writes each at the ACK before; Engine only
)

// Shapes returns all shapes.
func Shapes() []Shape { return []Shape{Bulk, Answers, Web, Tail, Stream, StopAndWait} }

// Work is the objects of a flow.
type Work struct {
	Shape   Shape
	Objects int           // of each flow, warmup included, 1 to 10,000; Bulk has one
	Warm    int           // the first of them: not lost by Fates, and not counted
	Bytes   uint64        // of an object, 1 to 2^30
	Request uint32        // bytes of a request, 1 to 65,535; 0 is 100
	Think   time.Duration // mean pause between objects, drawn evenly from 0.5 to 1.5 times it
}

// Path is the path between sender and receivers.
type Path struct {
	// Data leads from the sender to all receivers, and Acks back. Only their queues lose packets.
	Data, Acks sim.LinkConfig

	// After Data each flow has its own link, which loses packets. AckFates are those of the ACKs.
	Fates, AckFates Fates

	// Spikes let the delay of Data rise now and then; Engine only.
	Spikes Spikes
}

// Spikes are rises of a delay. The zero value has none.
type Spikes struct {
	Rise  time.Duration // by so much
	Lasts time.Duration // for so long
	Every time.Duration // once in each such span, at a time drawn evenly; longer than Lasts
}

// Spec is the configuration of a run.
type Spec struct {
	Kind   Kind
	Timers Timers // of the sender; GVisor ignores them
	Peer   Timers // of the receivers
	Scheme string // of the engines' wheels, Engine only; "" is the default

	Seed    uint64
	Work    Work
	Path    Path
	Flows   int           // 1 to 1000, from one sender to a receiver each
	Stagger time.Duration // latest begin of a flow, drawn evenly from 0; up to 1 min
	Limit   time.Duration // of virtual time, up to 24 h
	MTU     int           // 576 to 9000; 0 is 1500

	// Kernel is settings of the sender's kernel by their names below net/ipv4, for RunKernel.
	// KernelControl is its congestion control; "" is its default.
	Kernel        map[string]string
	KernelControl string

	SACK, Timestamps *bool  // of the sender; nil is that of Timers
	Control          string // congestion control; "" is that of Timers, or CUBIC for GVisor

	// Stack changes the TCP of the sender's stack, of Binding and GVisor. It may be nil.
	Stack func(*virtual.TCP)
}

// Bounds of a Spec.
const (
	MaxFlows   = 1000
	MaxObjects = 10_000
	maxConns   = 50_000
	firstPort  = 10_000
)

// gvisorControls are gVisor's congestion controls; "" is its default.
var gvisorControls = []string{"", "newreno", "cubic"}

// Check returns an error that names the first field out of its bounds, its value and the bound.
func (s *Spec) Check() error {
	w := &s.Work
	switch {
	case !slices.Contains(Kinds(), s.Kind):
		return fmt.Errorf("subject: kind %q, want one of %s", s.Kind, join(Kinds()))
	case !slices.Contains(Shapes(), w.Shape):
		return fmt.Errorf("subject: work %q, want one of %s", w.Shape, join(Shapes()))
	case w.Objects < 1 || w.Objects > MaxObjects:
		return fmt.Errorf("subject: %d objects, want 1 to %d", w.Objects, MaxObjects)
	case w.Warm < 0 || w.Warm >= s.objects():
		return fmt.Errorf("subject: %d objects to warm up, want 0 to %d, one less than there are", w.Warm, s.objects()-1)
	case w.Bytes < 1 || w.Bytes > 1<<30:
		return fmt.Errorf("subject: objects of %d bytes, want 1 to 2^30", w.Bytes)
	case w.Request > 65535:
		return fmt.Errorf("subject: requests of %d bytes, want at most 65535", w.Request)
	case w.Think < 0 || w.Think > time.Minute:
		return fmt.Errorf("subject: pause of %v, want 0 to 1m", w.Think)
	case s.Flows < 1 || s.Flows > MaxFlows:
		return fmt.Errorf("subject: %d flows, want 1 to %d", s.Flows, MaxFlows)
	case s.Flows*s.conns() > maxConns:
		return fmt.Errorf("subject: %d connections, want at most %d", s.Flows*s.conns(), maxConns)
	case s.Stagger < 0 || s.Stagger > time.Minute:
		return fmt.Errorf("subject: flows begin within %v, want 0 to 1m", s.Stagger)
	case s.Limit <= 0 || s.Limit > 24*time.Hour:
		return fmt.Errorf("subject: limit %v, want more than 0, and up to 24h", s.Limit)
	case s.MTU != 0 && (s.MTU < 576 || s.MTU > 9000):
		return fmt.Errorf("subject: MTU %d, want 576 to 9000", s.MTU)
	case s.Kind != Engine && w.Shape == StopAndWait:
		return fmt.Errorf("subject: %s of subject %s, want subject %s: others do not report ACKs", w.Shape, s.Kind, Engine)
	case s.Kind != Engine && s.Path.Spikes != (Spikes{}):
		return fmt.Errorf("subject: spikes of subject %s, want subject %s", s.Kind, Engine)
	case s.Path.Spikes != (Spikes{}) && (s.Path.Spikes.Rise <= 0 || s.Path.Spikes.Lasts <= 0 ||
		s.Path.Spikes.Every <= s.Path.Spikes.Lasts):
		return fmt.Errorf("subject: spikes %+v, want each above 0, and once in more than they last", s.Path.Spikes)
	case s.Kind != Engine && s.Scheme != "":
		return fmt.Errorf("subject: wheel %q of subject %s, want subject %s", s.Scheme, s.Kind, Engine)
	case s.Kind == GVisor && !slices.Contains(gvisorControls, s.Control):
		return fmt.Errorf("subject: control %q of subject %s, want %s", s.Control, GVisor, strings.Join(gvisorControls[1:],
			" or "))
	}
	for _, l := range []*sim.LinkConfig{&s.Path.Data, &s.Path.Acks} {
		if len(l.Loss) > 0 || l.Duplicate > 0 || l.Corrupt > 0 {
			return fmt.Errorf("subject: a shared link with loss, duplicates or corruption, want Fates")
		}
		if err := l.Check(); err != nil {
			return err
		}
	}
	sender := s.sender()
	if err := sender.Check(); err != nil {
		return err
	}
	peer := s.peer()
	return peer.Check()
}

// peer returns the configuration of the receivers. Both ends send without Nagle's delay.
func (s *Spec) peer() tcp.Config {
	c := s.Peer.Config()
	c.Socket.NoDelay = true
	return c
}

// sender returns the configuration of the sender.
func (s *Spec) sender() tcp.Config {
	t := s.Timers
	if s.Kind == GVisor {
		t = s.Peer // ignored
	}
	c := t.Config()
	c.Socket.NoDelay = true
	if s.Control != "" {
		c.Control = s.Control
	}
	if s.SACK != nil {
		c.SACK = *s.SACK
	}
	if s.Timestamps != nil {
		c.Timestamps = *s.Timestamps
	}
	return c
}

// objects returns the objects of a flow.
func (s *Spec) objects() int {
	if s.Work.Shape == Bulk {
		return 1
	}
	return s.Work.Objects
}

// conns returns the connections of a flow.
func (s *Spec) conns() int {
	if s.Work.Shape == Web {
		return s.Work.Objects
	}
	return 1
}

func (s *Spec) request() uint32 {
	if s.Work.Request == 0 {
		return 100
	}
	return s.Work.Request
}

func (s *Spec) mtu() int {
	if s.MTU == 0 {
		return 1500
	}
	return s.MTU
}

// mss returns the bytes of a full segment: RFC 9293 §3.7.1, less 12 bytes for timestamps.
func (s *Spec) mss() uint64 {
	cfg, peer := s.sender(), s.peer()
	if !cfg.Timestamps || !peer.Timestamps {
		return uint64(s.mtu() - 40)
	}
	return uint64(s.mtu() - 52)
}

// port returns the receiver's port of a connection of a flow. It is unique.
func (s *Spec) port(flow, conn int) uint16 { return uint16(firstPort + flow*s.conns() + conn) }

// of returns the flow of a port, and the number of the connection in the flow.
func (s *Spec) of(port uint16) (flow, conn int, ok bool) {
	i := int(port) - firstPort
	if i < 0 || i >= s.Flows*s.conns() {
		return 0, 0, false
	}
	return i / s.conns(), i % s.conns(), true
}

// Segments returns about the data segments of a run, without retransmissions.
func (s *Spec) Segments() float64 {
	per := float64((s.Work.Bytes-1)/s.mss() + 1)
	return per * float64(s.Flows*s.objects())
}

func join[T ~string](all []T) string {
	texts := make([]string, len(all))
	for i, x := range all {
		texts[i] = string(x)
	}
	return strings.Join(texts, ", ")
}
