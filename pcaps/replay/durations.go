package replay

import "time"

// The durations that replays rest on. Those without a source are guesses, and what halving or
// doubling them does to the gate has not been measured.
const (
	answerTime = 2 * time.Millisecond // a host answers what it received within so long
	promptACK  = time.Millisecond     // an ACK that soon was not delayed
	// how long an ACK of a gap is held that the captured end did not send
	gapACK        = 5 * time.Millisecond
	usualACKDelay = 50 * time.Millisecond  // most hosts delay ACKs for less
	shortestDelay = 8 * time.Millisecond   // no delayed-ACK timer is shorter, sweeps apart
	longestDelay  = 510 * time.Millisecond // RFC 9293 §3.8.6.3 (MUST-40): less than 0.5 seconds
	// Linux's delayed ACK, for ends that are not known to delay any
	fallbackDelay = 40 * time.Millisecond
	// beyond two round trips: what has no ACK by then was lost
	answerAtEnd = 300 * time.Millisecond
	// by how much an answer may be late, beyond a quarter of the round trip
	answerJitter  = 5 * time.Millisecond
	burstSpacing  = 20 * time.Microsecond  // packets that close left as one burst
	sameInstant   = time.Millisecond       // the capture's clock and hosts are off by as much
	ackTurnaround = 200 * time.Microsecond // a host in a hurry answers an ACK within so long
	// nothing comes or goes for so long before a timer retransmits
	quietBefore = time.Millisecond
	// a timer that is later than its tick by more is of another tick
	tickSpread = 500 * time.Microsecond
	// the first packet of a timer is captured so long after its tick
	hostLag = 50 * time.Microsecond
	// the ticks of one host differ by less, by two of its addresses
	sameTicks = 100 * time.Microsecond
	// a captured timer is later than another of the same length by less
	timerSlack = time.Millisecond
	overtime   = 10 * time.Minute     // how much longer than the capture a replay may go on
	lingering  = time.Second          // and how long once all is done
	jiffy      = 4 * time.Millisecond // of Linux with HZ 250
)
