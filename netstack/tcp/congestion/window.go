package congestion

import (
	"math"
	"time"

	"tcpwheel/wheel"
)

// initialWindow returns the initial window for an MSS, both in bytes.
func initialWindow(mss uint32) uint32 {
	// RFC 6928 §2: "min (10*MSS, max (2*MSS, 14600))"
	return min(10*mss, max(2*mss, 14600))
}

// window is what all controllers share: RFC 5681, and undoing it.
type window struct {
	cwnd, ssthresh uint32
	mss, maxCwnd   uint32
	iw             uint32      // Config.InitialWindow, 0 for initialWindow(mss)
	bytesAcked     uint32      // bytes acknowledged since the last increase in congestion avoidance
	beforeEvent    savedWindow // saved before the last event
	validation     *validation // nil without Config.Validate
	noEvents       bool        // no event yet: a change of MSS resets the initial window
	synLost        bool
	limitBurst     bool
	reduceCwnd     bool // Config.Reduce
	byDelivery     bool // Config.CountDelivered
	afterTimeout   bool // in the slow start after a timeout
	recovering     bool // in fast recovery
}

type savedWindow struct {
	cwnd, ssthresh, flight uint32
	set, timeout           bool
}

func newWindow(cfg Config) window {
	w := window{
		ssthresh: infinite, mss: cfg.MSS, maxCwnd: cfg.MaxWindow, iw: cfg.InitialWindow,
		noEvents: true, synLost: cfg.SYNLost, limitBurst: cfg.LimitBurst,
		reduceCwnd: cfg.Reduce == ReduceCwnd, byDelivery: cfg.CountDelivered,
	}
	w.cwnd = w.initial()
	if cfg.Validate {
		w.validation = new(validation)
	}
	return w
}

func (w *window) initial() uint32 {
	// RFC 5681 §3.1: "if the SYN or SYN/ACK is lost, the initial window used by a sender after a
	// correctly transmitted SYN MUST be one segment consisting of at most SMSS bytes."
	if w.synLost {
		return w.mss
	}
	return w.restart()
}

// restart returns the window of a sender that knows nothing, IW.
func (w *window) restart() uint32 {
	iw := w.iw
	if iw == 0 {
		iw = initialWindow(w.mss)
	}
	return min(max(iw, w.mss), w.maxCwnd)
}

func (w *window) Cwnd() uint32      { return w.cwnd }
func (w *window) Ssthresh() uint32  { return w.ssthresh }
func (w *window) Raise(to uint32)   { w.cwnd = max(w.cwnd, min(to, w.maxCwnd)) }
func (w *window) InSlowStart() bool { return w.cwnd < w.ssthresh }

// growthBytes records an ACK and returns the bytes that count for growth: at most Flight, and 0 if
// the window did not limit the sender.
func (w *window) growthBytes(now wheel.Time, a Ack) uint32 {
	w.noEvents = false
	acked := min(a.Acked, a.Flight)
	if w.byDelivery {
		acked = min(a.Delivered, a.Flight)
	}
	if w.validation != nil && !a.SYN {
		w.validation.OnAck(now, acked, a.Una, a.Nxt, a.SRTT)
		w.endPreserving(now)
		// RFC 7661 §4.3: in the nonvalidated phase the window does not grow.
		//
		// DEVIATION RFC 7661 §4.3: slow start ignores the phase. Its window doubles in each round,
		// so pipeACK, which knows the last round, is about half of it. Limited already asks for a
		// flight of half the window.
		if !w.InSlowStart() && !w.validation.Validated(w.cwnd) {
			return 0
		}
	}
	// RFC 3168 §6.1.2: the window is not increased in response to an ACK with ECN-Echo.
	if !a.Limited || a.ECE {
		return 0
	}
	return acked
}

// grow adds n bytes, up to the limit.
func (w *window) grow(n uint32) { w.cwnd = uint32(min(uint64(w.cwnd)+uint64(n), uint64(w.maxCwnd))) }

// slowStart grows the window by acked, at most l segments, up to ssthresh.
func (w *window) slowStart(acked, l uint32) {
	w.grow(min(acked, l*w.mss, w.ssthresh-w.cwnd))
	if !w.InSlowStart() {
		w.afterTimeout, w.bytesAcked = false, 0
	}
}

// abc returns how many segments one ACK may count for in standard slow start.
func (w *window) abc() uint32 {
	// RFC 3465 §2.3: "This document specifies that TCP implementations MAY use L=2*SMSS bytes and
	// MUST NOT use L > 2*SMSS bytes." In the slow start after a timeout, ACKs may cover data that
	// arrived before, so L is 1·SMSS.
	if w.afterTimeout {
		return 1
	}
	return 2
}

// avoid is congestion avoidance: one segment per window acknowledged.
func (w *window) avoid(acked uint32) {
	// RFC 5681 §3.1: "When the number of bytes acknowledged reaches cwnd, then cwnd can be
	// incremented by up to SMSS bytes."
	w.bytesAcked += min(acked, w.cwnd)
	if w.bytesAcked >= w.cwnd {
		w.bytesAcked -= w.cwnd
		w.grow(w.mss)
	}
}

// reduce saves what Undo restores, and sets ssthresh to the fraction num/den of the flight, or of
// cwnd by Config.Reduce.
func (w *window) reduce(flight, num, den uint32, timeout bool) {
	w.noEvents = false
	w.beforeEvent = savedWindow{cwnd: w.cwnd, ssthresh: w.ssthresh, flight: min(flight, w.cwnd), set: true, timeout: timeout}
	// FlightSize may exceed cwnd, by limited transmit or after a reduction. Then cwnd counts.
	flight = min(flight, w.cwnd)
	if w.validation != nil {
		flight = min(max(flight, w.validation.lossFlight(w.cwnd)), w.cwnd)
		w.validation.reset()
	}
	if w.reduceCwnd {
		flight = w.cwnd
	}
	// RFC 5681 §3.1: "ssthresh = max (FlightSize / 2, 2*SMSS)"
	w.ssthresh = max(uint32(uint64(flight)*uint64(num)/uint64(den)), 2*w.mss)
	w.bytesAcked, w.afterTimeout, w.recovering = 0, false, !timeout
}

// timeout responds to a retransmission timeout.
func (w *window) timeout(flight, num, den uint32, first bool) {
	// RFC 5681 §3.1: "when a TCP sender detects segment loss using the retransmission timer and the
	// given segment has already been retransmitted by way of the retransmission timer at least
	// once, the value of ssthresh is held constant."
	if first {
		w.reduce(flight, num, den, true)
	}
	// RFC 5681 §3.1: "cwnd MUST be set to no more than the loss window, LW, which equals 1
	// full-sized segment (regardless of the value of IW)."
	w.cwnd = w.mss
	w.noEvents, w.bytesAcked, w.afterTimeout, w.recovering = false, 0, true, false
}

func (w *window) recovered(flight uint32) {
	if !w.recovering {
		return // a timeout ended the recovery, or it was undone
	}
	w.recovering = false
	w.bytesAcked = 0
	// DEVIATION RFC 7661 §4.4.1: retransmitted data is not subtracted from an unvalidated window.
	w.cwnd = min(max(w.ssthresh, w.mss), w.maxCwnd)
	if w.limitBurst {
		// RFC 6582 §3.2: "min (ssthresh, max(FlightSize, SMSS) + SMSS)"
		w.cwnd = uint32(min(uint64(w.cwnd), uint64(max(flight, w.mss))+uint64(w.mss)))
	}
}

// undo is the Eifel response, except that it never lowers the window.
func (w *window) undo(flight, acked uint32) bool {
	if !w.beforeEvent.set {
		return false
	}
	w.beforeEvent.set, w.recovering = false, false
	// RFC 4015 §3.1 (0): pipe_prev is the larger of FlightSize and ssthresh before the event.
	if w.beforeEvent.ssthresh != infinite {
		w.ssthresh = max(w.ssthresh, w.beforeEvent.flight, w.beforeEvent.ssthresh)
	} else {
		w.ssthresh = infinite
	}
	// RFC 4015 §3.4: cwnd <- FlightSize + min(bytes_acked, IW), so no burst larger than an initial
	// window follows.
	restored := uint64(flight) + uint64(min(acked, w.restart()))
	w.cwnd = uint32(min(max(restored, uint64(w.cwnd)), max(uint64(w.beforeEvent.cwnd), uint64(w.cwnd)), uint64(w.maxCwnd)))
	w.afterTimeout, w.bytesAcked = false, 0
	return true
}

// idle reports whether it lowered the window.
func (w *window) idle(now wheel.Time, idle, rto time.Duration) bool {
	before := w.cwnd
	switch {
	case w.validation != nil:
		w.validation.OnIdle(now)
		w.endPreserving(now)
	case idle > rto:
		// RFC 5681 §4.1: "a TCP SHOULD set cwnd to no more than RW before beginning transmission if
		// the TCP has not sent data in an interval exceeding the retransmission timeout."
		w.cwnd = min(w.restart(), w.cwnd)
		w.bytesAcked = 0
	}
	return w.cwnd < before
}

// endPreserving reduces a window that was unused for longer than RFC 7661 preserves it.
func (w *window) endPreserving(now wheel.Time) {
	if w.validation.expired(now, w.cwnd) {
		// RFC 7661 §4.4.3: ssthresh = max(ssthresh, 3*cwnd/4), cwnd = max(1/2*cwnd, IW)
		w.ssthresh = max(w.ssthresh, uint32(uint64(w.cwnd)*3/4))
		w.cwnd = min(w.cwnd, max(w.cwnd/2, w.restart()))
	}
}

func (w *window) setMSS(mss uint32) (ratio float64) {
	if mss < 1 || mss > math.MaxUint16 {
		panic("BUG: congestion: MSS out of range")
	}
	old := w.mss
	w.mss = mss
	w.maxCwnd = max(w.maxCwnd, 2*mss)
	switch {
	case w.noEvents:
		w.cwnd = w.initial()
	case mss < old:
		// RFC 5681 §3.1: "cwnd SHOULD be reduced by the ratio of the old segment size to the new
		// segment size."
		w.cwnd = max(uint32(uint64(w.cwnd)*uint64(mss)/uint64(old)), mss)
		return float64(mss) / float64(old)
	}
	w.cwnd = max(w.cwnd, mss)
	w.ssthresh = max(w.ssthresh, 2*mss)
	return 1
}

func (w *window) state(name string) State {
	s := State{Name: name, Cwnd: w.cwnd, Ssthresh: w.ssthresh, SlowStart: w.InSlowStart()}
	if w.validation != nil {
		s.PipeACK, _ = w.validation.PipeACK()
	}
	return s
}
