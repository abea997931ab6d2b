package congestion

import (
	"math"
	"time"

	"tcpwheel/wheel"
)

// Constants of CUBIC (RFC 9438 §5 and RFC 9438 §4.6). β is a fraction, for exact windows.
const (
	cubicC       = 0.4 // segments per second³
	betaNum      = 7   // β_cubic = 0.7
	betaDen      = 10
	cubicAlpha   = 9.0 / 17 // RFC 9438 §4.3: 3·(1-β)/(1+β)
	cubicMaxGrow = 1.5      // target is at most 1.5·cwnd
)

// cubic is CUBIC (RFC 9438), by default with HyStart++. Windows are bytes and times are seconds.
type cubic struct {
	window
	hystart         hystartPlusPlus
	linux           *hystartLinux // nil without HyStartLinux
	wMax            float64       // W_max, 0 while undefined
	k               float64       // K
	wEst            float64       // W_est
	frac            float32       // fraction of a byte by which cwnd has grown
	cwndPrior       uint32        // cwnd_prior
	epoch           wheel.Time    // t_epoch, moved by the time that t excludes
	pausedAt        wheel.Time    // when the window ceased to limit the sender, if paused
	savedCubic      *cubicState   // nil before the first event
	staged          bool          // in a congestion avoidance stage
	paused          bool          // pausedAt is valid
	startFlat       bool          // the next stage starts with K = 0 at the current window
	resuming        bool          // the stage goes on after the slow start that follows an undo
	fastConvergence bool
	keepCurve       bool // Config.KeepCurve
	useHystart      bool // hystart is in use
}

// cubicState is what RFC 9438 §4.9.2 saves besides cwnd and ssthresh.
type cubicState struct {
	wMax, k, wEst float64
	epoch, at     wheel.Time // at is when t stopped
	linux         hystartLinux
	cwndPrior     uint32
	staged        bool
}

func newCubic(cfg Config) *cubic {
	c := &cubic{window: newWindow(cfg), fastConvergence: !cfg.NoFastConvergence, keepCurve: cfg.KeepCurve}
	switch cfg.SlowStart {
	case HyStartLinux:
		c.linux = &hystartLinux{paced: cfg.Paced, limit: cfg.HyStartLimit}
	case StandardSlowStart:
	default:
		c.hystart, c.useHystart = *newHystart(cfg), true
	}
	return c
}

func (c *cubic) OnAck(now wheel.Time, a Ack) (delayed bool) {
	acked := c.growthBytes(now, a)
	if c.InSlowStart() {
		c.staged = c.staged && c.resuming
		if c.linux != nil {
			return c.linuxSlowStart(now, a, acked)
		}
		if !c.useHystart || c.ssthresh != infinite {
			c.slowStart(acked, c.abc())
		} else if delayed = c.hystartAck(&c.hystart, a, acked); delayed {
			// RFC 9438 §4.10: after HyStart++ W_max is undefined, and cwnd_prior is cwnd.
			c.cwndPrior, c.startFlat = c.cwnd, true
		}
		return delayed
	}
	if acked == 0 {
		c.pause(now)
		return false
	}
	c.resume(now)
	c.resuming = false
	if !c.staged {
		c.startStage(now)
	}
	c.increase(now, float64(min(acked, c.cwnd)), a)
	return false
}

// linuxSlowStart processes an ACK in slow start with Linux's HyStart. As in tcp_slow_start, an ACK
// counts for all that it acknowledges, unless Config.HyStartLimit is set.
func (c *cubic) linuxSlowStart(now wheel.Time, a Ack, acked uint32) (delayed bool) {
	if c.linux.OnAck(now, a, c.cwnd, c.mss) {
		c.ssthresh, c.bytesAcked = max(c.cwnd, 2*c.mss), 0
		c.cwndPrior, c.startFlat = c.cwnd, true
		return true
	}
	limit := uint32(math.MaxUint16)
	if c.linux.limit > 0 {
		limit = min(c.linux.limit, limit)
	}
	c.slowStart(acked, limit)
	return false
}

// startStage starts a congestion avoidance stage.
func (c *cubic) startStage(now wheel.Time) {
	w := float64(c.cwnd)
	c.staged, c.epoch, c.wEst, c.frac = true, now, w, 0
	// RFC 9438 §4.8: after a timeout "K is set to 0, and W_max is set to the congestion window size
	// at the beginning of the current congestion avoidance stage." The same applies when cwnd is
	// above W_max already.
	if c.startFlat || c.wMax <= w {
		c.k, c.wMax, c.startFlat = 0, w, false
		return
	}
	c.k = cubeRoot((c.wMax - w) / float64(cubicC*float64(c.mss)))
}

// at returns the window at t seconds. RFC 9438 §4.2: W_cubic(t) = C*(t-K)^3 + W_max.
func (c *cubic) at(t float64) float64 {
	d := t - c.k
	return float64(float64(cubicC*float64(c.mss))*float64(float64(d*d)*d)) + c.wMax
}

func (c *cubic) increase(now wheel.Time, acked float64, a Ack) {
	cwnd := float64(c.cwnd)
	t := seconds(now.Sub(c.epoch))
	srtt := a.SRTT
	if srtt <= 0 {
		srtt = a.RTT
	}

	// RFC 9438 §4.3: W_est grows by α_cubic·segments_acked/cwnd, and as Reno does "Once W_est has
	// grown to reach the cwnd at the time of most recently setting ssthresh".
	alpha := cubicAlpha
	if c.wEst >= float64(c.cwndPrior) {
		alpha = 1
	}
	c.wEst += float64(float64(alpha*float64(c.mss))*acked) / cwnd
	c.wEst = min(c.wEst, float64(c.maxCwnd))

	if c.at(t) < c.wEst {
		// RFC 9438 §4.3: "CUBIC is in the Reno-friendly region and cwnd SHOULD be set to W_est at
		// each reception of a new ACK."
		if c.wEst > cwnd {
			c.cwnd, c.frac = c.clamp(min(c.wEst, cwnd+acked)), 0 // never faster than slow start
		}
		return
	}
	target := min(max(c.at(t+seconds(srtt)), cwnd), float64(cubicMaxGrow*cwnd))
	// DEVIATION RFC 9438 §4.4, MUST: the window grows per byte, not per ACK. So delayed ACKs lose
	// nothing and divided ones gain nothing, as with RFC 3465 for Reno.
	grown := float64(c.frac) + float64((target-cwnd)*acked)/cwnd
	whole := math.Floor(grown)
	c.frac = float32(grown - whole)
	c.cwnd = c.clamp(cwnd + whole)
}

// clamp converts a window to bytes within the limits.
func (c *cubic) clamp(w float64) uint32 {
	return uint32(min(max(w, float64(c.mss)), float64(c.maxCwnd)))
}

// saveAndSetWMax saves the stage and sets W_max before the window is reduced.
func (c *cubic) saveAndSetWMax(now wheel.Time) {
	if c.savedCubic == nil {
		c.savedCubic = new(cubicState)
	}
	*c.savedCubic = cubicState{wMax: c.wMax, k: c.k, wEst: c.wEst, epoch: c.epoch, at: now, cwndPrior: c.cwndPrior, staged: c.staged}
	if c.paused {
		c.savedCubic.at = c.pausedAt
	}
	if c.linux != nil {
		c.savedCubic.linux = *c.linux
	}
	w := float64(c.cwnd)
	c.cwndPrior = c.cwnd
	if c.fastConvergence && w < c.wMax {
		// RFC 9438 §4.7: with fast convergence W_max is cwnd*(1+β_cubic)/2 if cwnd < W_max.
		w = float64(w*(betaDen+betaNum)) / (2 * betaDen)
	}
	c.wMax = w
	c.staged, c.paused, c.startFlat, c.resuming, c.frac = false, false, false, false, 0
}

func (c *cubic) OnCongestion(now wheel.Time, flight uint32, cause Cause) {
	c.saveAndSetWMax(now)
	c.reduce(flight, betaNum, betaDen, false)
	c.cwnd = c.ssthresh
	if cause == ECN && !c.reduceCwnd {
		// RFC 9438 §4.6: "reduction on ECE, cwnd >= 1 SMSS", and "ssthresh >= 2 SMSS".
		c.cwnd = min(c.cwnd, max(uint32(uint64(min(flight, c.beforeEvent.cwnd))*betaNum/betaDen), c.mss))
	}
}

func (c *cubic) OnTimeout(now wheel.Time, flight uint32, first bool) {
	if first {
		c.saveAndSetWMax(now)
	}
	c.timeout(flight, betaNum, betaDen, first)
	if c.linux != nil {
		c.linux.OnTimeout()
	}
	c.staged, c.startFlat, c.resuming = false, true, false
}

func (c *cubic) OnRecovered(_ wheel.Time, flight uint32) { c.recovered(flight) }

func (c *cubic) Undo(_ wheel.Time, flight, acked uint32) bool {
	was, prior, event := c.cwnd, c.beforeEvent, c.savedCubic
	if prior.set && was >= c.cwndPrior {
		// RFC 9438 §4.9.2: if cwnd is above cwnd_prior already, the current values stay.
		c.beforeEvent.set, c.recovering = false, false
		return true
	}
	if event == nil || !c.undo(flight, acked) {
		return false
	}
	c.wMax, c.k, c.wEst, c.epoch = event.wMax, event.k, event.wEst, event.epoch
	c.cwndPrior, c.staged, c.startFlat = event.cwndPrior, event.staged, false
	if prior.timeout {
		// RFC 4015 applies: slow start leads back to ssthresh. There the stage goes on, or
		// a new one begins.
		if !c.keepCurve {
			c.staged = false
			return true
		}
		c.resuming, c.paused, c.pausedAt = true, true, event.at
		if c.linux != nil {
			*c.linux = event.linux
		}
		return true
	}
	// RFC 9438 §4.9.2: restore cwnd and ssthresh.
	c.cwnd, c.ssthresh = min(max(prior.cwnd, was), c.maxCwnd), max(prior.ssthresh, 2*c.mss)
	return true
}

// pause stops t. RFC 9438 §4.2: it "MUST NOT include periods during which cwnd has not been updated
// due to application-limited behavior".
func (c *cubic) pause(now wheel.Time) {
	if !c.paused {
		c.paused, c.pausedAt = true, now
	}
}

func (c *cubic) resume(now wheel.Time) {
	if c.paused {
		c.paused = false
		c.epoch = c.epoch.Add(max(now.Sub(max(c.pausedAt, c.epoch)), 0))
	}
}

func (c *cubic) OnApplicationLimited(now wheel.Time) {
	c.pause(now)
	if c.validation != nil {
		c.validation.OnIdle(now)
		c.endPreserving(now)
	}
}

func (c *cubic) OnIdle(now wheel.Time, idle, rto time.Duration) {
	c.pause(now.Add(-max(idle, 0)))
	if c.idle(now, idle, rto) {
		c.staged = false // slow start first, then another stage
	}
}

func (c *cubic) SetMSS(mss uint32) {
	ratio := c.setMSS(mss)
	if ratio != 1 {
		c.wMax, c.wEst = float64(c.wMax*ratio), float64(c.wEst*ratio)
		c.cwndPrior = uint32(float64(c.cwndPrior) * ratio)
	}
}

func (c *cubic) Name() string { return "cubic" }

func (c *cubic) State() State {
	s := c.state("cubic")
	s.Conservative = c.useHystart && s.SlowStart && c.hystart.Conservative()
	s.WMax, s.WEst = uint32(min(c.wMax, maxWindow)), uint32(min(c.wEst, maxWindow))
	s.K = time.Duration(c.k * float64(time.Second))
	return s
}

// seconds returns d in seconds, at least 0.
func seconds(d time.Duration) float64 { return float64(max(d, 0)) / float64(time.Second) }

// cubeRoot returns the cube root of x, 0 for x ≤ 0. It gives the same result on every machine,
// within about 1 ulp.
func cubeRoot(x float64) float64 {
	if x <= 0 {
		return 0
	}
	_, exp := math.Frexp(x)
	y := math.Ldexp(1, (exp+2)/3) // within a factor of 4
	for range 10 {                // Newton's method doubles the digits each time
		y = (float64(2*y) + x/float64(y*y)) / 3
	}
	return y
}
