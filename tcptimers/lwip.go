package tcptimers

import "time"

// LWIPBounds are the limits of lwIP 2.2: LWIP_TCP_RTO_TIME, 3 s, before the first sample, and at
// most 0x7FFF slow ticks. There is no floor: Min is a tick. (ESP-IDF begins with 1.5 s.)
var LWIPBounds = Bounds{Initial: 3 * time.Second, Min: SlowTick, Max: 0x7FFF * SlowTick}

// lwipMaxShift is the last entry of tcp_backoff[] of lwIP's tcp.c, which has shifts.
const lwipMaxShift = 7

// lwip is the integer estimator of lwIP (tcp_receive in src/core/tcp_in.c), "taken directly from
// VJs original code in his paper". It counts slow ticks of TCP_SLOW_INTERVAL, 500 ms. At
// round-trip times below a tick sv falls from 6 to 3 and rests there, an RTO of 3 ticks: 1000 to
// 1500 ms from START to expiry, as in 4.4BSD.
//
// lwIP ends the back-off with each ACK of new data. Here it ends with the next sample (RFC 6298
// §5), which is the same ACK but where only retransmitted data are acknowledged.
type lwip struct {
	backoffs
	tick        time.Duration
	least, most int64 // the bounds, in ticks
	sv0         int64 // sv before the first sample
	sa, sv      int64 // 8 times the mean and 4 times the mean deviation, in ticks
}

// NewLWIP returns the estimator of lwIP over ticks of the given size; the original has SlowTick.
// Its RTO is a whole number of ticks and must be counted in them. Zero fields of b mean those of
// LWIPBounds. Bounds round up to a tick. It panics if tick is not above 0, or if b is invalid.
func NewLWIP(tick time.Duration, b Bounds) Estimator {
	if tick <= 0 {
		panic("BUG: tcptimers: tick " + tick.String() + ", want above 0")
	}
	b = b.or(LWIPBounds)
	e := &lwip{tick: tick, least: ticksUp(b.Min, tick), most: ticksUp(b.Max, tick), sv0: ticksUp(b.Initial, tick)}
	e.sv = e.sv0
	return e
}

func (e *lwip) New() Estimator {
	return &lwip{tick: e.tick, least: e.least, most: e.most, sv0: e.sv0, sv: e.sv0}
}

func (e *lwip) Copy() Estimator {
	c := *e
	return &c
}

// Sample takes Sample.RTT as a number of slow ticks crossed, times the tick.
func (e *lwip) Sample(s Sample) {
	e.backoffs = 0
	m := int64(clampRTT(s.RTT)/e.tick) - e.sa>>3
	e.sa += m
	if m < 0 {
		m = -m
	}
	e.sv += m - e.sv>>2
}

func (e *lwip) RTO() time.Duration {
	n := (e.sa>>3 + e.sv) << min(e.backoffs, lwipMaxShift)
	return time.Duration(min(max(n, e.least), e.most)) * e.tick
}

func (e *lwip) SRTT() time.Duration   { return e.tick * time.Duration(e.sa) >> 3 }
func (e *lwip) RTTVar() time.Duration { return e.tick * time.Duration(e.sv) >> 2 }

// SynTimedOut does nothing: lwIP has no such rule.
func (e *lwip) SynTimedOut() {}

// Spurious is an ordinary sample: lwIP does not detect spurious timeouts.
func (e *lwip) Spurious(rtt time.Duration) { e.Sample(Sample{RTT: rtt}) }

// lwipPolicy is lwIP 2.2 as its opt.h has it: tcp_slowtmr counts each connection's timer every
// 500 ms, and tcp_fasttmr sends delayed ACKs every 250 ms. Its constants are those of tcp_priv.h
// and opt.h: TCP_MAXRTX 12, TCP_SYNMAXRTX 6, tcp_persist_backoff of 3 to 120 ticks, 20 s for
// TCP_SYN_RCVD_TIMEOUT and TCP_FIN_WAIT_TIMEOUT, and 60 s for TCP_MSL.
//
// lwIP sends a SYN seven times, every 3 s. Here the last two timeouts double, as Policy counts them
// for a SYN-ACK too.
//
// DEVIATION RFC 9293 §3.8.3 (MUST-23): a SYN is given up after 32 s, in lwIP after 18.5 s.
func lwipPolicy() Policy {
	p := standard
	p.Rexmit = RexmitRestart
	p.Estimator = EstimatorLWIP
	p.Bounds = LWIPBounds
	p.Tick, p.RTTTick, p.Phase = SlowTick, SlowTick, PhaseCountdown
	p.OneSample = true
	const fast = SlowTick / 2 // TCP_FAST_INTERVAL
	p.DelAck = DelAckConfig{Every: 2, Heartbeat: fast, Max: fast}
	p.R2, p.MaxRexmits = 0, 12
	p.SynR2, p.SynLinearTimeouts = 20*time.Second, 4
	p.PersistMin, p.PersistMax = 1500*time.Millisecond, 60*time.Second
	p.MSL, p.FinWait2 = 60*time.Second, 20*time.Second
	return p
}
