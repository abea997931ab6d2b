package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tcpwheel/internal/setting"
	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/pcaps/replay"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// replaying is the replay command at work.
type replaying struct {
	study         replay.Study
	filter        connFilter
	filtered      bool
	top           int
	maxConns      int
	asJSON, asCSV bool
	details       bool
	scripts       bool
	html          string
	validating    bool
	wire          bool
	stdout        io.Writer
	stderr        io.Writer

	results  []*replay.Result
	first    map[string]wheel.Time // packet of each file
	conns    int
	lossy    int
	refusals []refusedConn
	faults   []error // of connections: bugs
}

// refusedConn is a connection with losses that cannot be replayed.
type refusedConn struct {
	connKey
	reason string
}

// replayFlags are the flags of replay that are text.
type replayFlags struct {
	policies, vary, conns []string
	from, to              string
}

func newReplay() *cobra.Command {
	var (
		r     replaying
		flags replayFlags
	)
	cmd := &cobra.Command{
		Use:   "replay [FILE...]",
		Short: "what the losses of captures would have cost with other timers",
		Long: "Replay takes the losses, delays and applications of each connection out of a\n" +
			"capture and runs it again in virtual time, once for each policy of timers.\n" +
			"Congestion control, ACKs and windows are the same for all. A FILE that is - is\n" +
			"standard input; sample:NAME is a sample capture (tcpwheel samples). Without a\n" +
			"FILE the samples are replayed that were captured at the sender.\n\n" +
			"The baseline is the oracle: the same replay with the captured retransmission\n" +
			"times. A loss counts only if the oracle repairs it in the captured time, within\n" +
			"10 % or 2 ms. A policy saves the oracle's recovery time less its own.\n\n" +
			"A POLICY is NAME[@TICK] and then + or - with tlp, rack, frto or synlinear (the\n" +
			"first timeouts of a SYN do not back off, as in Linux since 6.5), as in\n" +
			"per-segment@10ms-tlp. Names are\n  " + strings.Join(wrapped(strings.Join(replay.PolicyNames(), ", "), 78), "\n  ") + "\n" +
			"captured is the stack that explains the captured timers best.\n\n" +
			"Three keys decide what becomes of a packet: the n-th transmission of bytes fares\n" +
			"as in the capture (by range), a packet fares as what left then (by time), or the\n" +
			"n-th packet as the n-th (by index). Sums are by range. The verdict is \"cannot\n" +
			"tell\" unless all three keys agree, and the interval of 99 % is on one side of 0,\n" +
			"by more than the oracle may be wrong by and 1 % of its recovery times.\n\n" +
			"It exits with 0 if there was no loss, nothing to compare or some loss counts,\n" +
			"with 1 if no connection with a loss could be replayed, and with 3 if no loss\n" +
			"counts.\n\n" + inputHelp,
		Example: "  tcpwheel replay\n  tcpwheel replay --policy linux,per-segment@1ms --conn :24600 sample:burst",
		RunE: func(cmd *cobra.Command, files []string) error {
			given := len(files) > 0
			if !given {
				files = sampleCaptures()
			}
			if err := r.check(cmd.Flags().Changed, files); err != nil {
				return usage(cmd, err)
			}
			if err := r.fill(cmd.Flags().Changed, flags); err != nil {
				return usage(cmd, err)
			}
			r.stdout, r.stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			if !given {
				fmt.Fprintf(r.stderr, "tcpwheel: replay: no file given: the %d sample captures are taken (tcpwheel samples)\n", len(files))
			}
			return r.run(cmd, files)
		},
	}
	r.register(cmd.Flags(), &flags)
	return cmd
}

// register adds the flags of replay, which set r and flags.
func (r *replaying) register(f *pflag.FlagSet, flags *replayFlags) {
	f.StringSliceVar(&flags.policies, "policy", replay.DefaultPolicies(), "`policies` of timers to try, separated by commas")
	f.Lookup("policy").DefValue = "[]" // it is long
	f.StringSliceVar(&flags.vary, "vary", nil, "try each policy with and without `these`: tlp, rack,\nfrto, synlinear, separated by commas")
	f.StringVar(&r.study.Control, "control", "newreno", "congestion `control` of all:\n"+strings.Join(congestion.Names(), ", "))
	f.StringArrayVar(&flags.conns, "conn", nil, "only this `connection`: its number, or an end,\nas 10.0.0.1, 10.0.0.1:80 or :80")
	f.StringVar(&flags.from, "from", "", "only connections from that `time` on:\n2026-01-02T15:04:05Z, or since the first packet, as\n1.5s")
	f.StringVar(&flags.to, "to", "", "only connections up to that `time`")
	f.IntVar(&r.top, "top", 10, "losses in the table: the longest, or with\n--validate what are farthest off")
	f.IntVar(&r.maxConns, "max-conns", 1<<16, "connections at once, to bound memory")
	f.BoolVar(&r.asJSON, "json", false, "print one JSON object per line")
	f.BoolVar(&r.details, "details", false, "also print what each key says, what is left out, and\nwhy losses do not count")
	f.BoolVar(&r.asCSV, "csv", false, "print a line of CSV for each loss and policy")
	f.StringVar(&r.html, "html", "", "write a page with diagrams to this `file` too")
	f.BoolVar(&r.wire, "wire", false, "feed an engine what the captured end received, and\ncompare what it sends (policy: linux)")
	f.BoolVar(&r.validating, "validate", false, "captures of Linux: how near replays come to them")
	f.BoolVar(&r.scripts, "scripts", false, "with --json: the scripts of the connections too")
}

// check returns what is wrong with the flags. changed reports whether a flag was given.
func (r *replaying) check(changed func(flag string) bool, files []string) error {
	switch {
	case r.asJSON && r.asCSV:
		return errors.New("replay: --json and --csv, want one of them")
	case r.details && (r.asJSON || r.asCSV || r.wire || r.validating):
		return errors.New("replay: --details with --json, --csv, --wire or --validate, which have details of their own")
	case r.scripts && !r.asJSON:
		return errors.New("replay: --scripts without --json")
	case r.wire && (r.validating || r.scripts):
		return errors.New("replay: --wire with --validate or --scripts, want it alone")
	case r.validating && (changed("policy") || changed("vary") || r.scripts):
		return errors.New("replay: --validate with --policy, --vary or --scripts, want its own policies and losses")
	case r.top < 0:
		return fmt.Errorf("top %d, want 0 or more", r.top)
	case r.maxConns < 1:
		return fmt.Errorf("max-conns %d, want at least 1", r.maxConns)
	case !slices.Contains(congestion.Names(), r.study.Control):
		return fmt.Errorf("control %q, want one of %s", r.study.Control, strings.Join(congestion.Names(), ", "))
	}
	if changed("html") {
		return checkOutFile("html", r.html, files)
	}
	return nil
}

// fill reads the flags that are text, and sets the policies of --wire and --validate.
func (r *replaying) fill(changed func(flag string) bool, flags replayFlags) (err error) {
	switch {
	case r.wire && !changed("policy"):
		flags.policies = []string{"linux"}
	case r.validating:
		flags.policies = validators
		if !changed("control") {
			r.study.Control = "cubic"
		}
	}
	// it always runs
	policies := slices.DeleteFunc(slices.Clone(flags.policies), func(text string) bool { return text == replay.Oracle })
	if len(policies) > 0 || len(flags.policies) == 0 {
		if r.study.Choices, err = parseChoices(policies, flags.vary); err != nil {
			return err
		}
	}
	r.filtered = len(flags.conns) > 0 || flags.from != "" || flags.to != ""
	r.filter, err = parseConnFilter(flags.conns, flags.from, flags.to)
	return err
}

// parseChoices reads policies, each in all combinations with and without the switches that vary.
func parseChoices(policies, vary []string) (all []replay.Choice, err error) {
	if len(policies) == 0 {
		return nil, errors.New("no policy, want one at least")
	}
	for i, knob := range vary {
		if !slices.Contains(tcptimers.Switches(), knob) || slices.Contains(vary[:i], knob) {
			return nil, fmt.Errorf("vary %q, want each of %s once at most", knob, strings.Join(tcptimers.Switches(), ", "))
		}
	}
	for _, base := range policies {
		if _, err := replay.ParseChoice(base); err != nil {
			return nil, err
		}
		texts := []string{base}
		_, changes, _ := setting.Words(base, tcptimers.Policy{})
		for _, knob := range vary {
			if slices.ContainsFunc(changes, func(c setting.Change) bool { return c.Name == knob }) {
				return nil, fmt.Errorf("policy %q sets %s, which is varied", base, knob)
			}
			var more []string
			for _, text := range texts {
				more = append(more, text+"+"+knob, text+"-"+knob)
			}
			texts = more
		}
		for _, text := range texts {
			if slices.ContainsFunc(all, func(c replay.Choice) bool { return c.Text == text }) {
				return nil, fmt.Errorf("policy %q is there twice", text)
			}
			c, err := replay.ParseChoice(text)
			if err != nil {
				return nil, err
			}
			all = append(all, c)
		}
	}
	return all, nil
}
