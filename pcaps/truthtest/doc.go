// Package truthtest makes captures whose truth is known, for tests of packages track and replay: the
// simulator says what was lost, and the sender's engine why it retransmitted.
//
//	w := truthtest.Simulate(truthtest.Scenario{Policy: linux, RTT: 40 * time.Millisecond, ...})
//	w.Packets[truthtest.AtSender] // the capture
//	w.Sent                        // each transmission of the sender
//
// Only tests import it. A scenario that cannot be is a panic.
package truthtest
