package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"tcpwheel/pcaps/samples"
	"tcpwheel/pcaps/track"
	"tcpwheel/pcaps/truth"
	"tcpwheel/tun/kernels"
)

// assessment is accuracy at work.
type assessment struct {
	kernel      time.Duration
	seed        uint64
	keep        string
	differences bool
	asJSON      bool

	stdout, stderr io.Writer
	sum            truth.Tallies
	labels         truth.LabelTable
	tshark         string // the program; "" without
	scenarios      int
	unmatched      int
}

func newAccuracy() *cobra.Command {
	var a assessment
	cmd := &cobra.Command{
		Use:   "accuracy [DIR...]",
		Short: "how right analyze is, where the truth is known from the kernel",
		Long: "Accuracy holds what analyze finds against what is known of each transmission:\n" +
			"its fate, by the log of an emulated link, and its cause, by the kernel's trace.\n" +
			"It takes the samples that the program has with it, or those in DIRs as samples\n" +
			"writes them. With --kernel, as root, it has two kernels talk in scenarios drawn\n" +
			"at random for that long, and takes these. Where tshark is installed, its labels\n" +
			"are counted beside.\n\n" +
			"It exits with 3 below 99 % of the kinds at the sender, 97 % at the receiver, or\n" +
			"99 % of the verdicts with DSACK, unless it is a single error. A probe that takes\n" +
			"the place of a timeout, at the same instant, may be called one.",
		Example: "  tcpwheel accuracy --kernel 60s",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, dirs []string) error {
			switch {
			case a.kernel < 0:
				return usage(cmd, fmt.Errorf("kernel %v, want 0s or more", a.kernel))
			case a.kernel > 0 && len(dirs) > 0:
				return usage(cmd, errors.New("accuracy: --kernel and directories, want one of them"))
			case a.keep != "" && a.kernel == 0:
				return usage(cmd, errors.New("accuracy: --keep without --kernel"))
			}
			a.stdout, a.stderr, a.sum = cmd.OutOrStdout(), cmd.ErrOrStderr(), truth.Tallies{}
			if !a.asJSON {
				a.tshark = truth.FindTshark()
			}
			return a.run(cmd.Context(), dirs)
		},
	}
	f := cmd.Flags()
	f.DurationVar(&a.kernel, "kernel", 0, "draw scenarios for so long, as root")
	f.Uint64Var(&a.seed, "seed", 1, "the first scenario that is drawn")
	f.StringVar(&a.keep, "keep", "", "`directory` to keep captures and truth in")
	f.BoolVar(&a.differences, "differences", false, "tell each error on standard error")
	f.BoolVar(&a.asJSON, "json", false, "print one JSON object per line")
	return cmd
}

func (a *assessment) run(ctx context.Context, dirs []string) error {
	switch {
	case a.kernel > 0:
		if err := a.draw(ctx); err != nil {
			return err
		}
	case len(dirs) > 0:
		for _, dir := range dirs {
			if err := a.take(dir, os.DirFS(dir)); err != nil {
				return err
			}
		}
	default:
		for _, s := range samples.List() {
			dir, err := samples.Dir(s.Name)
			if err == nil {
				err = a.take(s.Name, dir)
			}
			if err != nil {
				return err
			}
		}
	}
	if err := a.write(); err != nil {
		return err
	}
	return a.judge()
}

// draw has scenarios happen until the time is over, at least one.
func (a *assessment) draw(ctx context.Context) error {
	keep := a.keep
	if keep == "" {
		dir, err := os.MkdirTemp("", "tcpwheel-accuracy-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		keep = dir
	}
	end := time.Now().Add(a.kernel)
	for seed := a.seed; seed == a.seed || time.Now().Before(end); seed++ {
		s := kernels.Random(seed)
		dir := filepath.Join(keep, s.Name)
		if err := kernels.Run(ctx, s, dir); err != nil {
			return err
		}
		if err := a.take(s.Name, os.DirFS(dir)); err != nil {
			return err
		}
		if a.keep == "" {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// take takes one scenario.
func (a *assessment) take(name string, dir fs.FS) error {
	k, err := truth.Load(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	a.scenarios++
	a.unmatched += k.Unmatched
	for _, point := range k.Points {
		t, err := k.Compare(point, func(format string, args ...any) {
			if a.differences {
				fmt.Fprintf(a.stderr, "%s: %s\n", name, fmt.Sprintf(format, args...))
			}
		})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		a.sum.Add(t)
		if a.tshark == "" || point == truth.InMiddle {
			continue
		}
		if err := k.Label(a.tshark, point, &a.labels); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// views are the sums that are told, and what they are held to.
var views = []struct {
	name  string
	want  func(truth.Class) bool
	kinds float64 // at least, in percent; 0 is without
	dsack bool    // the verdicts are held to 99 %
}{
	{"sender, all", func(c truth.Class) bool { return c.Side == truth.SenderSide }, 99, false},
	{"sender, SACK", func(c truth.Class) bool { return c.Side == truth.SenderSide && c.SACK }, 0, true},
	{"middle, all", func(c truth.Class) bool { return c.Side == truth.OnTheWay }, 0, false},
	{"receiver, timestamps", func(c truth.Class) bool { return c.Side == truth.ReceiverSide && c.Timestamps }, 97, false},
	{"receiver, all", func(c truth.Class) bool { return c.Side == truth.ReceiverSide }, 0, false},
}

// viewRecord is a view as JSON. Kinds are in the order of the names; rows are what is true, columns what was found, the last one of either
// is none.
type viewRecord struct {
	Type      string          `json:"type"` // "accuracy"
	View      string          `json:"view"`
	Scenarios int             `json:"scenarios"`
	Unmatched int             `json:"unmatched"`
	Kinds     []string        `json:"kinds"`
	Episodes  truth.Confusion `json:"episodes"`
	Packets   truth.Confusion `json:"packets"`
	InPlace   int             `json:"in_place"`
	Verdicts  truth.Verdicts  `json:"verdicts"` // spurious: no and yes, by what was said: unknown, no, yes
	Right     float64         `json:"right_percent"`
	Precision float64         `json:"spurious_precision_percent"`
	Recall    float64         `json:"spurious_recall_percent"`
}

func (a *assessment) write() error {
	enc := json.NewEncoder(a.stdout)
	for i, v := range views {
		t := a.sum.Sum(v.want)
		if a.asJSON {
			r := viewRecord{
				Type: "accuracy", View: v.name, Scenarios: a.scenarios, Unmatched: a.unmatched, Episodes: t.Episodes, Packets: t.Packets,
				InPlace: t.InPlace, Verdicts: t.Verdicts, Right: t.Kinds(), Precision: t.Verdicts.Precision(), Recall: t.Verdicts.Recall(),
			}
			for k := range track.Kinds {
				r.Kinds = append(r.Kinds, track.Kind(k).String())
			}
			if err := enc.Encode(r); err != nil {
				return err
			}
			continue
		}
		if i == 0 {
			fmt.Fprintf(a.stdout, "%d scenarios; retransmissions that the kernel's trace does not explain: %d\n", a.scenarios, a.unmatched)
		}
		fmt.Fprintf(a.stdout, "\ncaptured at the %s\n", v.name)
		t.Write(a.stdout)
	}
	if a.tshark != "" {
		fmt.Fprintln(a.stdout, "\ntshark's labels of retransmitted packets, captured at either end")
		a.labels.Write(a.stdout)
	}
	return nil
}

// judge returns a violation if a figure is below what is promised.
func (a *assessment) judge() error {
	const verdicts = 99
	for _, v := range views {
		t := a.sum.Sum(v.want)
		if right, all := t.Episodes.Right(); all-right > 1 && t.Kinds() < v.kinds {
			return &violation{fmt.Errorf("%s: %.2f %% of the kinds are right, want %v %%", v.name, t.Kinds(), v.kinds)}
		}
		if p := min(t.Verdicts.Precision(), t.Verdicts.Recall()); v.dsack && p < verdicts {
			return &violation{fmt.Errorf("%s: %.2f %% of the verdicts with DSACK, want %v %%", v.name, p, verdicts)}
		}
	}
	return nil
}
