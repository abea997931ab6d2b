// Package tcptimers has TCP's clocks: the estimators that turn round-trip times into the retransmission timeout, the
// kinds of timer that a connection has, and the policies that say which of them are armed, when, and how finely.
//
// # Usage
//
//	p := tcptimers.MustPolicy("per-segment") // or NewProfile("datacenter"), and then what is to be otherwise
//	w, err := p.NewWheel("scheme6", origin, false)
//	e := p.NewEstimator()                    // for each connection
//
//	e.Sample(tcptimers.Sample{RTT: p.Measure(sent, acked)})
//	w.Schedule(t, p.RexmitDeadline(now, e.RTO(), tcptimers.Flight{Sent: now}))
//	w.Schedule(u, p.DelAckDeadline(now, p.DelAck.Delay))
//	w.Schedule(v, p.Deadline(now, p.KeepIdle))
//
// PolicyNames lists the policies, which differ in what arms the retransmission timer; ProfileNames lists the profiles, which
// set all knobs for a kind of network. Both make a Policy, and Named either of them.
//
// # Files
//
// Begin with policy.go, which has all knobs, and kind.go, the timers of a connection. estimator.go is what rfc6298.go, linux.go and
// bsd.go implement; rexmit.go, delack.go, persist.go and phase.go are the rules by which timers are set; profile.go has the
// values for kinds of networks, switch.go what texts turn on and off, and check.go the bounds.
//
// # The four knobs
//
// What is called the granularity of TCP's timers is four things, and they stay apart here:
//
//   - the tick of the clock that measures round-trip times (Policy.RTTTick);
//   - the tick at which timers expire (Policy.Tick);
//   - the floor on the retransmission timeout (Policy.Bounds.Min), which one study found to matter most (Allman and Paxson,
//     "On Estimating End-to-End Network Path Properties", SIGCOMM 1999);
//   - the phase of the tick: one tick for all timers, rounded up to or counted down as BSD does, or a tick of its own for each
//     (Policy.Phase).
//
// # Time
//
// Nothing here reads a clock. Instants are wheel.Time, spans are time.Duration. A retransmission timer is never early
// (RFC 6298 §5), and late by less than a tick; the policy "bsd" is the exception, as 4.4BSD was.
//
// # Concurrency
//
// An Estimator belongs to one connection and is not safe for concurrent use. A Policy that nobody changes is.
//
// # Limitations
//
// Policies say when timers are armed, and hold none: which segments may be timed (Karn's algorithm, RFC 6298 §3), that the
// timers of one flight are backed off once, and what follows from an expiry, is the engine's.
//
// # References
//
// RFC 6298 (computing the RTO), RFC 7765 (RTO restart), RFC 7323 (timestamps), RFC 4015 (Eifel response), RFC 8985
// (RACK-TLP), RFC 5681 (delayed acknowledgements), RFC 9293 (keepalive, persist, R1 and R2), G. Wright and
// R. Stevens, TCP/IP Illustrated, Volume 2 (4.4BSD).
package tcptimers
