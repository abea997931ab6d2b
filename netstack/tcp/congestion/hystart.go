package congestion

import (
	"math"
	"time"
)

// Constants of HyStart++. RFC 9406 §4.3: "It is RECOMMENDED that a HyStart++ implementation use the
// following constants".
const (
	minRTTThresh     = 4 * time.Millisecond
	maxRTTThresh     = 16 * time.Millisecond
	minRTTDivisor    = 8
	nRTTSample       = 8
	cssGrowthDivisor = 4
	cssRounds        = 5
	hystartL         = 8
)

const noRTT = time.Duration(math.MaxInt64)

// hystartPlusPlus is HyStart++ (RFC 9406). When the RTT grows, slow start continues at a quarter of
// its speed for at most five rounds. It resumes full speed if the growth was noise. It applies to
// the initial slow start only.
type hystartPlusPlus struct {
	lastRoundMinRTT, currentRoundMinRTT time.Duration // lastRoundMinRTT, currentRoundMinRTT
	baselineMinRTT                      time.Duration // cssBaselineMinRtt
	windowEnd                           uint32        // windowEnd
	samples                             uint8         // rttSampleCount, up to nRTTSample
	rounds                              uint8         // rounds in Conservative Slow Start
	limit                               uint32        // L, segments; 0 is no limit
	started                             bool
	css                                 bool
}

// newHystart returns the state at the start of a connection.
func newHystart(cfg Config) *hystartPlusPlus {
	limit := cfg.HyStartLimit
	if limit == 0 && !cfg.Paced {
		// RFC 9406 §4.3: "L = infinity if paced, L = 8 if non-paced"
		limit = hystartL
	}
	return &hystartPlusPlus{lastRoundMinRTT: noRTT, currentRoundMinRTT: noRTT, baselineMinRTT: noRTT, limit: limit}
}

// Conservative reports whether it is in Conservative Slow Start (CSS).
func (h *hystartPlusPlus) Conservative() bool { return h.css }

// Growth returns by how many bytes an ACK of acked bytes grows the window.
func (h *hystartPlusPlus) Growth(acked, mss uint32) uint32 {
	// RFC 9406 §4.2: "cwnd = cwnd + min(N, L * SMSS)"
	if h.limit > 0 {
		acked = uint32(min(uint64(acked), uint64(h.limit)*uint64(mss)))
	}
	if h.css {
		// RFC 9406 §4.2: "cwnd = cwnd + (min(N, L * SMSS) / CSS_GROWTH_DIVISOR)"
		acked /= cssGrowthDivisor
	}
	return acked
}

// OnAck processes the RTT sample of an ACK, 0 for none. una is SND.UNA after it and nxt is SND.NXT.
// It reports whether slow start is over.
func (h *hystartPlusPlus) OnAck(rtt time.Duration, una, nxt uint32) (done bool) {
	if !h.started {
		h.started, h.windowEnd = true, nxt
	}
	if rtt > 0 {
		// RFC 9406 §4.2: "currentRoundMinRTT = min(currentRoundMinRTT, currRTT)"
		h.currentRoundMinRTT = min(h.currentRoundMinRTT, rtt)
		h.samples = min(h.samples+1, nRTTSample)
	}
	if h.samples >= nRTTSample {
		h.compareRounds()
	}
	if before(una, h.windowEnd) {
		return false
	}
	// The round ends. The next one ends with the ACK of what is sent by now.
	h.windowEnd, h.lastRoundMinRTT, h.currentRoundMinRTT, h.samples = nxt, h.currentRoundMinRTT, noRTT, 0
	if h.css {
		// RFC 9406 §4.2: "If the transition into CSS happens in the middle of a round, that partial
		// round counts towards the limit."
		h.rounds++
		return h.rounds >= cssRounds
	}
	return false
}

func (h *hystartPlusPlus) compareRounds() {
	switch {
	case h.css && h.currentRoundMinRTT < h.baselineMinRTT:
		// The RTT fell below the baseline: slow start resumes full speed.
		h.css, h.baselineMinRTT = false, noRTT
	case !h.css && h.lastRoundMinRTT != noRTT:
		// RFC 9406 §4.2: "RttThresh = max(MIN_RTT_THRESH, min(lastRoundMinRTT / MIN_RTT_DIVISOR,
		// MAX_RTT_THRESH))"
		if thresh := max(minRTTThresh, min(h.lastRoundMinRTT/minRTTDivisor, maxRTTThresh)); h.currentRoundMinRTT-h.lastRoundMinRTT >= thresh {
			h.css, h.baselineMinRTT, h.rounds = true, h.currentRoundMinRTT, 0
		}
	}
}
