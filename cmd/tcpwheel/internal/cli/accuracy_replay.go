//go:build !js

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tcpwheel/internal/record"
	"tcpwheel/pcaps/replay"
	"tcpwheel/pcaps/tasks"
	"tcpwheel/pcaps/track"
	"tcpwheel/pcaps/truth"
	"tcpwheel/tun/kerneltruth"
)

// replayOrigin is a source of captures that are replayed.
type replayOrigin struct {
	name string // "simulator", "kernels" or "captures"
	what string // the unit of its count
	n    int
	sum  *truth.Replays
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// trialSeeds is how far the first seeds of trials are apart.
const trialSeeds = 1_000_000

// replayTrials judges replays of simulated captures.
func (a *assessment) replayTrials(ctx context.Context) error {
	if a.simulated == 0 {
		return nil
	}
	a.say("replays the captures of %d trials", 90*a.simulated)
	sum, n, err := (&truth.Trials{Seeds: 2 * a.simulated, First: a.seed * trialSeeds}).Run(ctx)
	if err == nil {
		a.replays = append(a.replays, &replayOrigin{name: "simulator", what: "trials", n: n, sum: sum})
	}
	return err
}

// captureEndings are the endings of captures' names, before that of a compressed file.
var captureEndings = []string{".pcap", ".pcapng", ".cap", ".dmp", ".dump"}

// isCapture reports whether a file is a capture by its name.
func isCapture(name string) bool {
	for _, packed := range []string{".gz", ".zst", ".lz4"} {
		name = strings.TrimSuffix(name, packed)
	}
	return slices.Contains(captureEndings, filepath.Ext(name))
}

// replayCaptures judges the oracle by the captures below a directory.
func (a *assessment) replayCaptures(ctx context.Context) error {
	a.say("replays the captures below %s", a.captures)
	o := &replayOrigin{name: "captures", what: "files", sum: &truth.Replays{}}
	a.replays = append(a.replays, o)
	return a.eachCapture(ctx, "replayed", func(f io.Reader, name string) error {
		o.n++
		return o.sum.AddCapture(f, name)
	})
}

// eachCapture calls use for the captures below --captures. It reports an error of one, and to what
// use has then come.
func (a *assessment) eachCapture(ctx context.Context, done string, use func(f io.Reader, name string) error) error {
	return filepath.WalkDir(a.captures, func(name string, d fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil || !d.Type().IsRegular() || !isCapture(name) {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := use(f, name); err != nil && ctx.Err() == nil {
			fmt.Fprintf(a.stderr, "tcpwheel: accuracy: %v; what comes before was %s\n", err, done)
		}
		return ctx.Err()
	})
}

// twinScenarios are the connections of a trial of kernels. Each runs twice under each setting, to
// measure the noise of the truth; twinRuns run at once.
const twinScenarios, twinRuns = 4, 8

// drawTwins runs the same scenarios between kernels under all settings until end, at least once,
// and judges the replays of their captures.
func (a *assessment) drawTwins(ctx context.Context, keep string, end time.Time) error {
	o := &replayOrigin{name: "kernels", what: "trials", sum: &truth.Replays{}}
	a.replays = append(a.replays, o)
	for seed := a.seed; seed == a.seed || time.Now().Before(end); seed++ {
		runs, err := runTwins(ctx, seed, keep)
		if err != nil {
			return err
		}
		sum, err := truth.JudgeKernels(fmt.Sprintf("twins %d", seed), runs)
		if err != nil {
			return err
		}
		o.sum.Add(sum)
		o.n++
	}
	return nil
}

// runTwins runs the scenarios of a trial.
func runTwins(ctx context.Context, seed uint64, keep string) ([]truth.KernelRuns, error) {
	settings := kerneltruth.Settings()
	runs := make([]truth.KernelRuns, len(settings))
	var twins []func() error
	for i, setting := range settings {
		runs[i].Name, runs[i].Policy = setting.Name, setting.Policy
		for n := range uint64(twinScenarios) {
			r := rand.New(rand.NewPCG(seed, n))
			s := kerneltruth.Twin(seed*twinScenarios+n, truth.LostTransmissions(r, 300_000, 1448, 0.05+0.1*r.Float64()))
			s.Sysctls = setting.Sysctls
			for _, run := range []struct {
				dirs *[]fs.FS
				name string
			}{{&runs[i].Dirs, ""}, {&runs[i].Again, "-again"}} {
				dir := filepath.Join(keep, fmt.Sprintf("%s-%d%s", s.Name, i, run.name))
				*run.dirs = append(*run.dirs, os.DirFS(dir))
				twins = append(twins, func() error { return kerneltruth.Run(ctx, s, dir) })
			}
		}
	}
	return runs, tasks.Each(ctx, len(twins), twinRuns, func(_ context.Context, i int) error { return twins[i]() })
}

// replayAccuracyRecord is one side of an origin's captures as JSON.
type replayAccuracyRecord struct {
	Type     string         `json:"type"` // "replay_accuracy"
	Origin   string         `json:"origin" help:"simulator, kernels or captures"`
	Side     string         `json:"captured_at" head:"captured at" help:"sender, middle or receiver"`
	Captures int            `json:"captures"`
	Needed   int            `json:"needed" help:"losses whose first retransmission was necessary"`
	Passed   int            `json:"through_gate" help:"those whose oracle takes the captured time"`
	Gates    map[string]int `json:"gates,omitempty"`  // the others, by reason
	Missed   []truth.Missed `json:"missed,omitempty"` // these losses, with --differences

	OracleMedian   *float64 `json:"oracle_median_off" head:"oracle off,\n% median" cell:"%" help:"how far the oracle is off, as a part of the recovery time"`
	OracleP95      *float64 `json:"oracle_p95_off" head:"p95" cell:"%"`
	Policies       int      `json:"policy_recoveries" help:"under policies whose truth is known"`
	PoliciesMedian *float64 `json:"policies_median_off" head:"policies off,\n% median" cell:"%" help:"how far replays under policies are off, as a part of the true recovery time"`
	PoliciesP95    *float64 `json:"policies_p95_off" head:"p95" cell:"%"`

	Share string `json:"-" head:"through the gate, %" cell:"number"`
}

var replayAccuracyLayout = record.NewLayout[replayAccuracyRecord](
	"%-12captured_at %7needed %19Share %12oracle_median_off %5oracle_p95_off %14policies_median_off %5policies_p95_off")

// verdictsRecord is the verdicts on an origin's captures as JSON.
type verdictsRecord struct {
	Type     string         `json:"type"` // "replay_verdicts"
	Origin   string         `json:"origin"`
	All      map[string]int `json:"verdicts"`
	Known    int            `json:"truth_known"` // of the ones that save or cost
	False    int            `json:"false"`
	Percent  float64        `json:"false_percent"`
	Interval [2]float64     `json:"false_interval_percent"`
	Wrong    []truth.Judged `json:"false_verdicts"`

	// NotJudged are verdicts whose truth has more noise than effect.
	NotJudged []truth.Judged `json:"not_judged"`
}

func (o *replayOrigin) records(differences bool) (all []replayAccuracyRecord) {
	for i := range o.sum.Sides {
		s := &o.sum.Sides[i]
		if s.Needed == 0 {
			continue
		}
		rec := replayAccuracyRecord{
			Type: "replay_accuracy", Origin: o.name, Side: truth.Side(i).String(), Captures: o.n, Needed: s.Needed, Passed: s.Passed, Gates: s.Gates,
			Policies: len(s.Policies), Share: shareText(s.Share()),
		}
		if differences {
			rec.Missed = s.Missed
		}
		rec.OracleMedian, rec.OracleP95 = quantilesOf(s.Oracle)
		rec.PoliciesMedian, rec.PoliciesP95 = quantilesOf(s.Policies)
		all = append(all, rec)
	}
	return all
}

// quantilesOf returns the median and the 95th percentile, nil of none.
func quantilesOf(all []float64) (median, p95 *float64) {
	if len(all) == 0 {
		return nil, nil
	}
	m, p := replay.Quantile(all, 0.5), replay.Quantile(all, 0.95)
	return &m, &p
}

func (o *replayOrigin) verdicts() verdictsRecord {
	rec := verdictsRecord{Type: "replay_verdicts", Origin: o.name, All: map[string]int{}, Wrong: []truth.Judged{}, NotJudged: []truth.Judged{}}
	for _, j := range o.sum.Verdicts {
		rec.All[j.Verdict]++
		if j.False() {
			rec.Wrong = append(rec.Wrong, j)
		}
		if j.TooNoisy() {
			rec.NotJudged = append(rec.NotJudged, j)
		}
	}
	var share truth.Share
	rec.False, rec.Known, share = o.sum.Wrong()
	rec.Percent, rec.Interval = share.Percent, [2]float64{share.Low, share.High}
	return rec
}

func (a *assessment) writeReplaysJSON(enc *json.Encoder) error {
	for _, o := range a.replays {
		if err := encodeAll(enc, slices.Values(o.records(a.differences))); err != nil {
			return err
		}
		if len(o.sum.Verdicts) > 0 {
			if err := enc.Encode(o.verdicts()); err != nil {
				return err
			}
		}
	}
	return nil
}

// write writes a line for each side, and how many verdicts are false.
func (o *replayOrigin) write(b *bytes.Buffer, differences bool) {
	fmt.Fprintf(b, "replay, %s: %d %s\n", o.name, o.n, o.what)
	records := o.records(differences)
	b.WriteString(replayAccuracyLayout.Table(records))
	for _, r := range records {
		for _, m := range r.Missed {
			fmt.Fprintf(b, "missed at the %s: %s, packet %d: %s, captured %s, replayed %s\n", r.Side, m.File, m.Packet, m.Why,
				track.SpanText(m.Captured), track.SpanText(m.Oracle))
		}
	}
	if len(o.sum.Verdicts) > 0 {
		v := o.verdicts()
		decided := v.All["saves"] + v.All["costs"]
		if v.Known == 0 {
			fmt.Fprintf(b, "%d verdicts save or cost; the truth of none is known\n", decided)
		} else {
			fmt.Fprintf(b, "%d verdicts save or cost, the truth of %d is known, and %d are false: %.1f %% (%.1f to %.1f)\n", decided,
				v.Known, v.False, v.Percent, v.Interval[0], v.Interval[1])
		}
		for _, j := range v.NotJudged {
			fmt.Fprintf(b, "not judged: the machine was late by %s, two runs under the same timers differ by\n  %s, others by %s: %s, %s, captured at the %v\n",
				track.SpanText(j.Late), track.SpanText(j.Noise), track.SpanText(j.Really.Abs()), j.Trial, j.Policy, j.Side)
		}
		for _, j := range v.Wrong {
			if differences {
				fmt.Fprintf(b, "false: %s, %s, captured at the %v, %s: %s %s, really %s\n", j.Trial, j.Damage, j.Side, j.Policy, j.Verdict,
					track.SpanText(j.Saved.Abs()), track.SpanText(j.Really))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(v.All)) {
			fmt.Fprintf(b, "%8d %s\n", v.All[name], name)
		}
	}
	b.WriteByte('\n')
}

// mostFalse is the most false verdicts, in percent.
const mostFalse = 1

// judge returns a violation if too many verdicts are false.
func (o *replayOrigin) judge() error {
	wrong, known, share := o.sum.Wrong()
	if o.name == damagedOrigin && wrong*mostFalseDamaged > known {
		return &violation{fmt.Errorf("replay, %s: %d of %d verdicts are false, want fewer than one in %d", o.name, wrong, known, mostFalseDamaged)}
	}
	if wrong > 1 && share.Percent > mostFalse {
		return &violation{fmt.Errorf("replay, %s: %d of %d verdicts are false, want %d %% at most", o.name, wrong, known, mostFalse)}
	}
	return nil
}
