package truth

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/damage"
	"tcpwheel/pcaps/replay"
	"tcpwheel/pcaps/tasks"
	"tcpwheel/pcaps/track"
)

// DamageTable compares what analyze and replay say of captures with what they say of the same
// captures damaged. These relations hold for any capture, so no truth is needed: from less, or from
// the same packets twice, nothing new can be known.
type DamageTable struct {
	Damages []*damage.Damage
	Seed    uint64

	// Replayed bounds the packets of captures that are replayed too; 0 is none.
	Replayed int

	Rows  []DamageRow // by damage
	Files int         // captures
	Again int         // the ones that were replayed
}

// DamageRow is the captures under one damage.
type DamageRow struct {
	Damage   string `json:"damage" help:"as of damage --list"`
	Captures int    `json:"captures"`
	Unfit    int64  `json:"packets_not_rewritten" help:"that the damage could not be applied to"`

	Segments int64 `json:"segments" help:"with data, in the undamaged captures"`
	Before   int   `json:"episodes" help:"of the undamaged captures"`
	After    int   `json:"damaged_episodes" head:"damaged" help:"of the damaged captures"`
	Kept     int   `json:"kept" help:"episodes in both"`

	Invented int `json:"invented" help:"episodes that the undamaged capture lacks"`
	Kinds    int `json:"changed_kind" head:"other kind" help:"kept ones with another kind, both decided"`
	Needs    int `json:"changed_need" head:"other need" help:"kept ones with another verdict on whether it was needed, both decided"`
	Times    int `json:"changed_times" head:"other times" help:"kept ones with D or T_rec beyond what the damage can move"`

	Lost      time.Duration `json:"lost_ns"`
	LostAfter time.Duration `json:"damaged_lost_ns"`
	Grew      int           `json:"captures_lost_grew" head:"lost grew" help:"captures in which the time lost grew"`
	GrewBy    time.Duration `json:"lost_grew_ns" help:"in these"`

	Verdicts int `json:"verdicts" help:"that save or cost, before or after"`
	Flipped  int `json:"verdicts_flipped" head:"flipped" help:"verdicts that turned"`
	Decided  int `json:"refusals_decided" head:"decided" help:"refusals that became verdicts"`
	Panics   int `json:"panics"`

	Findings []DamageFinding `json:"findings"`
}

// DamageFinding is where a damage changed what it must not.
type DamageFinding struct {
	File   string `json:"file"`
	Damage string `json:"damage"`
	// What is invented, kind, need, times, lost, flipped, decided or panic.
	What    string  `json:"what"`
	Packet  int64   `json:"packet,omitempty"`         // of the undamaged capture
	Damaged int64   `json:"damaged_packet,omitempty"` // of the damaged one
	Says    string  `json:"says"`
	Weight  float64 `json:"-"`
}

// mostFindings bounds the findings kept of a row and a capture, of each sort.
const mostFindings = 20

// Add compares a capture, which is all in memory, under all damages.
func (t *DamageTable) Add(ctx context.Context, name string, all damage.Packets) error {
	if t.Rows == nil {
		t.Rows = make([]DamageRow, len(t.Damages))
		for i, d := range t.Damages {
			t.Rows[i] = DamageRow{Damage: d.String(), Findings: []DamageFinding{}}
		}
	}
	u := &undamaged{name: name, all: all}
	t.Files++
	if len(all) <= t.Replayed {
		u.study = studyOf(damagePolicies...)
		t.Again++
	}
	u.findings = find(name, all, u.study)
	rows := make([]DamageRow, len(t.Damages))
	err := tasks.Each(ctx, len(t.Damages), runtime.GOMAXPROCS(0), func(_ context.Context, i int) (err error) {
		rows[i], err = u.under(t.Damages[i], t.Seed)
		return err
	})
	for i := range rows {
		if err == nil {
			t.Rows[i].add(&rows[i])
		}
	}
	return err
}

// AddFile is Add for a capture file. A file that is cut short counts up to there.
func (t *DamageTable) AddFile(ctx context.Context, in io.Reader, name string) error {
	r, err := capture.NewReader(in, name)
	if err != nil {
		return err
	}
	defer r.Close()
	all, broken := damage.Load(r)
	if err := t.Add(ctx, name, all); err != nil {
		return err
	}
	return broken
}

// under compares the capture with itself under a damage.
func (u *undamaged) under(d *damage.Damage, seed uint64) (row DamageRow, err error) {
	damaged, counts, err := runDamage(d, u.all, seed)
	if err != nil {
		return row, fmt.Errorf("%s: %s: %w", u.name, d, err)
	}
	f := find(u.name, damaged, u.study)
	row = DamageRow{
		Damage: d.String(), Captures: 1, Unfit: counts.Unfit, Segments: u.segments, Before: len(u.episodes), After: len(f.episodes),
		Lost: u.lost, LostAfter: f.lost,
	}
	note := func(what string, x *found, weight float64, format string, args ...any) {
		n := DamageFinding{File: u.name, Damage: d.String(), What: what, Says: fmt.Sprintf(format, args...), Weight: weight}
		if x != nil {
			n.Damaged = x.seen
			if len(x.packets) > 0 {
				n.Packet = x.packets[0]
			}
		}
		row.Findings = append(row.Findings, n)
	}
	if f.panicked != "" && u.panicked == "" {
		row.Panics++
		note("panic", nil, 1e9, "%s", f.panicked)
	}
	left := newSurvivors(u.all, damaged)
	allowed := u.lost/100 + 10*time.Millisecond
	for i := range f.episodes {
		x := &f.episodes[i]
		row.compare(u.findings, x, d, left, &allowed, note)
	}
	if grown := f.lost - u.lost - allowed; grown > 0 {
		row.Grew++
		row.GrewBy += f.lost - u.lost
		note("lost", nil, grown.Seconds(), "%s lost, undamaged %s", track.SpanText(f.lost), track.SpanText(u.lost))
	}
	row.judge(u, f, note)
	return row, nil
}

// compare counts an episode of the damaged capture.
func (row *DamageRow) compare(was *findings, x *found, d *damage.Damage, left survivors, allowed *time.Duration,
	note func(what string, x *found, weight float64, format string, args ...any)) {
	i := slices.IndexFunc(x.packets, func(n int64) bool { return n > 0 && was.packets[n].episode != nil })
	if i < 0 {
		if x.TimeLost == 0 && !slices.ContainsFunc(x.packets, func(n int64) bool { return n > 0 }) {
			return // the damage added a retransmission, and no data waited for it
		}
		row.Invented++
		note("invented", x, x.TimeLost.Seconds(), "%v, needed: %v, D %s, %s lost", x.Kind, needText(x.Spurious), track.SpanText(x.D), track.SpanText(x.TimeLost))
		return
	}
	before := was.packets[x.packets[i]]
	row.Kept++
	r := &x.Retransmissions[i]
	if before.kind != r.Kind && before.kind != track.Unknown && r.Kind != track.Unknown && !before.ambiguous && !(i == 0 && x.Ambiguous) {
		row.Kinds++
		note("kind", x, 0, "%v, undamaged %v", r.Kind, before.kind)
	}
	if before.needed != r.Spurious && before.needed != track.Undecided && r.Spurious != track.Undecided {
		row.Needs++
		note("need", x, x.TimeLost.Seconds(), "needed: %s, undamaged %s", needText(r.Spurious), needText(before.needed))
	}
	e := before.episode
	slack, bounded := left.slack(d, e.Episode)
	if !bounded {
		slack = x.TRec + x.TimeLost
	}
	*allowed += slack
	if i != 0 || len(e.packets) == 0 || e.packets[0] != x.packets[0] || !bounded {
		return // another one begins it
	}
	switch {
	case !x.Estimated && !e.Estimated && !within(x.D, e.D, slack):
		row.Times++
		note("times", x, (x.D - e.D).Abs().Seconds(), "D %s, undamaged %s", track.SpanText(x.D), track.SpanText(e.D))
	case x.Repaired && e.Repaired && !x.Estimated && !e.Estimated && !within(x.TRec, e.TRec, slack):
		row.Times++
		note("times", x, (x.TRec - e.TRec).Abs().Seconds(), "T_rec %s, undamaged %s", track.SpanText(x.TRec), track.SpanText(e.TRec))
	}
}

// needText says whether a retransmission was needed.
func needText(v track.Spuriousness) string {
	return map[track.Spuriousness]string{track.Spurious: "no", track.Necessary: "yes", track.Undecided: "unknown"}[v]
}

// judge compares the verdicts of replay.
func (row *DamageRow) judge(u *undamaged, f *findings, note func(what string, x *found, weight float64, format string, args ...any)) {
	decided := func(v replay.Effect) bool { return v == replay.Saves || v == replay.Costs }
	for _, policy := range damagePolicies {
		was, is := u.verdicts[policy], f.verdicts[policy]
		if decided(was) || decided(is) {
			row.Verdicts++
		}
		switch {
		case decided(was) && decided(is) && was != is:
			row.Flipped++
			note("flipped", nil, 1e6, "%s %v, undamaged it %v", policy, is, was)
		case !decided(was) && decided(is):
			row.Decided++
			note("decided", nil, 1e3, "%s %v, undamaged: %v", policy, is, was)
		}
	}
}

// add adds o, and keeps the worst findings of each sort.
func (row *DamageRow) add(o *DamageRow) {
	row.Captures += o.Captures
	row.Unfit += o.Unfit
	row.Segments += o.Segments
	row.Before, row.After, row.Kept = row.Before+o.Before, row.After+o.After, row.Kept+o.Kept
	row.Invented, row.Kinds, row.Needs, row.Times = row.Invented+o.Invented, row.Kinds+o.Kinds, row.Needs+o.Needs, row.Times+o.Times
	row.Lost, row.LostAfter = row.Lost+o.Lost, row.LostAfter+o.LostAfter
	row.Grew, row.GrewBy = row.Grew+o.Grew, row.GrewBy+o.GrewBy
	row.Verdicts, row.Flipped, row.Decided, row.Panics = row.Verdicts+o.Verdicts, row.Flipped+o.Flipped, row.Decided+o.Decided, row.Panics+o.Panics
	row.Findings = append(row.Findings, o.Findings...)
	slices.SortStableFunc(row.Findings, func(a, b DamageFinding) int {
		switch {
		case a.Weight > b.Weight:
			return -1
		case a.Weight < b.Weight:
			return 1
		}
		return 0
	})
	kept := map[string]int{}
	row.Findings = slices.DeleteFunc(row.Findings, func(f DamageFinding) bool {
		kept[f.What]++
		return kept[f.What] > mostFindings
	})
}
