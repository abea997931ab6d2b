// Package tcptimers has TCP's timers: the estimators that turn round-trip times into the
// retransmission timeout, the kinds of timer of a connection, and the policies that say which of
// them are armed, when, and with what granularity.
//
// # Usage
//
//	p := tcptimers.MustPolicy("per-segment") // or ParsePolicy("linux@1ms"); its fields may be changed
//	w, err := p.NewWheel("scheme6", origin, false)
//	e := p.NewEstimator()                    // for each connection
//
//	e.Sample(tcptimers.Sample{RTT: p.Measure(sent, acked)})
//	w.Schedule(t, p.RexmitDeadline(now, e.RTO(), tcptimers.Flight{Sent: now}))
//	w.Schedule(u, p.DelAckDeadline(now, p.DelAck.Delay))
//	w.Schedule(v, p.Deadline(now, p.KeepIdle))
//
// Policies differ in what arms the retransmission timer, or set all knobs for a kind of network.
// Names lists them.
//
// # Files
//
// Begin with policy.go, which has all knobs, and kind.go, the timers of a connection.
//
//	registry.go                        policies by name
//	profile.go, check.go, settings.go  their values, their bounds, their text
//	estimator.go                       the interface that rfc6298.go, linux.go and bsd.go implement
//	rexmit.go, delack.go, persist.go   the rules by which timers are set
//	phase.go                           ticks
//
// # The four knobs
//
// The granularity of TCP's timers is four things, which stay apart here:
//
//   - the tick of the clock that measures round-trip times (Policy.RTTTick);
//   - the tick at which timers expire (Policy.Tick);
//   - the floor on the retransmission timeout (Policy.Bounds.Min), which one study found to matter
//     most (Allman and Paxson, "On Estimating End-to-End Network Path Properties", SIGCOMM 1999);
//   - the phase of the tick (Policy.Phase): one tick for all timers, rounded up to or counted down
//     as in BSD, or a tick of its own for each timer.
//
// # Time
//
// Nothing here reads a clock. Instants are wheel.Time, spans are time.Duration. A retransmission
// timer is never early (RFC 6298 §5), and late by less than a tick. The policy "bsd" is the
// exception, as 4.4BSD was.
//
// # Concurrency
//
// An Estimator belongs to one connection and is not safe for concurrent use. A Policy is safe to
// read concurrently.
//
// # Limitations
//
// Policies say when timers are armed, and hold none. The engine decides which segments may be
// timed (Karn's algorithm, RFC 6298 §3), backs off the timers of one flight once, and reacts to
// an expiry.
//
// # References
//
// RFC 6298 (computing the RTO), RFC 7765 (RTO restart), RFC 7323 (timestamps), RFC 4015 (Eifel
// response), RFC 8985 (RACK-TLP), RFC 5681 (delayed acknowledgements), RFC 9293 (keepalive,
// persist, R1 and R2), G. Wright and R. Stevens, TCP/IP Illustrated, Volume 2 (4.4BSD).
package tcptimers
