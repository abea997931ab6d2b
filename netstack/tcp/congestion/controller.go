package congestion

import (
	"fmt"
	"math"
	"strings"
	"time"

	"tcpwheel/wheel"
)

// maxWindow is the largest TCP window (RFC 7323 §2.3), and the upper bound of a congestion window.
const maxWindow = 1 << 30

// infinite is ssthresh before the first congestion event. RFC 5681 §3.1: "The initial value of
// ssthresh SHOULD be set arbitrarily high".
const infinite = math.MaxUint32

// Cause is the reason for a congestion event.
type Cause uint8

const (
	FastRetransmit Cause = iota // ACKs showed a loss: by duplicate ACKs, SACK or RACK
	ECN                         // the receiver echoed a congestion mark
)

// Ack describes an ACK of new data.
type Ack struct {
	Acked     uint32        // bytes cumulatively acknowledged; at most Flight count
	Delivered uint32        // bytes that this ACK delivers: those SACKed before do not count
	Flight    uint32        // bytes in flight before this ACK
	Una, Nxt  uint32        // SND.UNA after this ACK and SND.NXT, to delimit rounds
	RTT       time.Duration // RTT sample of this ACK, 0 for none
	SRTT      time.Duration // smoothed RTT, 0 for none
	Limited   bool          // the window limits the sender; slow start uses half of it or more
	ECE       bool          // the ACK has the ECN-Echo flag
	SYN       bool          // it acknowledges our SYN and no data
}

// Controller is a congestion controller. Its methods may be called in any order; an engine calls
//
//   - OnAck for each ACK of new data outside fast recovery, and in the slow start after a timeout;
//   - OnCongestion once per window of data, on entry to fast recovery or at an ECN-Echo, and
//     OnTimeout when a timer expiry retransmits, both before the flight changes;
//   - OnRecovered when fast recovery ends;
//   - Undo when the last of these events proves spurious;
//   - OnApplicationLimited when there is nothing to send though the window allows it, and OnIdle
//     before data leaves after a pause.
//
// The window is always between one segment and Config.MaxWindow. Each method costs O(1), and
// allocates only for the first event.
type Controller interface {
	// OnAck grows the window if the window limited the sender. delayed reports that slow start
	// ended because the RTT has grown.
	OnAck(now wheel.Time, a Ack) (delayed bool)
	// OnCongestion sets ssthresh, and cwnd to it. flight is FlightSize.
	OnCongestion(now wheel.Time, flight uint32, cause Cause)
	// OnTimeout sets cwnd to one segment. It also sets ssthresh if first: no timeout has
	// retransmitted this segment before. A chain of expiries of one flight is one event; the later
	// ones retransmit without a call.
	OnTimeout(now wheel.Time, flight uint32, first bool)
	// OnRecovered sets cwnd to ssthresh, or with Config.LimitBurst to little more than flight. It
	// is a no-op if the recovery was undone or ended by a timeout.
	OnRecovered(now wheel.Time, flight uint32)
	// Undo reverts the last OnCongestion or OnTimeout, once, and reports whether there was one.
	// flight is FlightSize, and acked is what the ACK that gave the evidence acknowledged. It never
	// lowers cwnd.
	Undo(now wheel.Time, flight, acked uint32) bool
	// OnApplicationLimited reports that the sender has no data to send. Repeated calls are no-ops.
	OnApplicationLimited(now wheel.Time)
	// OnIdle reports, before something is sent, how long nothing was sent.
	OnIdle(now wheel.Time, idle, rto time.Duration)
	// Raise sets cwnd to at least window, when it is known from elsewhere.
	Raise(window uint32)
	// SetMSS sets the sender maximum segment size, 1 to 65535 bytes. It panics beyond that.
	SetMSS(mss uint32)

	Cwnd() uint32      // bytes that may be in flight
	Ssthresh() uint32  // bytes; math.MaxUint32 before the first congestion
	InSlowStart() bool // Cwnd() < Ssthresh()
	Name() string      // as passed to New
	State() State
}

// State is a snapshot of a controller. Fields that it does not use are 0.
type State struct {
	Name           string
	Cwnd, Ssthresh uint32
	SlowStart      bool
	Conservative   bool          // in HyStart++'s Conservative Slow Start
	WMax, WEst     uint32        // CUBIC: W_max and W_est
	K              time.Duration // CUBIC: K
	BaseRTT        time.Duration // Vegas
	PipeACK        uint32        // RFC 7661's pipeACK in bytes, if Config.Validate
}

// SlowStart selects the slow start algorithm.
type SlowStart uint8

const (
	DefaultSlowStart  SlowStart = iota // HyStart++ for cubic, standard for the others
	StandardSlowStart                  // RFC 5681
	HyStartPlusPlus                    // RFC 9406; vegas has its own and ignores it
	HyStartLinux                       // Linux's, for cubic; standard for the others
)

// Reduce says from what a loss or mark computes ssthresh.
type Reduce uint8

const (
	// DefaultReduce is ReduceCwnd for cubic without Config.Validate, and ReduceFlight for the others.
	// RFC 9438 §4.6 allows cubic cwnd where it does not grow beyond what is used, as here.
	DefaultReduce Reduce = iota
	ReduceFlight         // FlightSize: RFC 5681 §3.1 (a MUST there), and preferred in RFC 9438 §4.6
	// ReduceCwnd is Linux's, for all controls (cubictcp_recalc_ssthresh, tcp_reno_ssthresh).
	// Config.Validate does not bound it.
	ReduceCwnd
)

// Names returns the names of the choices, in order.
func (Reduce) Names() []string { return []string{"default", "flight", "cwnd"} }

// Config configures a controller.
type Config struct {
	MSS           uint32    // SMSS, 1 to 65535 bytes
	InitialWindow uint32    `set:"iw" unit:"size" help:"initial window, bytes; 0 is that of RFC 6928"`
	MaxWindow     uint32    `set:"max-window" unit:"size" help:"largest window, bytes, at least 2·MSS; 0 is 1 GiB"`
	SYNLost       bool      // a SYN was retransmitted: start with one segment (RFC 5681 §3.1)
	Paced         bool      // segments are paced
	KeepCurve     bool      // cubic: an undone timeout keeps the curve
	SlowStart     SlowStart `set:"slow-start" help:"how slow start ends; default is hystart++ for cubic"`

	// HyStartLimit is L of RFC 9406 §4.3: how many segments one ACK counts for in slow start. It
	// applies to HyStart++, and if set to Linux's HyStart. 0 is the RFC's value for HyStart++, 8 for
	// unpaced senders and no limit for paced ones, and no limit for Linux's. math.MaxUint32 is no
	// limit.
	HyStartLimit uint32 `set:"hystart-limit" help:"segments that one ACK counts for in slow start; 0 is 8, or none when paced and in hystart-linux"`

	// Reduce is what a loss or mark reduces. The two differ for a sender whose application limits it.
	Reduce Reduce `set:"reduce" help:"what a loss or mark reduces; default is cwnd for cubic"`
	// CountDelivered makes an ACK of new data count for what it delivers. Bytes that SACKs or
	// duplicate ACKs have delivered before do not count again, and bytes that it SACKs count. Linux
	// passes that to cong_avoid (acked_sacked in tcp_cong_control).
	CountDelivered bool `set:"count-delivered" help:"an ACK counts for what it delivers, as in Linux"`

	LimitBurst bool `set:"limit-burst" help:"without PRR, recovery ends close to FlightSize (RFC 6582)"`
	Validate   bool `set:"validate" help:"treat unused windows by RFC 7661"`
	// NoFastConvergence is for networks with a single CUBIC flow (RFC 9438 §4.7).
	NoFastConvergence bool `set:"no-fast-convergence" help:"for networks with a single flow of cubic"`
	// Alpha, Beta and Gamma are Vegas's thresholds in segments. Alpha and Beta 0 means 2 and 4, the
	// paper's Vegas-2,4, and Gamma 0 means 1.
	Alpha uint32 `set:"alpha" max:"16384" help:"least segments that vegas keeps in queues; 0 with beta: 2"`
	Beta  uint32 `set:"beta" max:"16384" help:"most segments that vegas keeps in queues; 0 with alpha: 4"`
	Gamma uint32 `set:"gamma" max:"16384" help:"queued segments that end the slow start of vegas; 0: 1"`
}

var slowStartNames = []string{"default", "standard", "hystart++", "hystart-linux"}

// Names returns the names of the algorithms, in order.
func (SlowStart) Names() []string { return slowStartNames }

// Names returns the names that New accepts.
func Names() []string { return []string{"newreno", "cubic", "vegas"} }

// New returns a controller by name. The error names the field that is out of bounds.
func New(name string, cfg Config) (Controller, error) {
	if cfg.MSS < 1 || cfg.MSS > math.MaxUint16 {
		return nil, fmt.Errorf("congestion: MSS %d bytes, want 1..%d", cfg.MSS, math.MaxUint16)
	}
	if cfg.MaxWindow == 0 {
		cfg.MaxWindow = maxWindow
	}
	if cfg.MaxWindow < 2*cfg.MSS || cfg.MaxWindow > maxWindow {
		return nil, fmt.Errorf("congestion: MaxWindow %d bytes, want %d..%d", cfg.MaxWindow, 2*cfg.MSS, maxWindow)
	}
	if cfg.SlowStart > HyStartLinux {
		return nil, fmt.Errorf("congestion: SlowStart %d, want 0..%d", cfg.SlowStart, HyStartLinux)
	}
	if cfg.Reduce > ReduceCwnd {
		return nil, fmt.Errorf("congestion: Reduce %d, want 0..%d", cfg.Reduce, ReduceCwnd)
	}
	switch name {
	case "newreno":
		return newNewReno(cfg), nil
	case "cubic":
		if cfg.Reduce == DefaultReduce && !cfg.Validate {
			cfg.Reduce = ReduceCwnd
		}
		return newCubic(cfg), nil
	case "vegas":
		return newVegas(cfg)
	}
	return nil, fmt.Errorf("congestion: unknown control %q, want one of %s", name, strings.Join(Names(), ", "))
}
