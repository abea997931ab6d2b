package testnet

import (
	"cmp"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tcpwheel/wheel"
)

// Search is an option of EachLoss. The zero value of each field is its default.
//
//	testnet.EachLoss(t, path, download, testnet.Search{
//		Policies: []string{"linux", "bsd", "per-segment"}, // on which does download depend?
//		Runs:     200,
//	})
type Search struct {
	// Fault is what happens to a packet: it is lost ("loss", the default), comes later
	// ("delay=200ms") or twice ("duplicate"), all packets wait from then on ("pause=1s"), or the
	// server loses its connections and is away ("crash=1s"). With "seed" each run has a Seed of its
	// own, from 1, for the random losses of the path.
	Fault string

	// Runs is how many runs there are at most, of each policy. The default is 800.
	Runs int

	// Policies are timer policies of the hosts without one: the search is repeated with each. The
	// default is the hosts' own.
	Policies []string

	// Slow is how much longer than without a fault a run takes that the report lists. The default
	// is 300 ms.
	Slow time.Duration
}

func (s Search) apply(o *options) { o.search = &s }

// EachLoss runs f in a network without a loss, then once for each packet that this run has sent,
// with that packet lost; then with pairs of losses: a packet and its repair, a packet whose loss is
// slow and any later one, two packets of one window. It logs which losses make f fail, what each
// costs, and the timers that repaired it:
//
//	func TestDownload(t *testing.T) {
//		path := testnet.Path{Delay: 20 * time.Millisecond}
//		testnet.EachLoss(t, path, func(t *testing.T, net *testnet.Net) {
//			go http.Serve(net.Listen(":80"), handler)
//			client := net.HTTPClient()
//			client.Timeout = 4 * time.Second
//			r, err := client.Get("http://server/")
//			if err != nil {
//				t.Fatal(err)
//			}
//			r.Body.Close()
//		})
//	}
//
// Each run is a subtest in a bubble of its own, with a network of path and the options as New makes
// it. Its name has the packets that are lost, so that go test -run 'TestDownload/loss=3$' repeats
// one. The first three runs that fail leave captures. A Search changes what is tried.
//
// A run fails, too, if goroutines of f wait for ever, or if f has not returned after a day of the
// bubble's time. Packets are counted in the order in which hosts send them, all hosts together. The
// report says if packet n was not the same packet in each run, up to the fault.
func EachLoss(t *testing.T, path Path, f func(t *testing.T, net *Net), o ...Option) {
	t.Helper()
	if inBubble() {
		t.Fatal("testnet: EachLoss in a bubble: it makes a bubble for each run")
	}
	all := collect(path, o)
	cfg := Search{}
	if all.search != nil {
		cfg = *all.search
	}
	cfg.Runs, cfg.Slow = cmp.Or(cfg.Runs, 800), cmp.Or(cfg.Slow, 300*time.Millisecond)
	kind, err := parseFault(cfg.Fault)
	if err == nil && (cfg.Runs < 1 || cfg.Slow < 0) {
		err = fmt.Errorf("%d runs, slow from %v: want 1 and 0s or more", cfg.Runs, cfg.Slow)
	}
	if err != nil {
		t.Fatalf("testnet: Search: %v", err)
	}
	one := func(t *testing.T, policy string) *search {
		s := &search{Search: cfg, t: t, fault: kind, f: f, options: *all, known: map[string]*outcome{}}
		s.options.policy, s.options.search = policy, nil
		s.run()
		return s
	}
	if len(cfg.Policies) == 0 {
		one(t, "")
		return
	}
	var searches []*search
	for _, p := range cfg.Policies {
		t.Run("policy="+p, func(t *testing.T) { searches = append(searches, one(t, p)) })
	}
	if text := compare(searches); text != "" {
		t.Log(text)
	}
}

// search is a search under one policy.
type search struct {
	Search
	t       *testing.T
	fault   fault
	f       func(t *testing.T, net *Net)
	options options

	base    *outcome // the run without a fault
	packets []sent   // of base
	singles []*outcome
	pairs   []*outcome
	known   map[string]*outcome // all runs, by name
	failed  int
	differ  int  // runs whose packets differ before the fault
	untried bool // Runs is less than there was to try
}

// outcome is what is kept of a run.
type outcome struct {
	at     set
	name   string
	failed bool
	took   time.Duration // by f
	cost   time.Duration // took, more than base
	second string        // describes the second packet, of a run that failed or was slow
	then   string        // the first timer after the fault that repaired something
	sent   int           // packets
	repair int           // the number of the packet that repaired the first loss; 0 is none
	why    set           // of a seed: the smallest set of losses that fails
	alone  set           // of a failed set: what its packets are in the run without a fault
}

// dayLimit is how long f may take in a bubble.
const dayLimit = 24 * time.Hour

// captured is how many failed runs of a search leave captures.
const captured = 3

// run runs the search and logs its report.
func (s *search) run() {
	if s.base = s.try("none", nil, 1); s.base == nil { // -run names other runs
		s.runNamed()
		return
	}
	if s.base.failed {
		s.t.Log("testnet: the run without a fault fails")
		return
	}
	if s.fault.kind == seeds {
		s.runSeeds()
	} else {
		s.runSingles()
	}
	if s.fault.kind == losses {
		s.runPairs()
	}
	if text := s.report(); text != "" {
		s.t.Log(text)
	}
}

// runNamed runs the faults that go test -run names.
func (s *search) runNamed() {
	f := flag.Lookup("test.run")
	if f == nil {
		return
	}
	for _, m := range regexp.MustCompile(`(loss|`+string(s.fault.kind)+`)=(\d+(?:,\d+)*)`).FindAllStringSubmatch(f.Value.String(), -1) {
		var at set
		for n := range strings.SplitSeq(m[2], ",") {
			i, _ := strconv.Atoi(n)
			at = append(at, i)
		}
		s.tryAs(faultKind(m[1]), at)
	}
}

// runSingles lets the fault happen to each packet, or to as many as Runs allows.
func (s *search) runSingles() {
	n := min(len(s.packets), s.Runs-1)
	s.untried = n < len(s.packets)
	for i := range n {
		if r := s.tryAs(s.fault.kind, set{1 + i*len(s.packets)/n}); r != nil {
			s.singles = append(s.singles, r)
		}
	}
}

// runPairs loses two packets, neither of which makes f fail alone.
func (s *search) runPairs() {
	passes := map[int]bool{}
	var passed, slow []*outcome
	for _, r := range s.singles {
		if !r.failed {
			passes[r.at[0]] = true
			passed = append(passed, r)
			s.runPair(r, r.repair)
		}
		if !r.failed && r.cost > s.Slow {
			slow = append(slow, r)
		}
	}
	slices.SortStableFunc(slow, func(a, b *outcome) int { return cmp.Compare(b.cost, a.cost) })
	for _, r := range slow {
		for second := r.at[0] + 1; second <= r.sent; second++ {
			s.runPair(r, second)
		}
	}
	// The next packet of each one's window, then the one after it, and so on.
	for rank := 1; len(passed) > 0 && !s.untried; rank++ {
		passed = slices.DeleteFunc(passed, func(r *outcome) bool {
			second := s.inWindow(r.at[0], rank)
			if passes[second] {
				s.runPair(r, second)
			}
			return second == 0
		})
	}
}

// runPair loses the packet of r and a second one, in the numbers of r's run.
func (s *search) runPair(r *outcome, second int) {
	at := set{r.at[0], second}
	if second == 0 || s.known[runName(losses, at)] != nil {
		return
	}
	if len(s.known) >= s.Runs {
		s.untried = true
		return
	}
	if p := s.tryAs(losses, at); p != nil {
		s.pairs = append(s.pairs, p)
	}
}

// inWindow returns the rank-th packet of the window of packet n: of its flow, sent before the next
// packet of the peer that has seen n comes back. It returns 0 if there are fewer.
func (s *search) inWindow(n, rank int) int {
	p := &s.packets[n-1]
	end := len(s.packets)
	for i := p.heardAfter; i > 0 && i < len(s.packets); i++ {
		if o := &s.packets[i]; o.from == p.to && o.to == p.from && o.heardAfter > 0 {
			end = o.heardAfter
			break
		}
	}
	for i := n; i < end; i++ {
		if o := &s.packets[i]; o.from == p.from && o.to == p.to {
			if rank--; rank == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// runSeeds runs f with random losses, and looks for the smallest set of them that fails.
func (s *search) runSeeds() {
	for seed := 1; len(s.known) < s.Runs; seed++ {
		r := s.tryAs(seeds, set{seed})
		if r == nil {
			return
		}
		s.singles = append(s.singles, r)
		if r.failed {
			r.why = s.smallest(r.why)
		}
	}
}

// smallest returns a smallest set of losses, of those of a run that failed, with which f fails; nil
// if it does not even fail with all of them.
func (s *search) smallest(lost set) set {
	fails := func(at set) bool {
		r := s.tryAs(losses, at)
		return r != nil && r.failed
	}
	for _, n := range lost {
		if fails(set{n}) {
			return set{n}
		}
	}
	if len(lost) < 2 || !fails(lost) {
		return nil
	}
	// After an earlier loss the numbers are others.
	for _, n := range s.known[runName(losses, lost)].alone {
		if fails(set{n}) {
			return set{n}
		}
	}
	for i := 0; i < len(lost); {
		if less := slices.Delete(slices.Clone(lost), i, i+1); len(less) > 1 && fails(less) {
			lost = less
		} else {
			i++
		}
	}
	return lost
}

func runName(kind faultKind, at set) string { return string(kind) + "=" + at.String() }

// tryAs runs f with a fault of a kind, unless it has done so. It returns nil if go test runs other
// subtests.
func (s *search) tryAs(kind faultKind, at set) *outcome {
	name := runName(kind, at)
	if r := s.known[name]; r != nil {
		return r
	}
	seed := s.options.seed
	if kind == seeds {
		seed, at = uint64(at[0]), nil
	}
	r := s.try(name, at, seed)
	if r != nil && kind == seeds {
		r.at = set{int(seed)}
	}
	return r
}

// try runs f in a subtest.
func (s *search) try(name string, at set, seed uint64) (r *outcome) {
	record := &trial{fault: s.fault, at: at, base: s.packets}
	if s.fault.kind == seeds {
		record.exact = !strings.HasPrefix(name, "seed")
		if !record.exact {
			record.base = nil
		}
	}
	o := s.options
	o.seed, o.trial, o.silent = seed, record, s.failed >= captured
	ok := s.t.Run(name, func(t *testing.T) {
		r = &outcome{at: at, name: t.Name()}
		s.bubble(t, o, r)
	})
	if r == nil {
		return nil
	}
	r.failed = !ok || record.bad
	if r.failed {
		s.failed++
	}
	s.known[name] = r
	if s.base == nil {
		s.packets = record.packets
		return r
	}
	r.cost, r.sent = r.took-s.base.took, len(record.packets)
	if r.then = record.then(); r.then == "" && r.failed {
		r.then = record.waiting(wheel.Time(r.took))
	}
	if len(at) == 1 {
		r.repair = record.repair(at[0])
	}
	if len(at) == 2 && (r.failed || r.cost > s.Slow) {
		r.second = record.second()
	}
	if record.differs > 0 {
		s.differ++
	}
	if s.fault.kind == seeds && r.failed {
		slices.Sort(record.lost)
		r.why = slices.Compact(record.lost)
		r.alone = s.inBase(record)
	}
	return r
}

// inBase returns the packets of the run without a fault that have bytes of the lost packets of a
// trial. Their numbers and bounds may differ.
func (s *search) inBase(r *trial) (at set) {
	for _, n := range r.at {
		for i := range s.packets {
			if n <= len(r.packets) && s.packets[i].repairs(&r.packets[n-1]) {
				at = append(at, i+1)
			}
		}
	}
	return at
}

// bubble runs f in a bubble. A bubble that deadlocks fails t.
func (s *search) bubble(t *testing.T, o options, r *outcome) {
	var n *Net
	defer func() {
		e := recover()
		if e == nil {
			return
		}
		if text := fmt.Sprint(e); !strings.HasPrefix(text, "deadlock:") {
			panic(e)
		}
		t.Errorf("testnet: %v\n\n%s", e, newestBubble(allStacks()))
		if n == nil {
			return
		}
		watched.remove(n)
		if r.took == 0 {
			r.took = time.Duration(n.moved.Load())
		}
		if n.t = t; !n.closed && !n.silent {
			n.report(r.took)
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		n = newNet(t, &o)
		limit := time.AfterFunc(dayLimit, func() {
			r.took = dayLimit
			t.Errorf("testnet: the test has not returned after %v", dayLimit)
			n.Close()
		})
		defer func() {
			limit.Stop()
			n.mu.Lock()
			n.took = n.Now()
			r.took = n.took
			n.mu.Unlock()
		}()
		s.f(t, n)
	})
}

var bubbleNumber = regexp.MustCompile(`^goroutine \d+ .*synctest bubble (\d+)`)

// newestBubble returns the stacks of the goroutines in the bubble with the highest number.
func newestBubble(stacks string) string {
	newest, in := 0, map[int][]string{}
	for g := range strings.SplitSeq(strings.TrimSpace(stacks), "\n\n") {
		if m := bubbleNumber.FindStringSubmatch(g); m != nil {
			id, _ := strconv.Atoi(m[1])
			newest, in[id] = max(newest, id), append(in[id], g)
		}
	}
	return strings.Join(in[newest], "\n\n")
}

// first returns the number of the first packet that the fault happened to; 0 is none.
func (r *trial) first() int {
	if len(r.at) > 0 {
		return r.at[0]
	}
	if len(r.lost) > 0 {
		return r.lost[0]
	}
	return 0
}

// then returns the timer that sent the first packet after the fault that a timer sent.
func (r *trial) then() string {
	for i := r.first(); i > 0 && i < len(r.packets); i++ {
		if p := &r.packets[i]; p.timer != "" {
			return fmt.Sprintf("%s of %s after %v", p.timer, p.host, p.waited.Round(time.Millisecond))
		}
	}
	return ""
}

// second describes the second packet that the fault happened to.
func (r *trial) second() string {
	first, n := r.at[0], r.at[1]
	if n <= len(r.packets) && r.packets[n-1].repairs(&r.packets[first-1]) {
		return ", and its repair"
	}
	return "; " + describe(r.packets, n)
}

// repair returns the number of the packet that repaired packet n, or 0.
func (r *trial) repair(n int) int {
	if n > len(r.packets) {
		return 0
	}
	for i := n; i < len(r.packets); i++ {
		if r.packets[i].repairs(&r.packets[n-1]) {
			return i + 1
		}
	}
	return 0
}
