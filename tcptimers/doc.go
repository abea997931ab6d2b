// Package tcptimers has TCP's clocks: the estimators that turn round-trip times into the retransmission timeout, the
// kinds of timer that a connection has, and the policies that say which of them are armed, when, and how finely.
//
// # Usage
//
//	p := tcptimers.MustPolicy("per-segment")
//	e := p.NewEstimator()
//	e.Sample(tcptimers.Sample{RTT: p.Measure(sent, acked)})
//	w, err := p.NewWheel("scheme6", origin, false)
//	w.Schedule(t, p.Deadline(now, e.RTO()))
//
// # The four knobs
//
// What is called the granularity of TCP's timers is four things, and they stay apart here:
//
//   - the tick of the clock that measures round-trip times (Policy.RTTTick);
//   - the tick at which timers expire (Policy.Tick);
//   - the floor on the retransmission timeout (Policy.Bounds.Min), which one study found to matter most (Allman and Paxson,
//     "On Estimating End-to-End Network Path Properties", SIGCOMM 1999);
//   - the phase of the tick: one sweep for all timers, as BSD has it, or a tick of its own for each (Policy.Phase).
//
// # Time
//
// Nothing here reads a clock. Instants are wheel.Time, spans are time.Duration.
//
// # References
//
// RFC 6298 (computing the RTO), RFC 7765 (RTO restart), RFC 7323 (timestamps), RFC 8985 (RACK-TLP), RFC 5681 and RFC 1122
// (delayed acknowledgements, keepalive), G. Wright and R. Stevens, TCP/IP Illustrated, Volume 2 (4.4BSD).
package tcptimers
