package track

import (
	"time"

	"tcpwheel/wheel"
)

// senderView is what Src knows, from the ACKs that have reached it.
type senderView struct {
	heard         bool
	lastACK       wheel.Time // when the last ACK came
	unaMoved      wheel.Time // when SND.UNA last moved
	flightBegan   wheel.Time // when the flight last began, from nothing in flight
	newData       wheel.Time // when new data was last sent
	nothingMore   wheel.Time // when an empty packet last showed that SND.NXT is the last position seen
	moreWritten   bool       // the last new data had no PSH: the application had written more
	retransmitted wheel.Time // when data was last retransmitted
	timerFired    wheel.Time // when a timer last sent something
	lastKind      Kind       // kind of the last retransmission
	dupACKs       int        // duplicate ACKs since SND.UNA moved
	plainDup      wheel.Time // when the last duplicate ACK came that answers no skipped retransmission
	hasSACK       bool
	fack          int64 // end of the highest delivered segment (forward ACK)
	hasFack       bool
	rackSent      wheel.Time // when the latest delivered segment was sent (RACK.xmit_ts)
	rackRTT       time.Duration
	tlpOut        bool // no RTT was measured since the last probe (RFC 8985 §7.3)
	afterTimeout  bool // in loss recovery after a timeout, until recover is acknowledged
	recover       int64
	proved        wheel.Time // when an ACK first proved the first missing segment lost
	provedStart   int64      // of that one
	provedSent    wheel.Time // and its last transmission
	provedBy      proof
	blocks        [4]block // recent SACK blocks
}

type block struct{ start, end int64 }
