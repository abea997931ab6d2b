package track

import (
	"time"

	"tcpwheel/wheel"
)

// senderView is what Src knows, from the ACKs that have reached it.
type senderView struct {
	heard         bool
	moreWritten   bool       // the last new data had no PSH: the application had written more
	hasSACK       bool       // Dst has sent SACK blocks
	hasFack       bool       // fack is set
	tlpOut        bool       // no RTT was measured since the last probe (RFC 8985 §7.3)
	afterTimeout  bool       // in loss recovery after a timeout, until recover is acknowledged
	lastKind      Kind       // kind of the last retransmission
	provedBy      proof      // of provedStart
	dupACKs       int        // duplicate ACKs since SND.UNA moved
	lastACK       wheel.Time // when the last ACK came
	unaMoved      wheel.Time // when SND.UNA last moved
	flightBegan   wheel.Time // when the flight last began, from nothing in flight
	newData       wheel.Time // when new data was last sent
	retransmitted wheel.Time // when data was last retransmitted
	fack          int64      // end of the highest delivered segment (forward ACK)
	rackSent      wheel.Time // when the latest delivered segment was sent (RACK.xmit_ts)
	rackRTT       time.Duration
	nothingMore   wheel.Time // when an empty packet last showed that SND.NXT is the last position seen

	timerFired  wheel.Time // when a timer last sent something
	plainDup    wheel.Time // when the last duplicate ACK came that answers no skipped retransmission
	recover     int64
	proved      wheel.Time // when an ACK first proved the first missing segment lost
	provedStart int64      // where that one begins
	provedSent  wheel.Time // its last transmission
	blocks      *[4]block  // recent SACK blocks; nil if there were none
}

type block struct{ start, end int64 }
