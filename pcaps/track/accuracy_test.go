package track

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/tcptimers"
)

// confusion counts by what is true and by what was found. The last column is what was not found, and the last row what is none.
type confusion [Kinds + 1][Kinds + 1]int

func (c *confusion) add(o *confusion) {
	for i := range c {
		for k := range c[i] {
			c[i][k] += o[i][k]
		}
	}
}

// right returns how many were found as what they are, and how many there are.
func (c *confusion) right() (right, all int) {
	for i := range c {
		for k, n := range c[i] {
			all += n
			if i == k {
				right += n
			}
		}
	}
	return right, all
}

func (c *confusion) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%12s", "true \\ found")
	for k := range Kinds {
		fmt.Fprintf(&b, "%8s", Kind(k))
	}
	fmt.Fprintf(&b, "%8s\n", "missed")
	for i := range c {
		name := "none"
		if i < Kinds {
			name = Kind(i).String()
		}
		fmt.Fprintf(&b, "%12s", name)
		for _, n := range c[i] {
			fmt.Fprintf(&b, "%8d", n)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// tally is how a class of scenarios came out at one point.
type tally struct {
	episodes, packets confusion

	verdicts verdictTable

	errors []time.Duration // of D, for episodes of the right kind
}

// verdictTable counts retransmissions that arrived: by whether they were spurious, and by what was said.
type verdictTable [2][verdicts]int

func (v *verdictTable) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%20s%8s%8s%8s\n", "spurious \\ called so", Undecided, Necessary, Spurious)
	for i, name := range [2]string{"no", "yes"} {
		fmt.Fprintf(&b, "%20s%8d%8d%8d\n", name, v[i][Undecided], v[i][Necessary], v[i][Spurious])
	}
	return b.String()
}

func (s *tally) add(o *tally) {
	s.errors = append(s.errors, o.errors...)
	s.episodes.add(&o.episodes)
	s.packets.add(&o.packets)
	for i := range s.verdicts {
		for k := range s.verdicts[i] {
			s.verdicts[i][k] += o.verdicts[i][k]
		}
	}
}

// compare holds what was found against the truth. What differs is told to note.
func (w *world) compare(f *Flow, point int, note func(string, ...any)) *tally {
	var s tally
	found := map[int]bool{}
	for _, e := range f.Episodes {
		for i := range e.Rexmits {
			r := &e.Rexmits[i]
			k, ok := w.which[point][r.Packet]
			if !ok || !w.sent[k].rexmit {
				s.packets[Kinds][r.Kind]++
				if i == 0 {
					s.episodes[Kinds][r.Kind]++
				}
				note("%s: packet %d at %v is no retransmission, but was called %v", w.scenario, r.Packet, r.At, r.Kind)
				continue
			}
			found[k] = true
			t := &w.sent[k]
			if t.inPlace && r.Kind == RTO {
				t.kind = RTO
			}
			s.packets[t.kind][r.Kind]++
			if i == 0 {
				s.episodes[t.kind][e.Kind]++
				if t.kind == e.Kind {
					s.errors = append(s.errors, w.errorOfD(k, point, e.D))
				}
				if t.kind != e.Kind {
					note("%s point %d: packet %d at %v is %v (go back: %v), and was called %v (go back: %v)", w.scenario, point, r.Packet,
						time.Duration(r.At)-time.Hour, t.kind, t.goBack, r.Kind, r.GoBack)
				}
			}
			if !t.arrived {
				continue // nothing can tell
			}
			truly := 0
			if t.spurious {
				truly = 1
			}
			s.verdicts[truly][r.Spurious]++
			if r.Spurious == Undecided || (r.Spurious == Spurious) != t.spurious {
				note("%s point %d: packet %d at %v, %v, is spurious: %v, and was called so: %v by %v", w.scenario, point, r.Packet,
					time.Duration(r.At)-time.Hour, t.kind, t.spurious, r.Spurious, r.Evidence)
			}
		}
	}
	for _, k := range w.which[point] {
		if t := &w.sent[k]; t.rexmit && !found[k] && w.visible(k, point) {
			s.packets[t.kind][Kinds]++
			if t.opens {
				s.episodes[t.kind][Kinds]++
				note("%s point %d: the %v at %v was not found", w.scenario, point, t.kind, time.Duration(t.at))
			}
		}
	}
	return &s
}

// errorOfD returns by how much D is off of a transmission, as time since one of those before that had the same octets. Elsewhere than at
// the sender, those lost on the way do not show, and the first is meant.
func (w *world) errorOfD(k, point int, d time.Duration) time.Duration {
	off := time.Duration(1<<63 - 1)
	for i := k - 1; i >= 0; i-- {
		if o := &w.sent[i]; o.seq.AtOrBefore(w.sent[k].seq) && o.end.After(w.sent[k].seq) {
			off = min(off, (d - w.sent[k].at.Sub(o.at)).Abs())
			if point == atSender {
				break
			}
		}
	}
	return off
}

// visible reports whether a capture at the point can show that a transmission is not the first: one before it was seen, or a gap where
// it belongs.
func (w *world) visible(k, point int) bool {
	t := &w.sent[k]
	for _, i := range w.which[point] {
		if o := &w.sent[i]; i < k && (o.end.After(t.seq) || o.seq == t.seq) {
			return true
		}
	}
	return false
}

// apps are what the senders do.
var apps = []struct {
	name string
	make func() host.App
}{
	{"bulk", func() host.App { return &host.Bulk{Octets: 1 << 20, Finish: true} }},
	{"bursts", func() host.App {
		return &host.OnOff{Burst: 20_000, Pause: 700 * time.Millisecond, Bursts: 40, Finish: true}
	}},
	{"small", func() host.App {
		return &host.OnOff{Burst: 900, Pause: 450 * time.Millisecond, Bursts: 60, Finish: true}
	}},
}

// accuracyScenarios are all policies, with options on and off, at several round-trip times, with and without reordering.
func accuracyScenarios(seeds int) (all []scenario) {
	seed := uint64(0)
	for _, policy := range tcptimers.PolicyNames() {
		for _, options := range [][2]bool{{true, true}, {true, false}, {false, true}, {false, false}} {
			for _, rtt := range []time.Duration{4 * time.Millisecond, 40 * time.Millisecond, 180 * time.Millisecond} {
				for _, app := range apps {
					for _, reorder := range []float64{0, 0.01, 0.05} {
						for range seeds {
							seed++
							loss := sim.Losses{sim.Bernoulli{P: 0.02}}
							switch seed % 4 {
							case 1:
								loss = sim.Losses{sim.Bernoulli{P: 0.08}}
							case 2:
								loss = sim.Losses{sim.GilbertElliott{P: 0.008, R: 0.3, Bad: 1}}
							}
							all = append(all, scenario{
								policy: policy, sack: options[0], stamps: options[1], rtt: rtt, rate: 20_000_000, loss: loss,
								upstream: seed%3 == 0, reorder: reorder, jitter: rtt / 100, app: app.make, seed: seed, span: 5 * time.Minute,
							})
						}
					}
				}
			}
		}
	}
	return all
}

var (
	accuracySeeds = flag.Int("seeds", 1, "how many seeds TestAccuracy tries each kind of scenario with")
	differences   = flag.Bool("differences", false, "TestAccuracy tells of each retransmission that was taken for something else")
)

// TestAccuracy prints what was found at three points of capture beside what the sender's engine did and what arrived, and holds it to the
// bounds that the analysis promises: at the sender 99 of 100 episodes are of the right kind, at the receiver with timestamps 97, and of
// 100 retransmissions that a receiver with DSACK calls duplicates, and of 100 that are, 99 are found to be spurious.
func TestAccuracy(t *testing.T) {
	note := func(format string, args ...any) {
		if *differences {
			t.Logf(format, args...)
		}
	}
	sums := map[string]*tally{}
	sum := func(name string, s *tally) {
		if sums[name] == nil {
			sums[name] = &tally{}
		}
		sums[name].add(s)
	}
	points := [3]string{"sender", "middle", "receiver"}
	for _, s := range accuracyScenarios(*accuracySeeds) {
		w := run(t, s)
		for point, name := range points {
			got := w.compare(w.follow(t, point), point, note)
			sum(name, got)
			options := "no timestamps"
			if s.stamps {
				options = "timestamps"
			}
			sum(name+", "+options, got)
			if s.sack {
				sum(name+", SACK", got)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		s := sums[name]
		right, all := s.episodes.right()
		slices.Sort(s.errors)
		t.Logf("%s: D is off by %v in the median, %v at the 95th percentile", name, s.errors[len(s.errors)/2], s.errors[len(s.errors)*95/100])
		t.Logf("%s: %d of %d episodes are of the right kind, %.2f%%\n%v\nretransmitted packets, by kind\n%v\n%v", name, right, all,
			percent(right, all), &s.episodes, &s.packets, &s.verdicts)
	}
	for _, gate := range []struct {
		name string
		want float64
	}{{"sender", 99}, {"receiver, timestamps", 97}} {
		right, all := sums[gate.name].episodes.right()
		if percent(right, all) < gate.want {
			t.Errorf("%s: %.2f%% of the episodes are of the right kind, want %v%%", gate.name, percent(right, all), gate.want)
		}
	}
	if off := sums["sender"].errors; off[len(off)*95/100] != 0 {
		t.Errorf("at the sender D is off by %v at the 95th percentile, want 0s", off[len(off)*95/100])
	}
	for _, point := range points {
		v := &sums[point+", SACK"].verdicts
		if got := percent(v[1][Spurious], v[0][Spurious]+v[1][Spurious]); got < 99 {
			t.Errorf("%s: %.2f%% of what is called spurious is, want 99%%", point, got)
		}
		if got := percent(v[1][Spurious], v[1][Undecided]+v[1][Necessary]+v[1][Spurious]); got < 99 {
			t.Errorf("%s: %.2f%% of what is spurious is called so, want 99%%", point, got)
		}
	}
}

func percent(part, all int) float64 { return 100 * float64(part) / float64(max(all, 1)) }
