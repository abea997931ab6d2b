package replay_test

import (
	"context"
	"fmt"
	"math"
	"net/netip"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/replay"
	"tcpwheel/pcaps/samples"
	"tcpwheel/pcaps/tasks"
	"tcpwheel/pcaps/track"
	"tcpwheel/pcaps/truthtest"
)

// findings are what analysis and replay say of a capture.
type findings struct {
	episodes []found
	called   map[int64]call // what an undamaged packet is called
	lost     time.Duration
	segments int64
	verdicts map[string]replay.Effect // by policy
	panicked string
}

// found is an episode, with the undamaged packet of each retransmission; 0 is none.
type found struct {
	packets []int64
	*track.Episode
}

// call is what a retransmission is called.
type call struct {
	episode   *found
	kind      track.Kind
	needed    track.Spuriousness
	ambiguous bool
}

// damagePolicies are the policies whose verdicts are compared.
var damagePolicies = []string{"per-segment@1ms", "rfc6298", "bsd"}

// find analyses packets, and replays them if the study is not nil. A panic is a finding, too.
func find(all []*packet, study *replay.Study) (f *findings) {
	f = &findings{called: map[int64]call{}, verdicts: map[string]replay.Effect{}}
	defer func() {
		if r := recover(); r != nil {
			f.panicked = fmt.Sprintf("%v\n%s", r, debug.Stack())
		}
	}()
	var results []*replay.Result
	done := func(c *track.Conn, s *replay.CapturedConn, err error) {
		if p, ok := err.(*track.PanicError); ok {
			f.panicked = fmt.Sprintf("%v\n%s", p.Value, p.Stack)
		}
		lost, _ := c.TimeLost()
		f.lost += lost
		for i := range c.Flows {
			f.segments += c.Flows[i].DataPackets
			for _, e := range c.Flows[i].Episodes {
				x := found{Episode: e}
				for k := range e.Retransmissions {
					origin := int64(0)
					if p := all[e.Retransmissions[k].Packet-1]; len(p.from) > 0 {
						origin = p.from[0]
					}
					x.packets = append(x.packets, origin)
				}
				f.episodes = append(f.episodes, x)
			}
		}
		if s != nil {
			x, err := study.Run("damaged", c, s)
			if err != nil {
				f.panicked = err.Error()
				return
			}
			results = append(results, x)
		}
	}
	if study == nil {
		tr := track.New(track.Config{Done: func(c *track.Conn) { done(c, nil, nil) }})
		feed(all, tr.Add, tr.ICMP)
		tr.Close()
	} else {
		rec := replay.NewRecorder(replay.Config{Done: done})
		feed(all, rec.Add, rec.ICMP)
		rec.Close()
		for _, sum := range study.Summarize(results) {
			f.verdicts[sum.Policy] = sum.Effect
		}
	}
	for i := range f.episodes {
		x := &f.episodes[i]
		for k, n := range x.packets {
			if _, ok := f.called[n]; n > 0 && !ok {
				r := &x.Retransmissions[k]
				f.called[n] = call{x, r.Kind, r.Spurious, k == 0 && x.Ambiguous}
			}
		}
	}
	return f
}

// slack returns by how much an episode's times may move: by what the damage moves, and by the gap
// to the next packet left of a packet that is missing. ok is false if nothing bounds it, as what
// follows or precedes it is missing.
func (d *damage) slack(e *track.Episode, all []*packet, left []bool) (slack time.Duration, ok bool) {
	slack = 2*d.moves + time.Duration(d.drift*float64(max(e.TRec, e.Length)))
	for i, n := range []int64{e.FirstPacket, e.FirstPacket, e.DetectedPacket, e.RepairPacket, e.AckedPacket, e.EndedPacket} {
		if n < 1 || int(n) > len(all) || left[n] || all[n-1].icmp != nil {
			continue
		}
		p, step := all[n-1], 1
		if i == 0 {
			step = -1
		}
		k := int(n) + step
		for k >= 1 && k <= len(all) && !(left[k] && all[k-1].Src == p.Src && all[k-1].Dst == p.Dst) {
			k += step
		}
		if k < 1 || k > len(all) {
			return 0, false
		}
		slack += all[k-1].Time.Sub(p.Time).Abs()
	}
	return slack, true
}

// row counts what a damage changes in captures. From less, or from the same packets twice, nothing
// new can be known, so the relations hold for any capture.
type row struct {
	captures, segments, episodes, kept int

	invented            int // episodes that the undamaged captures lack
	kinds, needs, times int // kept ones with another kind, verdict on need, D or T_rec, both known
	grew                int // captures in which the time lost grew
	flipped, decided    int // verdicts of replay that turned, and refusals that became verdicts
	panics              int

	findings []string
}

// excuse is by how much a damage exceeds the bounds: in percent of the kept episodes (three), and
// of the captures (two). An excuse may only shrink.
type excuse struct{ kinds, needs, times, lost, verdicts float64 }

// excuses are by kind of damage. All others have none.
var excuses = map[string]excuse{
	// Fewer packets, so ACKs that released or proved something are missing.
	"drop":   {kinds: 5, needs: 1, times: 1, lost: 1, verdicts: 4},
	"burst":  {kinds: 3, needs: 1, times: 1, verdicts: 3},
	"noacks": {kinds: 8, needs: 3, times: 10, lost: 1},
	"oneway": {kinds: 18, times: 1},
	"begin":  {kinds: 4, needs: 11, times: 4, verdicts: 3},
	"end":    {verdicts: 4},
	"cut":    {kinds: 3, needs: 3, times: 5, lost: 9, verdicts: 4},

	// Without identifications and timestamps, duplicate ACKs are the same bytes as their copies.
	"twice": {kinds: 1},

	// A connection that the capture has in part may lack the packet that identifies its twin.
	"nat": {lost: 1},
	"tso": {needs: 1, times: 1, lost: 3},

	// What the clock leaves open is undecided, as far as the capture shows that it does: directions
	// 0.1 ms apart do not, and the first step ahead of a clock does not.
	"step":       {kinds: 1, needs: 1, times: 1, verdicts: 3},
	"resolution": {kinds: 1, needs: 1, times: 1, lost: 1, verdicts: 4},
	"apart":      {kinds: 2, needs: 7, times: 2, lost: 1, verdicts: 3},

	// Which transmission arrived is read from the echoes.
	"echoes":   {kinds: 5, needs: 2, times: 3, lost: 12},
	"nostamps": {kinds: 2, needs: 2, times: 6, lost: 7, verdicts: 4},
	"ticks":    {kinds: 2, needs: 1, times: 5, lost: 9, verdicts: 4},
	"ids":      {times: 1, verdicts: 3},
}

// mostInvented is the share of invented episodes that any damage may have: one in so many segments.
const mostInvented = 1000

// check reports what the damage moves beyond its bounds.
func (r *row) check(name string) (wrong []string) {
	kind, _, _ := strings.Cut(name, ":")
	e := excuses[kind]
	for _, b := range []struct {
		what    string
		n       int
		percent float64
		of      int
	}{
		{"episodes invented", r.invented, 100.0 / mostInvented, r.segments},
		{"kinds changed", r.kinds, e.kinds, r.kept},
		{"verdicts on need changed", r.needs, e.needs, r.kept},
		{"times changed", r.times, e.times, r.kept},
		{"captures with more time lost", r.grew, e.lost, r.captures},
		{"verdicts of replay flipped", r.flipped, e.verdicts / 10, r.captures},
		{"refusals of replay decided", r.decided, e.verdicts, r.captures},
		{"panics", r.panics, 0, 0},
	} {
		if most := int(math.Ceil(b.percent * float64(b.of) / 100)); b.n > most {
			wrong = append(wrong, fmt.Sprintf("%s: %d %s, want %d at most", name, b.n, b.what, most))
		}
	}
	return wrong
}

func (r *row) note(name, what string, format string, args ...any) {
	r.findings = append(r.findings, fmt.Sprintf("%s: %s: %s", name, what, fmt.Sprintf(format, args...)))
}

// compare damages a capture with these findings, and counts what changes.
func (r *row) compare(name string, d *damage, all []*packet, was *findings, study *replay.Study) {
	damaged := d.damage(all, 1)
	is := find(damaged, study)
	left := make([]bool, len(all)+1)
	for _, p := range damaged {
		for _, n := range p.from {
			left[n] = left[n] || !p.added
		}
	}
	r.captures++
	r.segments += int(was.segments)
	r.episodes += len(was.episodes)
	if is.panicked != "" && was.panicked == "" {
		r.panics++
		r.note(name, "panic", "%s", is.panicked)
	}
	allowed := was.lost/100 + 10*time.Millisecond
	for i := range is.episodes {
		allowed += r.episode(name, d, &is.episodes[i], all, left, was)
	}
	if is.lost > was.lost+allowed {
		r.grew++
		r.note(name, "lost", "%v, undamaged %v", is.lost, was.lost)
	}
	decided := func(v replay.Effect) bool { return v == replay.Saves || v == replay.Costs }
	for _, policy := range damagePolicies {
		switch before, after := was.verdicts[policy], is.verdicts[policy]; {
		case decided(before) && decided(after) && before != after:
			r.flipped++
			r.note(name, "verdict", "%s %v, undamaged it %v", policy, after, before)
		case !decided(before) && decided(after):
			r.decided++
			r.note(name, "verdict", "%s %v, undamaged: %v", policy, after, before)
		}
	}
}

// episode counts an episode of a damaged capture, and returns by how much the time lost may grow for
// it.
func (r *row) episode(name string, d *damage, x *found, all []*packet, left []bool, of *findings) (slack time.Duration) {
	i := slices.IndexFunc(x.packets, func(n int64) bool { return n > 0 && of.called[n].episode != nil })
	if i < 0 {
		if x.TimeLost > 0 || slices.ContainsFunc(x.packets, func(n int64) bool { return n > 0 }) {
			r.invented++
			r.note(name, "invented", "packet %d: %v, D %v, %v lost", x.DetectedPacket, x.Kind, x.D, x.TimeLost)
		} // else the damage added a retransmission, and no data waited for it
		return 0
	}
	before, now := of.called[x.packets[i]], &x.Retransmissions[i]
	r.kept++
	if before.kind != now.Kind && before.kind != track.Unknown && now.Kind != track.Unknown && !before.ambiguous && !(i == 0 && x.Ambiguous) {
		r.kinds++
		r.note(name, "kind", "packet %d: %v, undamaged %v", now.Packet, now.Kind, before.kind)
	}
	if before.needed != now.Spurious && before.needed != track.Undecided && now.Spurious != track.Undecided {
		r.needs++
		r.note(name, "need", "packet %d: spurious %v, undamaged %v", now.Packet, now.Spurious, before.needed)
	}
	e := before.episode
	slack, bounded := d.slack(e.Episode, all, left)
	if !bounded {
		return x.TRec + x.TimeLost
	}
	if i != 0 || e.packets[0] != x.packets[0] || x.Estimated || e.Estimated {
		return slack // another one begins it
	}
	moved := func(a, b time.Duration) bool { return (a - b).Abs() > max(2*time.Millisecond, b/10)+slack }
	was, took := e.D, e.TRec
	if n := e.FirstPacket; n > 0 {
		// A capture that does not show the sender's clock has D by its own.
		if seen := all[e.DetectedPacket-1].Time.Sub(all[n-1].Time); !moved(x.D, seen) {
			was, took = seen, took+seen-was
		}
	}
	if moved(x.D, was) || x.Repaired && e.Repaired && moved(x.TRec, took) {
		r.times++
		r.note(name, "times", "packet %d: D %v, T_rec %v, undamaged %v, %v", now.Packet, x.D, x.TRec, e.D, e.TRec)
	}
	return slack
}

// readAll returns the packets and ICMP errors of a file, up to the first that is malformed.
func readAll(r *capture.Reader) (all []*packet) {
	r.OnICMPError(func(e capture.ICMPError) {
		all = append(all, &packet{icmp: &e, Packet: capture.Packet{Number: e.Number, Time: e.Time}})
	})
	for f, p, err := r.NextFrame(); err == nil; f, p, err = r.NextFrame() {
		if p != nil {
			q := &packet{Packet: *p, frame: f}
			q.Payload, q.frame.Data = slices.Clone(p.Payload), slices.Clone(f.Data)
			all = append(all, q)
		}
	}
	for i, p := range all {
		p.from = []int64{int64(i + 1)}
	}
	return all
}

// simulatedCaptures makes n captures, each of the connections of a trial one after the other, at
// all points in turn.
func simulatedCaptures(n int, first uint64, use func(name string, all []*packet)) {
	plan := trials(1+n/45, first)
	for i := range n {
		t, point := &plan[i*len(plan)/n], truthtest.Point(i%truthtest.Points)
		var all []capture.Packet
		for n := range t.conns {
			s := t.conn(n)
			s.Sender, s.Start = netip.AddrFrom4([4]byte{10, 1, 0, byte(1 + n)}), time.Duration(n)*2*s.Span
			all = append(all, truthtest.Simulate(s).Packets[point]...)
		}
		use(fmt.Sprintf("%v, captured at the %v", t, point), packetsOf(all))
	}
}

// placeZero returns where a damaged connection's place 0 is in the sender's stream: at 0, unless its
// SYN was not captured.
func placeZero(x *replay.Result, damaged []*packet, f *truthtest.Flow) int64 {
	from := func(p *packet) bool { return p.icmp == nil && p.Src == f.Src }
	if len(f.Sent) == 0 || slices.ContainsFunc(damaged, func(p *packet) bool { return from(p) && p.Header.Flags.Has(tcp.SYN) }) {
		return 0
	}
	for i := range x.Captured.Losses {
		l := &x.Captured.Losses[i]
		if p := damaged[l.DetectedPacket-1]; from(p) {
			return int64(p.Header.Seq.Sub(f.Sent[0].Seq)) - int64(l.Start)
		}
	}
	return 0
}

// TestDamages damages captures in all ways: no episode appears that the undamaged capture has not,
// but one in 1,000 segments; an episode that stays has the same kind, need and times, or becomes
// undecided; the time lost does not grow; no verdict of replay turns, no refusal becomes a verdict,
// and nothing panics. Excuses bound the exceptions. With TCPWHEEL_LONG there are more captures of
// the simulator, the samples, and the public ones.
func TestDamages(t *testing.T) {
	skipCounting(t)
	rows, sum := make([]row, len(damages)), 0
	add := func(name string, all []*packet, replayed int) {
		var study *replay.Study
		if len(all) <= replayed {
			study = studyOf(damagePolicies...)
		}
		was := find(all, study)
		sum++
		if err := tasks.Each(t.Context(), len(damages), runtime.GOMAXPROCS(0), func(_ context.Context, i int) error {
			rows[i].compare(name, damages[i], all, was, study)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(origin string) {
		table := fmt.Sprintf("%s: %d captures, %d segments, %d episodes\n%-14s   kept invented kind need times lost flipped decided\n",
			origin, sum, rows[0].segments, rows[0].episodes, "damage")
		for i := range rows {
			r := &rows[i]
			table += fmt.Sprintf("%-14s %6d %8d %4d %4d %5d %4d %7d %7d\n",
				damages[i].name, r.kept, r.invented, r.kinds, r.needs, r.times, r.grew, r.flipped, r.decided)
			if wrong := r.check(damages[i].name); len(wrong) > 0 {
				t.Errorf("%s: %s\n%s", origin, strings.Join(wrong, "; "), strings.Join(r.findings, "\n"))
			}
		}
		t.Log(table)
		if rows[0].kept < 76 {
			t.Errorf("%s: %d captures, %d episodes, want some", origin, sum, rows[0].kept)
		}
		rows, sum = make([]row, len(damages)), 0
	}
	simulatedCaptures(6, 77_000_000, func(name string, all []*packet) { add(name, all, 1000) }) // with fewer, one decides a share
	check("simulator")
	if os.Getenv("TCPWHEEL_LONG") == "" {
		return
	}
	for _, s := range samples.List() {
		for _, name := range s.Captures {
			if strings.Contains(name, "middle") {
				continue
			}
			in, err := samples.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			r, err := capture.NewReader(in, name)
			if err != nil {
				t.Fatal(err)
			}
			add(name, readAll(r), 1500)
			r.Close()
			in.Close()
		}
	}
	check("samples")
	simulatedCaptures(9, 1_000_000, func(name string, all []*packet) { add(name, all, 1500) })
	check("simulator, long")
	eachPublic(t, publicSets, func(name string, r *capture.Reader) { add(name, readAll(r), 1500) })
	check("public")
}

// TestDamagesAreSeen compares a capture with one that has no episode, with itself, and where the
// analysis panics.
func TestDamagesAreSeen(t *testing.T) {
	same := &damage{name: "none", start: func(t *tape) func(*packet) { return t.pass }}
	simulatedCaptures(1, 77_000_000, func(name string, all []*packet) {
		var r row
		r.compare(name, same, all, &findings{}, nil)
		if wrong := r.check("none"); r.invented == 0 || r.grew != 1 || len(wrong) != 2 {
			t.Errorf("%+v, %q, want that episodes are invented, and more is lost", r, wrong)
		}
		r = row{}
		r.compare(name, same, all, find(all, nil), nil)
		if r.kept != r.episodes || r.kept == 0 || len(r.findings) > 0 || r.check("none") != nil {
			t.Errorf("undamaged: %+v", r)
		}
		broken := slices.Clone(all)
		broken[3] = nil
		if f := find(broken, nil); !strings.Contains(f.panicked, "nil pointer") {
			t.Errorf("%q, want a panic", f.panicked)
		}
	})
}

// TestFalseVerdictsOfDamaged judges replays of damaged captures by what other timers really do. With
// TCPWHEEL_LONG it runs each damage.
func TestFalseVerdictsOfDamaged(t *testing.T) {
	skipCounting(t)
	tried, first, every, each := damagesNamed(t, "begin:33%", "drop:1%", "cut:96", "resolution:4ms"), uint64(5_000_000), 4, 4
	if os.Getenv("TCPWHEEL_LONG") != "" {
		tried, first, every, each = damages, 1_500_000, 1, 4
	}
	plan := some(trials(1, first), every)
	for i := range plan {
		for k := range each {
			plan[i].damages = append(plan[i].damages, tried[(i*each+k)%len(tried)])
		}
	}
	o := judgeTrials(t, plan)
	wrong, known := o.count(t)
	t.Logf("%d trials, %d damages: %d of %d verdicts are false", len(plan), len(tried), wrong, known)
	if wrong*1000 > known || known == 0 {
		t.Errorf("%d of %d verdicts are false, want fewer than one in 1,000", wrong, known)
	}
	seen := map[string]bool{}
	for _, v := range o.verdicts {
		seen[v.damage] = true
	}
	if len(seen) != len(tried) || seen[""] {
		t.Errorf("%d damages, want all %d", len(seen), len(tried))
	}
}
