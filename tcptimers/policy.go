package tcptimers

import (
	"time"

	"tcpwheel/wheel"
)

// EstimatorKind is the estimator of a policy.
type EstimatorKind uint8

// The estimators: NewRFC6298, NewLinux, NewBSD, NewTahoe and NewLWIP.
const (
	EstimatorRFC6298 EstimatorKind = iota
	EstimatorLinux
	EstimatorBSD
	EstimatorTahoe
	EstimatorLWIP

	estimatorKinds
)

var estimatorKindNames = [estimatorKinds]string{"rfc6298", "linux", "bsd", "tahoe", "lwip"}

// Names returns the names of the estimators, in order.
func (EstimatorKind) Names() []string { return estimatorKindNames[:] }

// String returns "rfc6298", "linux", "bsd", "tahoe" or "lwip".
func (k EstimatorKind) String() string { return nameOf("EstimatorKind", estimatorKindNames[:], k) }

// Policy is everything about the timers of an engine: which are armed, when, for how long, and
// with what granularity. It is data, comparable, and may be copied. Its methods are the rules
// that follow from it. NewPolicy, NewPolicy and ParsePolicy make one, whose fields may then be
// changed; Check reports whether it is still valid. The zero Policy is not.
type Policy struct {
	Name string // the argument of NewPolicy, NewPolicy or ParsePolicy

	// The four knobs of granularity.

	// RTTTick is the tick of the clock that measures round-trip times.
	RTTTick time.Duration `set:"rtt-tick" max:"500ms" help:"tick of the clock that measures round-trip times; 0s is exact"`

	// Tick is the tick at which timers expire.
	Tick time.Duration `set:"tick" min:"1us" max:"500ms" word:"exact=1us" help:"tick at which timers expire; exact is 1us"`

	// Bounds.Min is the floor on the retransmission timeout, or on the variation for Linux's
	// estimator.
	Bounds Bounds `prefix:"rto-"`

	// Phase is how ticks relate to the start of a timer. Origin is an instant of all shared
	// ticks.
	Phase  Phase `set:"phase" help:"how ticks relate to the start of a timer"`
	Origin wheel.Time

	// How the timeout is computed.

	Estimator EstimatorKind `set:"estimator" help:"estimator of the RTO"`

	// VarMin is the floor on the variation in the RTO of RFC 6298: StandardConfig.VarMin. 0 for
	// none.
	VarMin time.Duration `set:"var-min" max:"24h" help:"floor on the variation in the RTO, with the estimator rfc6298"`

	// OneSample times one segment at a time, about one sample per round trip: the tradition that
	// RFC 6298 §3 describes.
	OneSample bool `set:"one-sample" help:"time one segment at a time"`

	// Jitter bounds the random part that Randomize adds, as a fraction of the timeout: 0 for
	// none, 0.5 as published.
	Jitter float64 `set:"jitter" unit:"probability" max:"1" help:"random addition to each timeout, up to this fraction of it"`

	// How loss is detected.

	Rexmit RexmitMode `set:"rexmit" help:"what the retransmission timer counts from"`
	RACK   bool       `set:"rack" help:"RACK (RFC 8985) instead of duplicate ACKs or RFC 6675"`
	TLP    bool       `set:"tlp" help:"loss probes (RFC 8985 §7)"`
	FRTO   bool       `set:"frto" help:"find spurious timeouts by F-RTO (RFC 5682)"`

	// SACKsFirst makes RACK process the SACKs of an ACK before its cumulative part, as Linux
	// does: tcp_ack calls tcp_sacktag_write_queue first, and each calls tcp_rack_advance.
	// RACK.rtt is then that of the last segment acknowledged cumulatively, which may be longer.
	SACKsFirst bool `set:"sacks-first" help:"RACK processes SACKs before the cumulative ACK, as in Linux"`

	// MaxAckDelay is what a probe timeout allows the peer for its delayed ACK if one segment is
	// in flight (RFC 8985 §7.2).
	MaxAckDelay time.Duration `set:"max-ack-delay" max:"500ms" help:"what the probe allows the peer for its delayed ACK"`

	// ProbeSlack is added to the probe's timer if more than one segment is in flight, and to the
	// timer of RACK's reordering window. In Linux it is TCP_TIMEOUT_MIN_US, "Min TCP
	// timeout in microsecs" (include/net/tcp.h): 2 ms.
	ProbeSlack time.Duration `set:"probe-slack" max:"500ms" help:"added to the timers of the probe and of reordering"`

	// LateReorder makes the timer of RACK's reordering window expire a tick later, as in Linux:
	// its timer wheel adds a jiffy to a timeout that is rounded up to jiffies (calc_index).
	LateReorder bool `set:"late-reorder" help:"the timer of reordering expires a tick later, as in Linux"`

	// ReorderedDSACKs makes a DSACK widen RACK's reordering window only where reordering was
	// seen, and never if it is for a loss probe: other DSACKs were caused by neither RACK nor
	// reordering. tcp_dsack_seen of Linux does so; RFC 8985 §6.2 counts all.
	ReorderedDSACKs bool `set:"reordered-dsacks" help:"a DSACK widens the reordering window only after reordering, as in Linux"`

	// SharedTimer makes one timer serve for retransmissions, the probe and RACK's reordering
	// window, like icsk_retransmit_timer of Linux. Each replaces the one that is running. After
	// the probe's or RACK's timer, the retransmission timer counts from the last transmission of
	// the first segment. ACKs do not move RACK's timer while it runs. SharedTimer requires
	// RexmitRestart.
	SharedTimer bool `set:"shared-timer" help:"one timer for retransmission, probe and reordering, as in Linux"`

	// AckEvidence makes the probe use what the ACKs of its flight showed of the peer's delay: if
	// the peer acknowledges at once, the probe does not allow for MaxAckDelay. It is for senders
	// with TLP.
	AckEvidence bool `set:"ack-evidence" help:"the probe uses what ACKs showed of the delay of the peer"`

	// When to give up. RFC 9293 §3.8.3: at R1 retransmissions of a segment the network layer is
	// told ("SHOULD correspond to at least 3 retransmissions, at the current RTO"), and at R2 or
	// MaxRexmits the connection is closed: see GivesUp.

	// R2 "SHOULD correspond to at least 100 seconds". 0: only MaxRexmits. A segment counts 255
	// transmissions at most.
	R1         int           `set:"r1" min:"1" help:"retransmissions of a segment after which the network layer is told"`
	R2         time.Duration `set:"r2" help:"time after which a connection gives up; 0s: only max-rexmits"`
	MaxRexmits int           `set:"max-rexmits" min:"0" max:"254" help:"retransmissions after which a connection gives up; 0: only r2"`
	SynR2      time.Duration `set:"syn-r2" min:"1ns" help:"time after which a SYN gives up"`

	// SynLinearTimeouts is how many timeouts of the SYN of an active open do not back off; see
	// BacksOffSyn. MAX_TCP_SYNCNT bounds Linux's tcp_syn_linear_timeouts.
	SynLinearTimeouts int `set:"syn-linear-timeouts" min:"0" max:"127" help:"timeouts of a SYN that do not back off"`

	// Keepalive. RFC 9293 §3.8.4: it "MUST default to off", and the interval, KeepIdle, "MUST
	// default to no less than two hours". KeepCount unanswered probes, one each KeepInterval, end
	// the connection. All are above 0.

	Keepalive              bool
	KeepIdle, KeepInterval time.Duration
	KeepCount              int

	// Acknowledgements, the zero window, and the end of a connection.

	DelAck      DelAckConfig  `set:"delack" kind:"delay" alias:"delayed-ack" prefix:"delack-" help:"how ACKs are delayed, at most to the second full segment"`
	PersistMin  time.Duration `set:"persist-min" min:"1ns" help:"shortest interval of probes of a closed window"`
	PersistMax  time.Duration `set:"persist-max" max:"24h" help:"longest interval of probes of a closed window"`
	EmptyProbes bool          `set:"empty-probes" help:"probes of a closed window have no data, as in Linux"`
	MSL         time.Duration `set:"msl" min:"1ns" max:"2m" help:"half of the duration of TIME-WAIT"`
	FinWait2    time.Duration `set:"fin-wait-2" min:"1ns" help:"wait of a closed connection for the FIN of the peer"`
}

// standard is the common part of this project's policies: the RFCs' recommendations, with a tick
// of 1 ms.
var standard = Policy{
	Tick:        time.Millisecond,
	Bounds:      standardBounds,
	R1:          3,
	R2:          100 * time.Second,
	SynR2:       3 * time.Minute,
	MaxAckDelay: 200 * time.Millisecond, // as in Linux and gVisor; RFC 8985 §7.2

	// The first 16 segments are acknowledged at once, as in Linux, so that the peer's slow start
	// is not held up. 40 ms is the delay of most peers.
	DelAck: DelAckConfig{
		Every: 2, Quick: 16,
		Delay: 40 * time.Millisecond, Min: 40 * time.Millisecond, Max: 40 * time.Millisecond,
	},

	// Two hours are from RFC 9293; 75 s and 9 probes from Linux, which peers are used to.
	KeepIdle: 2 * time.Hour, KeepInterval: 75 * time.Second, KeepCount: 9,

	// A zero window is probed within the bounds of the RTO (RFC 9293 §3.8.6.1).
	PersistMin: time.Second, PersistMax: 60 * time.Second,

	// DEVIATION RFC 9293 §3.4.2: MSL is 2 min there. 30 s, as in BSD and Linux, frees ports four
	// times as soon.
	MSL: 30 * time.Second, FinWait2: 60 * time.Second,
}

// oneTimer is the standard policy with one retransmission timer, without RACK, TLP and F-RTO.
func oneTimer(mode RexmitMode) Policy {
	p := standard
	p.Rexmit = mode
	return p
}

// SetFloor sets the floor on the RTO: Bounds.Min, and with the estimator of RFC 6298 also VarMin.
func (p *Policy) SetFloor(d time.Duration) {
	p.Bounds.Min = d
	if p.Estimator == EstimatorRFC6298 {
		p.VarMin = d
	}
}

// NewEstimator makes the estimator of one connection. It panics if Check reports an error. The
// standard estimator's G is RTTTick. BSD's and lwIP's count ticks of RTTTick. Under PhaseJiffies,
// the timeouts of Linux's are whole ticks before they are doubled.
func (p *Policy) NewEstimator() Estimator {
	if err := p.Check(); err != nil {
		panic("BUG: " + err.Error())
	}
	switch p.Estimator {
	case EstimatorLinux:
		e := NewLinux(p.Bounds).(*linux)
		if p.Phase == PhaseJiffies {
			e.tick = p.Tick // as icsk_rto: tcp_set_rto rounds up, and tcp_retransmit_timer doubles that
		}
		return e
	case EstimatorBSD:
		return NewBSD(p.RTTTick, p.Bounds)
	case EstimatorTahoe:
		return NewTahoe(p.RTTTick, p.Bounds)
	case EstimatorLWIP:
		return NewLWIP(p.RTTTick, p.Bounds)
	}
	return NewRFC6298(StandardConfig{Bounds: p.Bounds, G: p.RTTTick, VarMin: p.VarMin})
}
