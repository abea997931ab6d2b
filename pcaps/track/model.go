package track

import (
	"math"
	"slices"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// timerModel is a stack's timers, as far as they show.
type timerModel struct {
	name   string
	policy tcptimers.Policy
	slack  time.Duration // how late its timers may be beside the tick
	rare   float64       // how much it must explain more than the commonest, as logarithms

	// within is the round trip that it is for, at most; 0 for any.
	within time.Duration
}

// models are the stacks whose timers are tried on a flow. Of those that explain it equally well the first counts: a probe that takes the
// place of a timeout, at the same instant, looks like one.
var models = func() []timerModel {
	with := func(name string, change func(p *tcptimers.Policy)) tcptimers.Policy {
		p := tcptimers.MustPolicy(name)
		change(&p)
		return p
	}
	const ms = time.Millisecond
	return []timerModel{
		{"linux", with("linux", func(p *tcptimers.Policy) { p.TLP = false }), 6 * ms, 0, 0},
		{"linux", tcptimers.MustPolicy("linux"), 6 * ms, 0, 0},

		// gVisor: MinRTO 200 ms on the whole timeout, MaxRTO 120 s, one timer, RACK and TLP.
		{"gvisor", with("rfc6298", func(p *tcptimers.Policy) {
			p.Bounds = tcptimers.Bounds{Initial: time.Second, Min: 200 * ms, Max: 120 * time.Second}
			p.TLP, p.RACK = true, true
		}), 2 * ms, 3, 0},

		// Windows: a floor of 300 ms, ticks of 15.6 ms, a first timeout of 1 s (3 s before it was lowered), RACK and TLP in later ones.
		{"windows", with("rfc6298", func(p *tcptimers.Policy) {
			p.Bounds = tcptimers.Bounds{Initial: time.Second, Min: 300 * ms, Max: 60 * time.Second}
			p.Tick, p.RTTTick = 15625*time.Microsecond, 15625*time.Microsecond
		}), 2 * ms, 1, 0},
		{"rfc6298", tcptimers.MustPolicy("rfc6298"), 2 * ms, 2, 0},
		{"rfc7765", tcptimers.MustPolicy("rfc7765"), 2 * ms, 3, 0},
		{"bsd", tcptimers.MustPolicy("bsd"), 2 * ms, 2, 0},

		// This house's own, which few hosts have.
		{"per-segment", tcptimers.MustPolicy("per-segment"), 2 * ms, 5, 0},
		{"datacenter", profile("datacenter"), ms, 5, 2 * ms},
	}
}()

// profile is tcptimers.NewProfile for names that are constants.
func profile(name string) tcptimers.Policy {
	p, err := tcptimers.NewProfile(name)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return p
}

// maxModels bounds len(models).
const maxModels = 9

// ModelNames returns the names that Fit may have.
func ModelNames() []string {
	var names []string
	for i := range models {
		if !slices.Contains(names, models[i].name) {
			names = append(names, models[i].name)
		}
	}
	return names
}

// ModelPolicy returns the timers of the model of that name, which ModelNames has.
func ModelPolicy(name string) (tcptimers.Policy, bool) {
	policy, ok := tcptimers.Policy{}, false
	for i := range models {
		if models[i].name == name { // the last of that name is with all that it has
			policy, ok = models[i].policy, true
		}
	}
	return policy, ok
}

// kindsByModel is what each model calls a retransmission.
type kindsByModel [maxModels]Kind

func (k *kindsByModel) of(model int) Kind { return k[model] }

// differ reports whether models call it by different names.
func (k *kindsByModel) differ() bool {
	for i := range models {
		if k[i] != k[0] {
			return true
		}
	}
	return false
}

// Fit is which timers explain best when a sender's timers expired.
type Fit struct {
	Gaps     int    // silences that were ended by a timer, and that the models were tried on
	Best     string // "" if there was none, or no model explains them
	RunnerUp string

	// Margin is the natural logarithm of how much likelier the gaps are by the best model than by the runner-up, and PerGap that of the
	// density of a gap by the best, in 1/ms.
	Margin, PerGap float64

	SYNs SYNTimeouts
}

// fitting tries the models on a flow. Until a timer has expired it keeps nothing.
type fitting struct {
	begun bool
	est   [maxModels]tcptimers.Estimator
	exact tcptimers.Estimator
	score [maxModels]float64
	gaps  int
	syns  synFitting
}

// begin makes the estimators, and tells them of the round trips so far.
func (m *fitting) begin(f *Flow) {
	if m.begun {
		return
	}
	m.begun = true
	for i := range models {
		m.score[i] = -models[i].rare
		m.est[i] = models[i].policy.NewEstimator()
	}
	m.exact = fineRTO()
	r := &f.rtts
	for i := range r.ring {
		m.feed(r.ring[(r.next+i)%len(r.ring)])
	}
}

func (m *fitting) sample(s sample) {
	if m.begun {
		m.feed(s)
	}
}

func (m *fitting) feed(s sample) {
	m.exact.Sample(tcptimers.Sample{RTT: span(s.sent, s.acked), Round: s.round, Expected: s.n})
	for i := range models {
		p := &models[i].policy
		if p.OneSample && !s.round {
			continue
		}
		n := s.n
		if p.OneSample {
			n = 1
		}
		m.est[i].Sample(tcptimers.Sample{RTT: p.Measure(s.sent, s.acked), Round: s.round, Expected: n})
	}
}

// fine returns the timeout of an exact clock without a floor.
func (m *fitting) fine(f *Flow) time.Duration {
	m.begin(f)
	return m.exact.RTO() >> min(m.exact.Backoffs(), 62)
}

// handshake tries the models on a SYN that was sent again, of an active open or not.
func (m *fitting) handshake(f *Flow, r *Retransmission, active bool) {
	if r.PrevSent == r.Sent || f.RTT.Samples > 0 {
		return
	}
	m.begin(f)
	m.gaps++
	linux := 0.0
	if active {
		linux = m.syns.again(&models[0], r)
	}
	for i := range models {
		if active && models[i].name == models[0].name {
			m.score[i] += linux
			continue
		}
		rto := m.est[i].RTO()
		m.score[i] += models[i].likely(r.PrevSent.Add(rto), r.Sent, rto)
		m.est[i].Backoff()
	}
}

// expired tries the models on the silence before a retransmission, and returns its kind: sure, unless that is Unknown. Then the flight
// is a single segment, which a probe and a timeout both send again.
func (m *fitting) expired(f *Flow, r *Retransmission, s *segment, sure Kind) Kind {
	m.begin(f)
	m.gaps++
	v := &f.view
	explained := false
	for i := range models {
		t := &models[i]
		rto := m.est[i].RTO()
		mayProbe := t.policy.TLP && !f.noSACK() && !v.lossy && f.ep == nil && f.book.sacked == 0 && !v.probed
		kind := RTO
		if sure == TLP || sure == Unknown && mayProbe {
			kind = TLP
		}
		if kind == TLP && !mayProbe {
			m.score[i] -= unlikely
		} else {
			likely := t.score(f, s, r.Sent, rto, m.est[i], kind)
			m.score[i] += likely
			explained = explained || likely > -unlikely
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
		m.exact.Backoff()
	}
	if sure == Unknown && !explained {
		// No model knows it: what has waited for so long has timed out.
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

// plausible is a likelihood of the other explanation above which either tells nothing about the models: those with the narrowest timers would
// win by chance.
const plausible = -6

// either decides between the retransmission timer and one that is as likely as given, and returns the kind as of now: RTO or Fast.
func (m *fitting) either(f *Flow, r *Retransmission, s *segment, other float64) Kind {
	m.begin(f)
	m.gaps++
	for i := range models {
		t := &models[i]
		rto := m.est[i].RTO()
		likely := t.score(f, s, r.Sent, rto, m.est[i], RTO)
		r.byModel[i] = Fast
		if likely > other || other <= -unlikely && r.Sent.Sub(s.earliest()) >= rto-rto/8 {
			r.byModel[i] = RTO
			m.est[i].Backoff()
		}
		if other <= plausible {
			m.score[i] += max(likely, other)
		}
	}
	return r.byModel[m.best()]
}

// noSACK reports whether the handshake shows that there is no SACK.
func (f *Flow) noSACK() bool {
	g := f.other()
	return f.HasSYN && !f.SYN.SACKPermitted || g.HasSYN && !g.SYN.SACKPermitted
}

// starts returns when the retransmission timer may have been started that s is sent again by.
func (t *timerModel) starts(f *Flow, s *segment) (starts [3]wheel.Time, n int) {
	v := &f.view
	p := &t.policy
	restarted := maxTime(maxTime(v.began, v.advanced), v.timed)
	add := func(start wheel.Time) {
		starts[n] = start
		n++
	}
	switch p.Rexmit {
	case tcptimers.RexmitPerSegment:
		add(maxTime(s.sent, v.timed))
		if v.timed > s.sent {
			add(s.sent)
		}
	case tcptimers.RexmitRTORestart:
		if f.book.len() < tcptimers.RRThresh {
			add(s.sent)
		} else {
			add(restarted)
		}
	default:
		if p.Estimator == tcptimers.EstimatorBSD && s.txs > 1 {
			restarted = maxTime(restarted, s.sent) // as tcp_input does after three duplicate ACKs
		}
		add(restarted)
		if p.Estimator == tcptimers.EstimatorLinux {
			// What is left of the timeout of the first segment, once a probe was scheduled (tcp_rearm_rto), or since the probe was sent.
			add(s.sent)
			add(maxTime(restarted, v.sentNew))
		}
	}
	return starts, n
}

// score returns how likely the model would have retransmitted s at that instant.
func (t *timerModel) score(f *Flow, s *segment, at wheel.Time, rto time.Duration, est tcptimers.Estimator, kind Kind) float64 {
	if t.within > 0 && (f.RTT.Samples == 0 || f.RTT.Min > t.within) {
		return -unlikely
	}
	best := math.Inf(-1)
	starts, n := t.starts(f, s)
	for _, start := range starts[:n] {
		due := start.Add(rto)
		if kind != TLP {
			best = max(best, t.likely(due, at, rto))
			continue
		}
		probes, k := t.probes(f, est)
		for _, probe := range probes[:k] {
			best = max(best, t.likely(min(probe, due), at, rto))
		}
	}
	return best
}

// probes returns when a probe may be due, by the last octets and ACKs: RFC 8985 §7.2.
func (t *timerModel) probes(f *Flow, est tcptimers.Estimator) (due [2]wheel.Time, n int) {
	v := &f.view
	srtt := est.SRTT()
	if srtt == 0 {
		due[0] = maxTime(v.sentNew, v.advanced).Add(time.Second)
		return due, 1
	}
	early := t.policy.AckEvidence
	pto := 2 * srtt
	if f.book.len() == 1 || early && f.max-f.una <= f.segmentSize() {
		pto += t.policy.MaxAckDelay
	}
	due[0] = maxTime(v.sentNew, v.advanced).Add(pto)
	if !early {
		return due, 1
	}
	// Where ACKs of the flight have shown that the peer does not put them off (tcp.PTO).
	due[1] = min(maxTime(v.sentNew.Add(srtt+max(srtt, 4*est.RTTVar())), v.advanced.Add(max(srtt, promptPeer))), due[0])
	return due, 2
}

// promptPeer is what this house's sender lets a peer's host take for itself.
const promptPeer = 5 * time.Millisecond

// unexplained is a PerGap below which no model explains anything.
const unexplained = -10

// unlikely is what a gap counts for that a model does not explain.
const unlikely = 14

// likely returns the logarithm of the density, in 1/ms, of an expiry at that instant of a timer that was due then.
func (t *timerModel) likely(due, at wheel.Time, rto time.Duration) float64 {
	early := time.Millisecond + rto/100
	late := t.policy.Tick + t.slack + rto/50 + time.Duration(t.policy.Jitter*float64(rto))
	if t.policy.Phase == tcptimers.PhaseCountdown {
		early, late = t.policy.Tick+early, t.slack+rto/50
	}
	return density(early+late, max(due.Sub(at)-early, at.Sub(due)-late, 0), early+late)
}

// density is the logarithm of the density of what is spread evenly over a width, and is off by so much: within a quarter of scale it falls
// by 1/e.
func density(width, off, scale time.Duration) float64 {
	return max(-math.Log(float64(width)/float64(time.Millisecond))-4*float64(off)/float64(scale), -unlikely)
}

// clearly is by how much a model with probes must explain more than the same one without: where a single segment is in flight, the two
// are due at nearly the same instant.
const clearly = 0.5

// best returns the model that explains most, and the first if none explains anything: what has timed out then did not
// probe.
func (m *fitting) best() int {
	best := 0
	if slices.Max(m.score[:len(models)]) < unexplained*float64(m.gaps) {
		return best
	}
	for i := range models {
		if m.score[i] > m.score[best] {
			best = i
		}
	}
	if best > 0 && models[best].name == models[best-1].name && m.score[best]-m.score[best-1] < clearly {
		best--
	}
	return best
}

// result returns what came of it.
func (m *fitting) result() Fit {
	if m.gaps == 0 {
		return Fit{}
	}
	best, syns := m.best(), m.syns.told()
	second := -1
	for i := range models {
		if models[i].name != models[best].name && (second < 0 || m.score[i] > m.score[second]) {
			second = i
		}
	}
	if m.score[best] < unexplained*float64(m.gaps) {
		return Fit{Gaps: m.gaps, PerGap: m.score[best] / float64(m.gaps), SYNs: syns}
	}
	return Fit{
		Gaps: m.gaps, Best: models[best].name, RunnerUp: models[second].name,
		Margin: m.score[best] - m.score[second], PerGap: m.score[best] / float64(m.gaps), SYNs: syns,
	}
}
