package replay

import "time"

// The durations that replays rest on. Each was halved and doubled: ½ and 2× are the changes of the
// losses through the gate, of 317 of 323 (captured at the sender), 51 of 53 (in the middle) and 10
// of 12 (at the receiver) on public captures, and of 308 of 333, 303 of 334 and 255 of 326
// simulated ones, before pathBuilder.unseen looked at neighbours. Where nothing is said, nothing
// changed.
const (
	// A host answers what it received within answerTime. ½: -5 in the middle; simulated, -10 at the
	// receiver. 2×: simulated, +1, +1 and +2.
	answerTime = 2 * time.Millisecond

	// The capture's clock and its host are off by sameInstant. A timer's retransmission follows such
	// a silence, and an ACK is not delayed by less. ½: simulated, +1, +1 and 0. 2×: simulated, -3 at
	// the receiver.
	sameInstant = time.Millisecond

	// An answer may be late by a quarter of the round trip and answerJitter, and an ACK of a gap is
	// held for so long that the captured end did not send. ½: simulated, +1 in the middle.
	answerJitter = 5 * time.Millisecond

	// No delayed-ACK timer is shorter than shortestDelay, sweeps apart, or longer than longestDelay:
	// RFC 9293 §3.8.6.3 (MUST-40), less than 0.5 seconds. ½ of the first: simulated, +1, +1 and 0.
	shortestDelay = 8 * time.Millisecond
	longestDelay  = 510 * time.Millisecond

	// Linux delays ACKs for 40 ms at least (TCP_DELACK_MIN): so do ends that are not known to delay
	// any.
	usualACKDelay = 40 * time.Millisecond

	// A host in a hurry answers an ACK within ackTurnaround.
	ackTurnaround = 200 * time.Microsecond

	// Ticks of captured hosts: a timer that is later by more than tickSpread is of another one, its
	// first packet is captured hostLag later, and two addresses of one host differ by less than
	// sameTicks. They decide on "within a jiffy" in validations, and not on the gate.
	tickSpread = 500 * time.Microsecond
	hostLag    = 50 * time.Microsecond
	sameTicks  = 100 * time.Microsecond

	// A connection that began before the capture shows the state of its timers after knownRounds
	// round trips: by then SRTT (RFC 6298 §2.3, gain 1/8) forgets nine tenths of what it was.
	knownRounds = 16

	// A round trip is measured if it is clockPart times what the capture's clock was set back by.
	// Options are cut off if one in mostCut packets has not all of them.
	clockPart, mostCut = 2, 10

	overtime  = 10 * time.Minute     // how much longer than the capture a replay may go on
	lingering = time.Second          // and how long once all is done
	jiffy     = 4 * time.Millisecond // of Linux with HZ 250
)
