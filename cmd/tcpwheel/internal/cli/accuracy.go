//go:build !js

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"tcpwheel/pcaps/samples"
	"tcpwheel/pcaps/truth"
	"tcpwheel/tun/kerneltruth"
)

// assessment is a run of accuracy.
type assessment struct {
	simulated   int
	captures    string
	kernel      time.Duration
	seed        uint64
	keep        string
	noTshark    bool
	damage      string
	damageKinds []string
	differences bool
	asJSON      bool
	details     bool

	began time.Time

	stdout, stderr io.Writer
	tshark         string // the program, or ""
	origins        []*origin
	replays        []*replayOrigin
	tables         []damageTable
}

// origin is a source of captures with known truth.
type origin struct {
	name      string // "simulator", "samples", "directories" or "kernels"
	what      string // the unit of its count
	n         int
	unmatched int // retransmissions that a kernel's trace does not explain
	sum       truth.Tallies
}

func newAccuracy() *cobra.Command {
	var a assessment
	cmd := &cobra.Command{
		Use:   "accuracy [DIR...]",
		Short: "check analyze and replay against connections with known truth",
		Long: "Accuracy compares analyze's findings with known truth: the link knows the fate\n" +
			"of each packet, and the sender the cause of each retransmission. It simulates\n" +
			"some hundred connections and reads the samples; or it reads only DIRs, in the\n" +
			"form that samples writes. With --kernel, as root, it also lets two kernels\n" +
			"talk in random scenarios for that long. If tshark is installed, it also counts\n" +
			"tshark's labels.\n\n" +
			"It also replays simulated captures, and with --kernel captures of kernels. The\n" +
			"same connections then run under other timers with the same losses, and a\n" +
			"verdict is false if these really save what replay says they cost, or the other\n" +
			"way round. Between kernels each runs twice. Where two runs under the same\n" +
			"timers differ by more than the effect, the verdict is not judged. Of the\n" +
			"captures below --captures no truth is known: there the oracle is compared with\n" +
			"the capture.\n\n" +
			"Intervals are 95% confidence intervals; they count only independent episodes.\n\n" +
			"It exits with 3 below 99% right kinds at the sender, 97% at the receiver with\n" +
			"timestamps, or 99% right verdicts with DSACK, unless only one is wrong. A\n" +
			"probe sent at the instant of a timeout may count as the timeout. It also exits\n" +
			"with 3 above 1% false verdicts of replay, unless only one is false, and with\n" +
			"--damage if a damaged capture says more than the undamaged one: docs/accuracy.md\n" +
			"has the bounds.",
		Example: "  tcpwheel accuracy\n  tcpwheel accuracy --kernel 5m",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, dirs []string) error {
			switch {
			case a.simulated < 0 || a.simulated > maxSimulated:
				return usage(cmd, fmt.Errorf("simulated %d, want 0 to %d", a.simulated, maxSimulated))
			case a.kernel > 0 && len(dirs) > 0:
				return usage(cmd, errors.New("accuracy: --kernel and directories, want one of them"))
			case a.captures != "" && !isDir(a.captures):
				return usage(cmd, fmt.Errorf("accuracy: captures %q, want a directory", a.captures))
			case damageForms[a.damage] == nil:
				return usage(cmd, fmt.Errorf("damage %q, want short, long or none", a.damage))
			case a.keep != "" && a.kernel == 0:
				return usage(cmd, errors.New("accuracy: --keep without --kernel"))
			}
			if a.kernel > 0 {
				if err := needLinux("accuracy --kernel", namespaces); err != nil {
					return err
				}
			}
			if _, err := parseDamages(a.damageKinds); err != nil {
				return usage(cmd, err)
			}
			a.stdout, a.stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			if !a.noTshark {
				a.tshark = truth.FindTshark()
			}
			return a.run(cmd.Context(), dirs)
		},
	}
	f := cmd.Flags()
	f.IntVar(&a.simulated, "simulated", 2, "simulate this many `times` 540 connections and the captures of 90 trials of replay; 0 for none")
	f.StringVar(&a.captures, "captures", "", "also replay all captures below this `directory`")
	durationFlag(f, &a.kernel, "kernel", "", "run random scenarios between kernels for so long, as root")
	f.Uint64Var(&a.seed, "seed", 1, "seed of the first random scenario")
	f.StringVar(&a.keep, "keep", "", "`directory` for captures and truth")
	f.BoolVar(&a.noTshark, "no-tshark", false, "do not run tshark")
	f.BoolVar(&a.differences, "differences", false, "print each error, to standard error those of analyze")
	f.BoolVar(&a.details, "details", false, "also print what was found for each kind, and tshark's labels")
	f.StringVar(&a.damage, "damage", "none", "damage the captures on purpose, and compare: short, long or none")
	f.StringSliceVar(&a.damageKinds, "damage-kinds", nil, "only these damages, as damage --list names them")
	f.BoolVar(&a.asJSON, "json", false, "print one JSON object per line")
	return cmd
}

// maxSimulated bounds --simulated to some minutes.
const maxSimulated = 100

// say reports the start of a long part, on a terminal or not: a run takes minutes.
func (a *assessment) say(format string, args ...any) {
	fmt.Fprintf(a.stderr, "tcpwheel: accuracy: %v: %s\n", time.Since(a.began).Round(time.Second), fmt.Sprintf(format, args...))
}

func (a *assessment) run(ctx context.Context, dirs []string) error {
	var err error
	a.began = time.Now()
	if len(dirs) > 0 {
		err = a.directories(ctx, dirs)
	} else {
		if err = a.simulate(ctx); err == nil {
			err = a.samples(ctx)
		}
		if err == nil {
			err = a.replayTrials(ctx)
		}
		if err == nil && a.kernel > 0 {
			err = a.draw(ctx)
		}
	}
	if err == nil && a.captures != "" {
		err = a.replayCaptures(ctx)
	}
	if err == nil {
		err = a.damages(ctx)
	}
	if ctx.Err() != nil {
		return ctx.Err() // not tshark's error from the same signal
	}
	if err != nil {
		return err
	}
	if err := a.write(); err != nil {
		return err
	}
	return a.judge()
}

// origin adds an empty origin.
func (a *assessment) origin(name, what string) *origin {
	o := &origin{name: name, what: what, sum: truth.Tallies{}}
	a.origins = append(a.origins, o)
	return o
}

// simulate judges connections of the simulator.
func (a *assessment) simulate(ctx context.Context) (err error) {
	if a.simulated == 0 {
		return nil
	}
	a.say("simulates %d connections", 540*a.simulated)
	o := a.origin("simulator", "connections")
	g := truth.Gate{Seeds: a.simulated, Tshark: a.tshark}
	if a.differences {
		g.Note = func(format string, args ...any) { fmt.Fprintf(a.stderr, format+"\n", args...) }
	}
	o.sum, o.n, err = g.Run(ctx)
	return err
}

// samples judges the samples that are part of the program.
func (a *assessment) samples(ctx context.Context) error {
	o := a.origin("samples", "scenarios")
	for _, s := range samples.List() {
		dir, err := samples.Dir(s.Name)
		if err == nil {
			err = a.judgeScenario(ctx, o, s.Name, dir)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *assessment) directories(ctx context.Context, dirs []string) error {
	o := a.origin("directories", "scenarios")
	for _, dir := range dirs {
		if err := a.judgeScenario(ctx, o, dir, os.DirFS(dir)); err != nil {
			return err
		}
	}
	return nil
}

// draw runs random scenarios between kernels for half of the time, at least one, and then twins.
func (a *assessment) draw(ctx context.Context) error {
	a.say("lets kernels talk for %v", a.kernel)
	o := a.origin("kernels", "scenarios")
	keep := a.keep
	if keep == "" {
		dir, err := os.MkdirTemp("", "tcpwheel-accuracy-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		keep = dir
	}
	start := time.Now()
	end := start.Add(a.kernel / 2)
	for seed := a.seed; seed == a.seed || time.Now().Before(end); seed++ {
		s := kerneltruth.Random(seed)
		dir := filepath.Join(keep, s.Name)
		if err := kerneltruth.Run(ctx, s, dir); err != nil {
			return err
		}
		if err := a.judgeScenario(ctx, o, s.Name, os.DirFS(dir)); err != nil {
			return err
		}
		if a.keep == "" {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
		}
	}
	return a.drawTwins(ctx, keep, start.Add(a.kernel))
}

// judgeScenario judges one scenario.
func (a *assessment) judgeScenario(ctx context.Context, o *origin, name string, dir fs.FS) error {
	k, err := truth.Load(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	o.n++
	o.unmatched += k.Unmatched
	for _, point := range k.Points {
		if err := ctx.Err(); err != nil {
			return err
		}
		t, err := k.Compare(point, func(format string, args ...any) {
			if a.differences {
				fmt.Fprintf(a.stderr, "%s: %s\n", name, fmt.Sprintf(format, args...))
			}
		})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		o.sum.Add(t)
		if a.tshark == "" || point == truth.InMiddle {
			continue
		}
		said, err := k.Label(a.tshark, point)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		o.sum.Add(said)
	}
	return nil
}
