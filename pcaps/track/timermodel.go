package track

import (
	"math"
	"slices"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// timerModel describes the observable timers of a TCP stack.
type timerModel struct {
	name    string
	policy  tcptimers.Policy
	slack   time.Duration // how late its timers may fire, in addition to the tick
	penalty float64       // log likelihood that it must gain over a common stack

	// maxRTT is the longest round trip that it is meant for; 0 for any.
	maxRTT time.Duration

	ttl    uint8         // initial TTL; 0 for any
	tsTick time.Duration // timestamp clock; 0 for any
}

// models are the stacks tried on each flow. Of equal ones the first wins: a probe due at the same
// time as the timeout looks like the timeout.
var models = func() []timerModel {
	with := func(name string, change func(p *tcptimers.Policy)) tcptimers.Policy {
		p := tcptimers.MustPolicy(name)
		change(&p)
		return p
	}
	const ms = time.Millisecond
	return []timerModel{
		{name: "linux", policy: with("linux", func(p *tcptimers.Policy) { p.TLP = false }), slack: 6 * ms, ttl: 64, tsTick: 4 * ms},
		{name: "linux", policy: tcptimers.MustPolicy("linux"), slack: 6 * ms, ttl: 64, tsTick: 4 * ms},

		// gVisor: MinRTO 200 ms on the whole timeout, MaxRTO 120 s, one timer, RACK and TLP.
		{name: "gvisor", policy: with("rfc6298", func(p *tcptimers.Policy) {
			p.Bounds = tcptimers.Bounds{Initial: time.Second, Min: 200 * ms, Max: 120 * time.Second}
			p.TLP, p.RACK = true, true
		}), slack: 2 * ms, penalty: 3, ttl: 64, tsTick: ms},

		// Windows: floor 300 ms, tick 15.6 ms, first timeout 1 s (once 3 s), RACK and TLP in later
		// versions.
		{name: "windows", policy: with("rfc6298", func(p *tcptimers.Policy) {
			p.Bounds = tcptimers.Bounds{Initial: time.Second, Min: 300 * ms, Max: 60 * time.Second}
			p.Tick, p.RTTTick = 15625*time.Microsecond, 15625*time.Microsecond
		}), slack: 2 * ms, penalty: 1, ttl: 128},
		{name: "rfc6298", policy: tcptimers.MustPolicy("rfc6298"), slack: 2 * ms, penalty: 2},
		{name: "rfc7765", policy: tcptimers.MustPolicy("rfc7765"), slack: 2 * ms, penalty: 3},
		{name: "bsd", policy: tcptimers.MustPolicy("bsd"), slack: 2 * ms, penalty: 2},

		// This project's own policies, which few hosts have.
		{name: "per-segment", policy: tcptimers.MustPolicy("per-segment"), slack: 2 * ms, penalty: 5, ttl: 64, tsTick: ms},
		{name: "datacenter", policy: profile("datacenter"), slack: ms, penalty: 5, maxRTT: 2 * ms, ttl: 64, tsTick: ms},
	}
}()

// profile is tcptimers.NewPolicy for constant names.
func profile(name string) tcptimers.Policy {
	p, err := tcptimers.NewPolicy(name)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return p
}

// maxModels bounds len(models).
const maxModels = 9

// ModelNames returns the possible values of Fit.Best.
func ModelNames() []string {
	var names []string
	for i := range models {
		if !slices.Contains(names, models[i].name) {
			names = append(names, models[i].name)
		}
	}
	return names
}

// ModelPolicy returns the timers of a model that ModelNames lists.
func ModelPolicy(name string) (tcptimers.Policy, bool) {
	policy, ok := tcptimers.Policy{}, false
	for i := range models {
		if models[i].name == name { // the last of equal names has all features
			policy, ok = models[i].policy, true
		}
	}
	return policy, ok
}

// kindsByModel is the kind of a retransmission under each model.
type kindsByModel [maxModels]Kind

func (k *kindsByModel) of(model int) Kind { return k[model] }

// disagree reports whether models give different kinds.
func (k *kindsByModel) disagree() bool {
	for i := range models {
		if k[i] != k[0] {
			return true
		}
	}
	return false
}

// Fit is the timer model that best explains when a sender's timers expired.
type Fit struct {
	Best     string      `json:"best,omitempty" help:"the stack whose timers best explain src's expiries, if any do"`
	RunnerUp string      `json:"runner_up,omitempty" help:"the one that explains them second best"`
	Gaps     int         `json:"gaps" help:"expiries"` // that were scored
	Margin   float64     `json:"margin,omitempty" help:"log likelihood of best less that of runner_up"`
	PerGap   float64     `json:"fit" help:"log density of a gap per ms"`
	SYNs     SYNTimeouts `json:"syns,omitempty" help:"linear or doubling, if retransmitted SYNs show it"`

	gaps *fittedGaps // nil without gaps
}

// fittedGaps is what the fit of a host needs of a flow.
type fittedGaps struct {
	scored   int // gaps less gaps that RACK may have ended
	votes    [maxModels]vote
	expiries []expiry
}

// vote is how well a model explains the gaps of a flow.
type vote struct {
	score     float64 // log likelihood
	explained int     // gaps
}

// timerFitting scores the models on a flow.
type timerFitting struct {
	est     [maxModels]tcptimers.Estimator
	exact   tcptimers.Estimator
	score   [maxModels]float64
	fits    [maxModels]int // gaps that each model explains
	log     []expiry
	gaps    int
	unclear int // gaps that RACK may have ended, which no model was scored on
	syns    synFitting
}

// fit returns the flow's fitting, with all RTTs so far. They are fed no sooner than needed: most
// flows never ask.
func (ro *RoundTrips) fit() *timerFitting {
	m := ro.fitting
	if m == nil {
		m = &timerFitting{exact: fineRTO()}
		ro.fitting = m
		for i := range models {
			m.score[i] = -models[i].penalty
			m.est[i] = models[i].policy.NewEstimator()
		}
	}
	for r := &ro.rtts; r.unfed > 0; r.unfed-- {
		m.feed(&r.ring[(r.next+len(r.ring)-r.unfed)%len(r.ring)])
	}
	return m
}

func (m *timerFitting) feed(s *sample) {
	m.exact.Sample(tcptimers.Sample{RTT: s.rtt(), Round: s.round(), Expected: s.expected()})
	for i := range models {
		p := &models[i].policy
		if p.OneSample && !s.round() {
			continue
		}
		n := s.expected()
		if p.OneSample {
			n = 1
		}
		m.est[i].Sample(tcptimers.Sample{RTT: p.Measure(s.sent, s.acked()), Round: s.round(), Expected: n})
	}
}

// add adds the log density of a gap under a model.
func (m *timerFitting) add(model int, logDensity float64) {
	m.score[model] += logDensity
	if logDensity > -noFit {
		m.fits[model]++
	}
}

// record keeps an expiry of the retransmission timer for the fit of a host.
func (m *timerFitting) record(e expiry) {
	if len(m.log) < maxExpiries {
		m.log = append(m.log, e)
	}
}

// idealRTO returns the timeout with an exact clock and no floor.
func (m *timerFitting) idealRTO() time.Duration {
	return m.exact.RTO() >> min(m.exact.Backoffs(), 62)
}

// handshake scores a SYN retransmission. active says whether it is of an active open.
func (m *timerFitting) handshake(f *Flow, r *Retransmission, active bool) {
	if r.PrevSent == r.Sent || f.RTT.Samples > 0 {
		return
	}
	m.gaps++
	m.record(expiry{wait: r.Sent.Sub(r.PrevSent), backoffs: m.syns.n, syn: true})
	linux := 0.0
	if active {
		linux = m.syns.add(&models[0], r)
	}
	for i := range models {
		if active && models[i].name == models[0].name {
			m.add(i, linux)
			continue
		}
		rto := m.est[i].RTO()
		m.add(i, models[i].logDensity(r.PrevSent.Add(rto), r.Sent, rto))
		m.est[i].Backoff()
	}
}

// expired scores the silence before a retransmission. It returns the kind: sure, unless that is
// Unknown. Then a single segment is in flight, which both a probe and a timeout retransmit, and the
// best model decides.
func (m *timerFitting) expired(f *Flow, r *Retransmission, s *outstanding, sure Kind) Kind {
	m.gaps++
	v := &f.view
	explained := false
	for i := range models {
		t := &models[i]
		rto := m.est[i].RTO()
		mayProbe := t.policy.TLP && !f.noSACK() && !v.afterTimeout && f.episode == nil && f.board.sacked == 0 && !v.tlpOut
		kind := RTO
		if sure == TLP || sure == Unknown && mayProbe {
			kind = TLP
		}
		if kind == TLP && !mayProbe {
			m.add(i, -noFit)
		} else {
			likely := t.score(f, s, r.Sent, rto, m.est[i], kind)
			m.add(i, likely)
			explained = explained || likely > -noFit
		}
		if sure != Unknown {
			kind = sure
		}
		r.byModel[i] = kind
		if kind == RTO {
			m.est[i].Backoff()
		}
	}
	if sure == RTO || sure == Unknown {
		e := expiry{
			wait: span(maxTime(maxTime(v.flightBegan, v.unaMoved), v.timerFired), r.Sent),
			srtt: m.exact.SRTT(), rttvar: m.exact.RTTVar(), backoffs: m.exact.Backoffs(),
		}
		e.probe = sure == Unknown && e.wait <= 2*e.srtt+longestProbe
		m.record(e)
		m.exact.Backoff()
	}
	if sure == Unknown && !explained {
		// No model explains it: a wait this long is a timeout.
		sure = RTO
		if span(s.sent, r.Sent) < leastTimeout {
			sure = Unknown
		}
		for i := range models {
			r.byModel[i] = sure
		}
		return sure
	}
	if sure != Unknown {
		return sure
	}
	return r.byModel[m.best()]
}

// timerOrRACK decides between the retransmission timer and RACK's reordering timer, whose log
// density is other. It returns RTO or Fast, as of now.
func (m *timerFitting) timerOrRACK(f *Flow, r *Retransmission, s *outstanding, other float64) Kind {
	m.gaps++
	if other > ambiguousFit {
		m.unclear++
	}
	explained := false
	for i := range models {
		t := &models[i]
		rto := m.est[i].RTO()
		likely := t.score(f, s, r.Sent, rto, m.est[i], RTO)
		r.byModel[i] = Fast
		explained = explained || likely > -noFit || other > -noFit
		if likely > other || other <= -noFit && r.Sent.Sub(s.earliest()) >= rto-rto/8 {
			r.byModel[i] = RTO
			m.est[i].Backoff()
		}
		if other <= ambiguousFit {
			m.add(i, max(likely, other))
		}
	}
	if v := &f.view; !explained && span(maxTime(v.lastACK, maxTime(v.newData, v.retransmitted)), r.Sent) >= leastTimeout {
		for i := range models { // no model and no ACK explains it: a silence this long is a timeout
			r.byModel[i] = RTO
		}
		return RTO
	}
	return r.byModel[m.best()]
}

// noSACK reports whether the handshake excludes SACK.
func (f *Flow) noSACK() bool {
	g := f.other()
	return f.HasSYN && !f.synCut && !f.SYN.SACKPermitted || g.HasSYN && !g.synCut && !g.SYN.SACKPermitted
}

// starts returns when the timer that retransmits s may have been started.
func (t *timerModel) starts(f *Flow, s *outstanding) (starts [3]wheel.Time, n int) {
	v := &f.view
	p := &t.policy
	restarted := maxTime(maxTime(v.flightBegan, v.unaMoved), v.timerFired)
	add := func(start wheel.Time) {
		starts[n] = start
		n++
	}
	switch p.Rexmit {
	case tcptimers.RexmitPerSegment:
		add(maxTime(s.sent, v.timerFired))
		if v.timerFired > s.sent {
			add(s.sent)
		}
	case tcptimers.RexmitRTORestart:
		if f.board.len() < tcptimers.RRThresh {
			add(s.sent)
		} else {
			add(restarted)
		}
	default:
		if p.Estimator == tcptimers.EstimatorBSD && s.transmissions > 1 {
			restarted = maxTime(restarted, s.sent) // as 4.4BSD's tcp_input does after three duplicate ACKs
		}
		add(restarted)
		if p.Estimator == tcptimers.EstimatorLinux {
			// Linux keeps the rest of the first segment's timeout once a probe is scheduled
			// (tcp_rearm_rto), or counts from the probe.
			add(s.sent)
			add(maxTime(restarted, v.newData))
		}
	}
	return starts, n
}

// score returns the log density of a retransmission of s at that time under the model.
func (t *timerModel) score(f *Flow, s *outstanding, at wheel.Time, rto time.Duration, est tcptimers.Estimator, kind Kind) float64 {
	if t.maxRTT > 0 && (f.RTT.Samples == 0 || f.RTT.Min > t.maxRTT) {
		return -noFit
	}
	best := math.Inf(-1)
	starts, n := t.starts(f, s)
	for _, start := range starts[:n] {
		due := start.Add(rto)
		if kind != TLP {
			best = max(best, t.logDensity(due, at, rto))
			continue
		}
		probes, k := t.probes(f, est)
		for _, probe := range probes[:k] {
			best = max(best, t.logDensity(min(probe, due), at, rto))
		}
	}
	return best
}

// probes returns when a probe may be due after the last data and ACKs (RFC 8985 §7.2).
func (t *timerModel) probes(f *Flow, est tcptimers.Estimator) (due [2]wheel.Time, n int) {
	v := &f.view
	srtt := est.SRTT()
	if srtt == 0 {
		due[0] = maxTime(v.newData, v.unaMoved).Add(firstProbe)
		return due, 1
	}
	early := t.policy.AckEvidence
	pto := 2 * srtt
	if f.board.len() == 1 || early && f.max-f.una <= f.segmentSize() {
		pto += t.policy.MaxAckDelay
	}
	due[0] = maxTime(v.newData, v.unaMoved).Add(pto)
	if !early {
		return due, 1
	}
	// The peer has shown that it does not delay ACKs (tcp.PTO).
	due[1] = min(maxTime(v.newData.Add(srtt+max(srtt, 4*est.RTTVar())), v.unaMoved.Add(max(srtt, promptPeer))), due[0])
	return due, 2
}

// logDensity returns the log density, per ms, of an expiry at that time of a timer due at due.
func (t *timerModel) logDensity(due, at wheel.Time, rto time.Duration) float64 {
	early := earlyTimer + rto/100
	late := t.policy.Tick + t.slack + rto/50 + time.Duration(t.policy.Jitter*float64(rto))
	if t.policy.Phase == tcptimers.PhaseCountdown {
		early, late = t.policy.Tick+early, t.slack+rto/50
	}
	return density(early+late, max(due.Sub(at)-early, at.Sub(due)-late, 0), early+late)
}

// best returns the index of the model that explains most. It is the first one if none explains
// anything, as a timeout then came without a probe.
func (m *timerFitting) best() int {
	best := 0
	if slices.Max(m.score[:len(models)]) < leastPerGap*float64(m.gaps) {
		return best
	}
	for i := range models {
		if m.score[i] > m.score[best] {
			best = i
		}
	}
	if best > 0 && models[best].name == models[best-1].name && m.score[best]-m.score[best-1] < probeMargin {
		best--
	}
	return best
}

// Timers returns the stack whose timers fit the flow best. The flow is complete.
func (r *RoundTrips) Timers() Fit {
	m := r.fitting
	if m == nil || m.gaps == 0 {
		return Fit{}
	}
	best, syns := m.best(), m.syns.result()
	second := -1
	for i := range models {
		if models[i].name != models[best].name && (second < 0 || m.score[i] > m.score[second]) {
			second = i
		}
	}
	fit := Fit{Gaps: m.gaps, PerGap: m.score[best] / float64(m.gaps), SYNs: syns, gaps: &fittedGaps{scored: m.gaps - m.unclear, expiries: m.log}}
	for i := range models {
		fit.gaps.votes[i] = vote{m.score[i] + models[i].penalty, m.fits[i]}
	}
	if m.score[best] >= leastPerGap*float64(m.gaps) {
		fit.Best, fit.RunnerUp, fit.Margin = models[best].name, models[second].name, m.score[best]-m.score[second]
	}
	return fit
}
