package tcp

import "tcpwheel/wheel"

// lossDetector says which segments in flight ACKs show to be lost. The handshake decides which of
// three, each in a file of its own:
//
//	rackDetector      time: a segment sent later has arrived (RFC 8985)
//	sackDetector      sequence: enough above a segment has been SACKed (RFC 6675)
//	dupAckDetector    count: three duplicate ACKs, without SACK (RFC 5681, RFC 6582)
//
// It marks segments lost in the flight, and begins fast recovery when there are any. A lossDetector
// has no state: it is in the flight and in recovery. The loss probe (RFC 8985 §7) is no detector;
// it draws an ACK for one.
type lossDetector interface {
	// onAck follows the segments of an ACK. leaving says that the ACK ended an episode.
	onAck(snd *sender, now wheel.Time, leaving bool, a *ackFacts, o *Output)
	// onTimer follows the expiry of the timer that the detector has started.
	onTimer(snd *sender, now wheel.Time, o *Output)
	// onTimeout marks what a timeout of the only retransmission timer shows. The first segment,
	// id, is lost in any case.
	onTimeout(snd *sender, now wheel.Time, id segmentID)
	// entered and failed follow the begin of fast recovery, and its end by a timeout.
	entered(snd *sender, o *Output)
	failed(o *Output)
	// partialEnds reports whether any ACK of new data ends fast recovery, as in 4.3BSD Reno.
	partialEnds() bool
	// sendLost retransmits as far as congestion control allows.
	sendLost(snd *sender, now wheel.Time, o *Output)
}

// lossDetectors are those of Conn.detector.
var lossDetectors = [...]lossDetector{&dupAckDetector{}, &sackDetector{}, &rackDetector{}, &renoDetector{}}

// lossDetectorOf returns which of lossDetectors serves a connection.
func lossDetectorOf(cfg *Config, sackOn bool) uint8 {
	switch {
	case sackOn && cfg.Policy.RACK:
		return 2
	case sackOn:
		return 1
	case cfg.Reno:
		return 3
	}
	return 0
}

func (snd *sender) losses() lossDetector { return lossDetectors[snd.detector] }

// bySequence is what the detectors without time have in common.
type bySequence struct{}

func (*bySequence) partialEnds() bool { return false }

func (*bySequence) onTimer(*sender, wheel.Time, *Output) {}

// onTimeout marks all that is not SACKed.
func (*bySequence) onTimeout(snd *sender, _ wheel.Time, _ segmentID) {
	q := &snd.fl.sent
	for id := q.nextUnsacked(q.Front()); id != 0; id = q.nextUnsacked(q.seg(id).next) {
		if !q.seg(id).state.needsRexmit() {
			snd.fl.markLost(id)
		}
	}
}
