package congestion

import (
	"fmt"
	"math"
	"strings"
	"time"

	"tcpwheel/wheel"
)

// maxWindow is the largest window of TCP (RFC 7323 §2.3), and the most that a congestion window
// grows to.
const maxWindow = 1 << 30

// infinite is the slow start threshold before any congestion.
// RFC 5681 §3.1: "The initial value of ssthresh SHOULD be set arbitrarily high".
const infinite = math.MaxUint32

// Cause is why the network is thought to be congested.
type Cause uint8

const (
	FastRetransmit Cause = iota // segments were declared lost by ACKs: duplicate ones, SACK or RACK
	ECN                         // the receiver echoed a congestion mark
)

// Ack is what an ACK of new data tells a control.
type Ack struct {
	Acked     uint32        // bytes newly acknowledged by the cumulative ACK; believed up to Flight
	Delivered uint32        // bytes newly known to have arrived, SACKed ones included
	Flight    uint32        // bytes in flight before this ACK
	Una, Nxt  uint32        // SND.UNA after this ACK and SND.NXT: they tell rounds apart
	RTT       time.Duration // the sample that this ACK gave, 0 for none
	SRTT      time.Duration // the smoothed round trip, 0 if none yet
	MinRTT    time.Duration // the least round trip known, 0 if none yet
	Limited   bool          // the congestion window was what kept the sender from sending more
	ECE       bool          // the ACK has the ECN-Echo flag
}

// Controller is a congestion control. Its methods are values in, nothing out, and may be called in
// any order; an engine calls
//
//   - OnAck for each ACK of new data outside fast recovery, and in the slow start after a timeout;
//   - OnCongestion once per window of data, on entry to fast recovery or at an ECN-Echo, and OnTimeout at an expiry
//     that retransmits; both before it changes what counts as in flight;
//   - OnRecovered when fast recovery ends, after which the window is that to go on with;
//   - Undo when the last of these events turns out to have been a mistake;
//   - OnApplicationLimited when it has nothing more to send, though the window allows it; OnIdle before it sends again.
//
// Whatever is passed, the window is one segment at least and Config.MaxWindow at most. Each method
// is O(1), and none allocates but for the first event.
type Controller interface {
	// OnAck grows the window, if the sender was limited by it. delayed reports that it ended slow
	// start because the round trip has grown.
	OnAck(now wheel.Time, a Ack) (delayed bool)
	// OnCongestion sets ssthresh, and the window to it. flight is FlightSize.
	OnCongestion(now wheel.Time, flight uint32, cause Cause)
	// OnTimeout sets the window to one segment, and ssthresh if first: this segment was not yet
	// retransmitted by a timeout. A chain of expiries of one flight is one event: segments that
	// expire behind the first of their flight are retransmitted without a call.
	OnTimeout(now wheel.Time, flight uint32, first bool)
	// OnRecovered sets the window to ssthresh, or with Config.LimitBurst to little more than
	// flight. It does nothing if the recovery was undone or ended by a timeout.
	OnRecovered(now wheel.Time, flight uint32)
	// Undo takes back the last OnCongestion or OnTimeout, once. flight is FlightSize and acked what
	// the ACK that gave the evidence acknowledged. It reports whether there was anything to take
	// back, and never lowers the window.
	Undo(now wheel.Time, flight, acked uint32) bool
	// OnApplicationLimited tells that the sender has nothing to send. Calling it again changes
	// nothing.
	OnApplicationLimited(now wheel.Time)
	// OnIdle tells for how long nothing was sent, before something is.
	OnIdle(now wheel.Time, idle, rto time.Duration)
	// Raise sets the window to so much at least, where it is known from elsewhere.
	Raise(window uint32)
	// SetMSS tells a new sender maximum segment size, 1 to 65535 bytes. It panics beyond that.
	SetMSS(mss uint32)

	Cwnd() uint32      // bytes that may be in flight
	Ssthresh() uint32  // bytes; math.MaxUint32 before the first congestion
	InSlowStart() bool // Cwnd() < Ssthresh()
	Name() string      // as New takes it
	State() State
}

// State is what a control tells about itself. Fields that it does not use are 0.
type State struct {
	Name           string
	Cwnd, Ssthresh uint32
	SlowStart      bool
	Conservative   bool          // in the conservative slow start of HyStart++
	WMax, WEst     uint32        // CUBIC: W_max and W_est
	K              time.Duration // CUBIC: K
	BaseRTT        time.Duration // Vegas
	PipeACK        uint32        // RFC 7661, if Config.Validate
}

// SlowStart is how a control finds its first threshold.
type SlowStart uint8

const (
	DefaultSlowStart  SlowStart = iota // HyStart++ for cubic, standard for the others
	StandardSlowStart                  // RFC 5681
	HyStartPlusPlus                    // RFC 9406; vegas has its own and ignores it
)

// Config sets a control up.
type Config struct {
	MSS           uint32 // SMSS, 1 to 65535 bytes
	InitialWindow uint32 // bytes; 0 is that of RFC 6928
	MaxWindow     uint32 // bytes, 2·MSS at least; 0 is 1 GiB
	SYNLost       bool   // a SYN or SYN-ACK was retransmitted: the initial window is one segment (RFC 5681 §3.1)
	Paced         bool   // segments are paced: HyStart++ counts bytes without limit
	SlowStart     SlowStart
	LimitBurst    bool // recovery ends with little more than FlightSize (RFC 6582), for senders without PRR
	Validate      bool // preserve and reduce unused windows as RFC 7661 says, instead of restarting after idle times
	// NoFastConvergence is for networks with a single CUBIC flow (RFC 9438 §4.7).
	NoFastConvergence bool
	// Alpha, Beta and Gamma are Vegas's thresholds in segments; all 0 are 2, 4 and 1, Vegas-2,4 of
	// the paper.
	Alpha, Beta, Gamma uint32
}

// Names returns the names that New knows.
func Names() []string { return []string{"newreno", "cubic", "vegas"} }

// New returns the control of that name. It fails for names and values that do not exist.
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
	if cfg.SlowStart > HyStartPlusPlus {
		return nil, fmt.Errorf("congestion: SlowStart %d, want 0..%d", cfg.SlowStart, HyStartPlusPlus)
	}
	switch name {
	case "newreno":
		return newNewReno(cfg), nil
	case "cubic":
		return newCubic(cfg), nil
	case "vegas":
		return newVegas(cfg)
	}
	return nil, fmt.Errorf("congestion: unknown control %q, want one of %s", name, strings.Join(Names(), ", "))
}
