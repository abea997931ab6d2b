package tcptimers

import (
	"fmt"
	"time"

	"tcpwheel/wheel"
)

// EstimatorKind is which estimator a policy has.
type EstimatorKind uint8

// The estimators: NewRFC6298, NewLinux and NewBSD.
const (
	EstimatorRFC6298 EstimatorKind = iota
	EstimatorLinux
	EstimatorBSD

	estimatorKinds
)

var estimatorKindNames = [estimatorKinds]string{"rfc6298", "linux", "bsd"}

// String returns "rfc6298", "linux" or "bsd".
func (k EstimatorKind) String() string {
	if k >= estimatorKinds {
		return fmt.Sprintf("EstimatorKind(%d)", uint8(k))
	}
	return estimatorKindNames[k]
}

// Policy is all that is to be known about the timers of an engine: which are armed, when, for how long, and how finely. It is
// data, comparable, and copied at will; its methods are the rules that follow from it. NewPolicy and NewProfile make one,
// whose fields may then be changed; Check says whether it still holds. The zero Policy does not.
type Policy struct {
	Name string // what NewPolicy or NewProfile made it as

	// The four knobs of granularity.

	// RTTTick is the tick of the clock that measures round-trip times: 0 for an exact one, up to 500 ms.
	RTTTick time.Duration

	// Tick is the tick at which timers expire, 1 µs to 500 ms.
	Tick time.Duration

	// Bounds.Min is the floor on the retransmission timeout. To Linux's estimator it is the floor on the variation.
	Bounds Bounds

	// Phase is how ticks lie to the start of a timer, and Origin an instant of all ticks that are shared.
	Phase  Phase
	Origin wheel.Time

	// What the timeout is made of.

	Estimator EstimatorKind

	// VarMin is the floor on the variation in the RTO of RFC 6298: StandardConfig.VarMin. 0 for none, up to 24 h.
	VarMin time.Duration

	// OneSample has one segment timed at a time, about one sample a round trip, as RFC 6298 §3 describes tradition.
	OneSample bool

	// Jitter is the most that Randomize adds, as a part of the timeout: 0 for none, 0.5 as published, up to 1.
	Jitter float64

	// How loss is found.

	Rexmit RexmitMode
	RACK   bool // RFC 8985; else duplicate ACKs or RFC 6675
	TLP    bool // the probe of RFC 8985 §7
	FRTO   bool // RFC 5682

	// SACKsFirst has RACK take the SACKs of an ACK before what is acknowledged cumulatively, as Linux does: RACK.rtt is then that of the
	// last segment of the latter, which may be longer. tcp_ack calls tcp_sacktag_write_queue first, and each calls tcp_rack_advance.
	SACKsFirst bool

	// MaxAckDelay is what a probe timeout allows the peer for its delayed ACK if one segment is in flight (RFC 8985 §7.2):
	// 0 to 500 ms.
	MaxAckDelay time.Duration

	// ProbeSlack is what the timer of the probe, with more than one segment in flight, and that of RACK's reordering window are longer by:
	// 0 to 500 ms. Linux has TCP_TIMEOUT_MIN_US, "Min TCP timeout in microsecs" (include/net/tcp.h): 2 ms.
	ProbeSlack time.Duration

	// ReorderedDSACKs has RACK's window of reordering grow by a DSACK only where reordering was seen, and not by one of a loss probe: neither
	// RACK nor reordering has caused the others. tcp_dsack_seen of Linux does so; RFC 8985 §6.2 counts all.
	ReorderedDSACKs bool

	// SharedTimer has one timer serve for retransmissions, the probe and RACK's reordering window, as icsk_retransmit_timer of Linux: each takes
	// the place of the one that runs, and after the probe's or RACK's the retransmission timer counts from when the first segment was last sent.
	// While RACK's runs, ACKs do not move it. It is for RexmitRestart.
	SharedTimer bool

	// AckEvidence has the probe go by what the ACKs of its flight have shown of when the peer acknowledges: where that is at
	// once, MaxAckDelay is not allowed for. It is for senders with TLP.
	AckEvidence bool

	// When to give up. RFC 9293 §3.8.3: at R1 retransmissions of a segment the network layer is told ("SHOULD correspond to
	// at least 3 retransmissions, at the current RTO"), and at R2 or MaxRexmits the connection is closed; see GivesUp.

	R1         int           // 1 and more
	R2         time.Duration // "SHOULD correspond to at least 100 seconds"; 0 if only MaxRexmits counts
	MaxRexmits int           // 0 if only R2 counts
	SynR2      time.Duration // the same for a SYN; see GivesUpSyn

	// SynLinearTimeouts is how many timeouts of a SYN of an active open do not back off, before those that do: 0 to 127. See BacksOffSyn.
	SynLinearTimeouts int

	// Keepalive. RFC 9293 §3.8.4: it "MUST default to off", and the interval, KeepIdle, "MUST default to no less than two
	// hours". KeepCount probes that go unanswered, one each KeepInterval, end the connection; all above 0.

	Keepalive              bool
	KeepIdle, KeepInterval time.Duration
	KeepCount              int

	// Acknowledgements, and the peer that does not come forward.

	DelAck                 DelAckConfig
	PersistMin, PersistMax time.Duration // bounds of PersistInterval, above 0
	MSL                    time.Duration // TIME-WAIT lasts 2·MSL: above 0, up to 2 min as RFC 9293 §3.4.2 has it
	FinWait2               time.Duration // how long a closed connection waits for the peer's FIN, above 0
}

// standard is what the policies of this house have in common: the RFCs' recommendations, over a tick of 1 ms.
var standard = Policy{
	Tick:        time.Millisecond,
	Bounds:      standardBounds,
	R1:          3,
	R2:          100 * time.Second,
	SynR2:       3 * time.Minute,
	MaxAckDelay: 200 * time.Millisecond, // what Linux and gVisor allow the peer, RFC 8985 §7.2

	// The peer's slow start is not held up for its first 16 segments, as in Linux. 40 ms is the delay of most peers.
	DelAck: DelAckConfig{
		Every: 2, Quick: 16,
		Delay: 40 * time.Millisecond, Min: 40 * time.Millisecond, Max: 40 * time.Millisecond,
	},

	// Two hours are RFC 9293's; 75 s and 9 probes are those of Linux, which peers are used to.
	KeepIdle: 2 * time.Hour, KeepInterval: 75 * time.Second, KeepCount: 9,

	// A zero window is probed within the bounds of the RTO (RFC 9293 §3.8.6.1).
	PersistMin: time.Second, PersistMax: 60 * time.Second,

	// DEVIATION RFC 9293 §3.4.2: MSL is 2 min there. 30 s, as in BSD and Linux, frees ports four times as soon.
	MSL: 30 * time.Second, FinWait2: 60 * time.Second,
}

// oneTimer is a policy to the letter of the RFCs, with one retransmission timer.
func oneTimer(mode RexmitMode) Policy {
	p := standard
	p.Rexmit = mode
	return p
}

// NewEstimator makes the estimator of one connection. It panics if Check has something to say about the policy. To the
// standard estimator, G is the tick of the clock that measures; 4.4BSD's counts ticks of that clock, and the timeouts of Linux's are of whole
// ticks before they are doubled, under PhaseJiffies.
func (p *Policy) NewEstimator() Estimator {
	if err := p.Check(); err != nil {
		panic("BUG: " + err.Error())
	}
	switch p.Estimator {
	case EstimatorLinux:
		if p.Phase == PhaseJiffies {
			return newJiffies(p.Bounds, p.Tick)
		}
		return NewLinux(p.Bounds)
	case EstimatorBSD:
		return NewBSD(p.RTTTick, p.Bounds)
	}
	return NewRFC6298(StandardConfig{Bounds: p.Bounds, G: p.RTTTick, VarMin: p.VarMin})
}
