package track

import (
	"math"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// This file has the numbers of the package. Each comment has the source, and after "½:" and "2×:"
// what changed when the number was halved and doubled: first in the simulator (540 connections,
// 6,147 episodes at the sender; kinds that are right, in percentage points), then in 59 public
// captures. "Nothing" means neither changed. Measured with TestKindsAndTimes and
// analyze --json.

// Paths and hosts.
const (
	// sameHost is the longest round trip to the capturing host itself: loopback and the local stack
	// take less than 0.1 ms, a LAN's router more than 0.3 ms.
	// ½: 2 of 43 sample episodes wrong. 2×: T_rec of 77 public episodes shifts by the lag.
	sameHost = 250 * time.Microsecond

	// neighbours is the longest sum of both round trips at which two hosts count as one place.
	// ½, 2×: the vantage of 1 public connection.
	neighbours = 100 * time.Microsecond

	// nearerBy is how many times nearer than the other a host must be to be the capture's.
	// ½: the vantage of 23 public connections. 2×: of 19.
	nearerBy = 8

	// oneBurst is the longest gap between packets that leave for one reason. A host sends a burst
	// within microseconds; a 20 Mbit/s link spreads two packets over 1.2 ms.
	// ½: -0.2 at the receiver. 2×: nothing.
	oneBurst = time.Millisecond

	// answerDelay is how soon after an ACK a host answers: softirq and scheduling on Linux take less.
	// Elsewhere an eighth of the lag is added, for jitter.
	// ½: +0.1; 4 public kinds. 2×: 4 public kinds.
	answerDelay = 2 * time.Millisecond

	// sureSamples is how many samples of the lag make it sure enough to call an ACK too soon. The
	// first ones of a capture that begins within a connection may be of delayed answers.
	sureSamples = 3

	// queueSkew is how much later than its ACK a packet may be captured, by the buffers of several
	// receive queues.
	// ½: 1 public episode more. 2×: 1 fewer.
	queueSkew = 5 * time.Millisecond

	// ackSkew is how much earlier than the lag says an ACK may arrive, with half the lag as a bound.
	// ½: -0.6 at the receiver. 2×: +0.6 there, but 2 points of recall in the middle.
	ackSkew = time.Millisecond

	// echoPatience is how long an ACK counts as undelivered because no later echo shows it.
	// ½: 1 public episode more. 2×: nothing.
	echoPatience = time.Second

	// ackPatience, with three lags, is how long any ACK can be on its way: Linux's least timeout.
	// ½: 3 public kinds. 2×: 1 public verdict.
	ackPatience = 200 * time.Millisecond
)

// Timers of senders and receivers.
const (
	// leastTimer is shorter than any stack's timer, except one tuned for a data centre (5 ms).
	// ½: nothing. 2×: 1 of 43 sample episodes, 1 public kind.
	leastTimer = 4 * time.Millisecond

	// leastTimeout is shorter than the retransmission timeout of nearly all stacks: 200 ms in Linux
	// (TCP_RTO_MIN) and gVisor, 300 ms in Windows.
	// ½: 12 public kinds. 2×: 11.
	leastTimeout = 190 * time.Millisecond

	// rackJiffies is how much longer than a quarter RTT Linux lets RACK's timer run: 2 jiffies
	// (tcp_rack_mark_lost), of 4 ms with the most common HZ.
	// ½: +0.1. 2×: -0.4.
	rackJiffies = 8 * time.Millisecond

	// rackWidth is the spread of RACK's timer around its value.
	// ½: -0.2. 2×: -0.3 with SACK.
	rackWidth = 8 * time.Millisecond

	// dupACKSlack is how late a duplicate ACK may answer a skipped retransmission, or half an RTT.
	// ½: 1.8 points less recall of spurious ones. 2×: 1.8 more; false ones were not seen.
	dupACKSlack = 4 * time.Millisecond

	// minAckDelay is the shortest ACK delay to report, maxAckDelay the longest. RFC 9293 §3.8.6.3
	// (MUST-40): "the delay MUST be less than 0.5 seconds"; 0.1 s is for the path. ½, 2×: only
	// DelayedACKs.
	minAckDelay = 5 * time.Millisecond
	maxAckDelay = 600 * time.Millisecond

	// usualMaxAckDelay is the longest delay of ACKs in wide use: the tick of Windows and 4.4BSD, and
	// TCP_DELACK_MAX in Linux. leastLone is how many lone segments show what Dst does.
	usualMaxAckDelay = 200 * time.Millisecond
	leastLone        = 4

	// fixedAckSpread is the spread of a fixed ACK delay. The heartbeat numbers describe delays spread
	// evenly over a 200 ms tick, as of 4.4BSD. ½, 2×: only DelayedACKs.Timer.
	fixedAckSpread = 5 * time.Millisecond
	heartbeatMost  = 230 * time.Millisecond
	heartbeatHigh  = 140 * time.Millisecond
	heartbeatLow   = 60 * time.Millisecond

	// earlyTimer is how early, in addition to 1 % of the timeout, a timer may seem to fire.
	// ½, 2×: nothing.
	earlyTimer = time.Millisecond

	// promptPeer is the time that this project's probes allow a peer that does not delay ACKs.
	// Source: tcp.PTO. ½, 2×: nothing.
	promptPeer = 5 * time.Millisecond

	// longestProbe is the longest tail loss probe less 2·SRTT: Linux allows for an ACK delayed by its
	// least timeout (tcp_schedule_loss_probe), with its timers late by a jiffy and more.
	longestProbe = 230 * time.Millisecond

	// firstTimeout is the timeout without an RTT (RFC 6298 §2 (2.1)).
	firstTimeout = time.Second

	// firstProbe is the probe timeout without an RTT (RFC 8985 §7.2). ½, 2×: nothing.
	firstProbe = time.Second
)

// Copies: two captures of one packet.
const (
	// copyWithin applies with an IP identification, which a busy host repeats after 65,536 packets.
	// ½: 1 public episode more. 2×: 5 fewer, which are retransmissions with a reused identification.
	copyWithin = 250 * time.Millisecond

	// copyAtOnce applies without one, at the same place; no retransmission is that fast.
	// ½: +0.1. 2×: nothing.
	copyAtOnce = 500 * time.Microsecond

	// copyElsewhere applies at different places; a router takes longer than a cable. ½, 2×: nothing.
	copyElsewhere = 5 * time.Millisecond
)

// Clocks.
const (
	// clockStep is the step back beyond which the capture's clock was set, not jittering.
	// ½, 2×: nothing.
	clockStep = time.Second

	// clockWindow is how long the fastest packet counts, up to twice: clocks drift by up to 0.1 ms/s.
	// ½: T_rec of 1 public episode. 2×: of 2.
	clockWindow = 5 * time.Second

	// A timestamp clock is known once it agrees with one of ticks within a tenth over clockLearns and
	// clockTicks, and again over twice as long. After clockGiveUp without that it starts again.
	// ½, 2×: up to 1 public kind and 2 T_rec.
	clockLearns = 50 * time.Millisecond
	clockTicks  = 16
	clockGiveUp = time.Minute

	// coarsestTick is the longest tick of timestamps that show how long a sender waited.
	coarsestTick = 10 * time.Millisecond

	// keepClosed is how long an ended connection waits for late packets: TIME-WAIT in
	// Linux. ½, 2×: nothing.
	keepClosed = time.Minute

	// yearsApart is longer than a capture lasts: its file was merged of several.
	yearsApart = 365 * 24 * time.Hour

	// settleAfter is how long after its end an episode is settled for Config.Settled: a DSACK comes
	// about a round trip later. Then 1 kind and 1 verdict of 1,105 in samples and public captures
	// still change. ½: nothing. 2×: no kind.
	settleAfter = time.Second

	// medianWithin is the time before a loss whose RTTs count as usual. ½, 2×: nothing.
	medianWithin = 10 * time.Second
)

// Counts and sizes.
const (
	// maxStaleEchoes packets in a row with an echo older than ACKs that must have arrived: the host
	// predates RFC 7323 §4.3 and echoes no bare ACK. ½, 2×: nothing.
	maxStaleEchoes = 32

	// believable is the largest step of a sequence number that one packet alone proves: more than a
	// window of 100 ms at 300 Mbit/s. A larger one needs a second packet that agrees.
	believable = 1 << 22

	// maxOverrun is how far beyond the captured window a sender may be believed without a second
	// packet: one window without scaling, for an ACK that was not captured.
	// ½, 2×: nothing.
	maxOverrun = 1 << 16

	// farPackets that agree restart a flow at a step that no gap in the capture explains: back, or by
	// maxSeqStep and more. RFC 7323 §2.3: windows are smaller than 2^30 bytes.
	farPackets = 4
	maxSeqStep = 1 << 30

	// strayDistance from the SYN makes an ACK one of an earlier connection. ½, 2×: nothing.
	strayDistance = 1 << 20

	// jumboPayload is more than any Ethernet frame carries. ½, 2×: nothing.
	jumboPayload = 9000

	// maxCopySets bounds the records of a flow's packets to 4096, or 96 KB: a storm of 800,000 packets
	// per second for 5 ms.
	maxCopySets = 1024

	// fewestMisplaced packets show that a file is not in order; one may have been captured late.
	fewestMisplaced = 2

	// maxHosts bounds the hosts of a capture: those of a scan or a flood lose no time.
	maxHosts = 1 << 16

	// maxExpiries and maxHostExpiries bound the timer expiries kept of a flow and of a host.
	maxExpiries     = 64
	maxHostExpiries = 4096

	// paceMemory is how many recent starts of sending show pacing. ½, 2×: nothing.
	paceMemory = 32
)

// Log likelihoods of the timer models.
const (
	// noFit is what a gap costs a model that does not explain it.
	// ½: 11 public kinds. 2×: -0.2 at the receiver with SACK; 5 public kinds.
	noFit = 14

	// leastPerGap is the log density of a gap below which no model explains anything.
	// ½: -0.5 at the receiver; 4 public kinds. 2×: +0.1 there; 3 public kinds.
	leastPerGap = -10

	// ambiguousFit is the log density of RACK's timer above which a gap is no evidence about the
	// retransmission timer: the model with the narrowest timers would win by chance.
	// ½: +0.3 in the middle, +0.1 at the receiver. 2×: -0.4 at the sender with SACK.
	ambiguousFit = -6

	// A host's timers are those of a stack that explains leastExplained of its gaps. Stacks within
	// equallyWell of the best one, a likelihood ratio of 20, are as good. unlikeStack is the
	// penalty of a stack with another initial TTL or timestamp clock, e^-8.
	leastExplained = 0.8
	equallyWell    = 3
	unlikeStack    = 8

	// leastNamed is the number of gaps that a name needs: one or two fit many stacks by chance.
	leastNamed = 3

	// leastFit is the number of values that a fitted parameter needs.
	leastFit = 4

	// probeMargin is what a model with probes must gain over the same one without. With one segment
	// in flight, probe and timeout are due almost together.
	// ½, 2×: nothing.
	probeMargin = 0.5
)

// leastAnswer returns the least time from a transmission to its answer: ¾ of the least RTT, as the
// path may have been slower whenever it was measured. Away from the sender it is half: on a
// half-duplex cable an ACK waits for the frame under way, and that of a repair finds it idle.
// ½: 0.9 points less recall of spurious ones. 2×: 76 points less precision at the sender.
func (r *RoundTrips) leastAnswer() time.Duration {
	if r.lag() > 0 {
		return r.RTT.Min / 2
	}
	return r.RTT.Min * 3 / 4
}

// answers reports whether an ACK that arrived at a time comes too soon to answer a packet sent
// before, and whether it surely does not. A coarse clock, or one that went back meanwhile, may show
// neither.
func (f *Flow) answers(sent, at wheel.Time) (tooSoon, inTime bool) {
	took, least := span(sent, at), f.leastAnswer()
	off := f.conn.unsure(sent, at)
	if off == 0 {
		return took < least, took >= least
	}
	if f.RTT.zeros > 0 || f.RTT.Samples == 0 {
		return false, took > 2*off
	}
	return took+off < least, took >= least+2*off
}

// quickestRTT returns 7/8 of the least round trip known.
func (f *Flow) quickestRTT() time.Duration {
	rtt := f.minRTT()
	return rtt - rtt/8
}

// answerTime returns how soon after an ACK a packet is an answer to it.
func (r *RoundTrips) answerTime() time.Duration { return answerDelay + r.lag()/8 }

// slowAnswer returns how soon after the ACK that proves a loss even a slow host retransmits: hosts
// of the 1990s took 2 ms. The timer expires by chance in that time in 1 of 16 recoveries at most.
func (r *RoundTrips) slowAnswer() time.Duration {
	return max(r.answerTime(), min(r.RTT.Min/16, 10*time.Millisecond))
}

// longestAnswer returns how long after an ACK or a packet an answer, or the next packet of a window,
// may leave: one and a half round trips. Where nothing shows how far Src is, few paths take longer
// than the first timeout of RFC 6298 §2 (2.1).
func (r *RoundTrips) longestAnswer(now wheel.Time) time.Duration {
	rtt := r.medianRTT(now)
	if !r.sourceRTT.known || rtt == 0 {
		return firstTimeout
	}
	return max(rtt+rtt/2, leastTimeout)
}

// leastSilence returns the least silence that a retransmission timer can have ended.
func (r *RoundTrips) leastSilence() time.Duration { return max(r.RTT.Min, 2*r.answerTime()) }

// fineRTO returns the estimator of RFC 6298 §2 with an exact clock and no floor: SRTT + 4·RTTVAR.
func fineRTO() tcptimers.Estimator {
	return tcptimers.NewRFC6298(tcptimers.StandardConfig{Bounds: tcptimers.Bounds{Min: 1}})
}

// density returns the log density of a uniform distribution of that width. Outside it by off, the
// density falls by 1/e each quarter of scale.
func density(width, off, scale time.Duration) float64 {
	return max(-math.Log(float64(width)/float64(time.Millisecond))-4*float64(off)/float64(scale), -noFit)
}
