package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/pcaps/replay"
	pages "tcpwheel/pcaps/report"
	"tcpwheel/wheel"
)

// replaying is the replay command at work.
type replaying struct {
	study    replay.Study
	filter   connFilter
	filtered bool
	top      int
	maxConns int
	asJSON   bool
	html     string
	wire     bool
	stdout   io.Writer
	stderr   io.Writer
	cut      bool // a file was cut short

	results  []*replay.Result
	first    map[string]wheel.Time // packet of each file
	conns    int
	lossy    int
	refusals []refusedConn
	faults   []error // of connections: bugs
}

// refusedConn is a connection with losses that cannot be replayed.
type refusedConn struct {
	pages.ConnKey
	reason string
}

// replayFlags are the flags of replay that are text.
type replayFlags struct {
	policies, conns []string
	from, to        string
}

func newReplay() *cobra.Command {
	var (
		r     = replaying{maxConns: 1 << 16}
		flags replayFlags
	)
	cmd := &cobra.Command{
		Use:   "replay [FILE...]",
		Short: "what the losses of captures would have cost with other timers",
		Long: `Replay takes the losses, delays and applications of each connection out of a capture and runs it again in virtual time, once for each policy of timers. FILE - is standard input. ` + inputHelp + ` Without a FILE the samples are replayed.

The control is the same replay with the captured retransmission times. A loss counts only if the control repairs it in the captured time, within 10 % or 2 ms. A policy saves the control's recovery time less its own. 'tcpwheel help verdicts' says when it does.

A POLICY is NAME[@TICK] with settings, as per-segment@10ms-tlp (tcpwheel help policies): ` + strings.Join(replay.PolicyNames(), ", ") + `. "captured" is the stack that explains the captured timers best.`,
		Example: "  tcpwheel replay\n  tcpwheel replay --policy linux,per-segment@1ms --conn :24600 sample:burst",
		RunE: func(cmd *cobra.Command, files []string) error {
			given := len(files) > 0
			if !given {
				files = sampleCaptures()
			}
			if err := r.check(cmd.Flags().Changed, files); err != nil {
				return usage(cmd, err)
			}
			if r.wire && !cmd.Flags().Changed("policy") {
				flags.policies = []string{"linux"}
			}
			if err := r.fill(flags); err != nil {
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
	f.StringVar(&r.study.Control, "congestion", "newreno", "congestion `control` of all: "+strings.Join(congestion.Names(), ", "))
	f.StringArrayVar(&flags.conns, "conn", nil, "only this `connection`: its number, or an end, as 10.0.0.1, 10.0.0.1:80 or :80")
	f.StringVar(&flags.from, "from", "", "only connections from that `time` on: 2026-01-02T15:04:05Z, or since the first packet, as 1.5s")
	f.StringVar(&flags.to, "to", "", "only connections up to that `time`")
	f.IntVar(&r.top, "top", 10, "losses in the table, the longest")
	f.BoolVar(&r.asJSON, "json", false, "print one JSON object per line")
	f.StringVar(&r.html, "html", "", "write a page with diagrams to this `file` too")
	f.BoolVar(&r.wire, "wire", false, "feed an engine what the captured end received, and print where it answers otherwise (policy: linux)")
}

// check returns what is wrong with the flags. changed reports whether a flag was given.
func (r *replaying) check(changed func(flag string) bool, files []string) error {
	switch {
	case r.top < 0:
		return fmt.Errorf("top %d, want 0 or more", r.top)
	case !slices.Contains(congestion.Names(), r.study.Control):
		return fmt.Errorf("congestion %q, want one of %s", r.study.Control, strings.Join(congestion.Names(), ", "))
	}
	if r.wire && (changed("json") || changed("html")) {
		return errors.New("replay: --wire prints a table alone: want it without --json and --html")
	}
	if changed("html") {
		return checkOutFile("html", r.html, files)
	}
	return nil
}

// fill reads the flags that are text.
func (r *replaying) fill(flags replayFlags) (err error) {
	if r.study.Choices, err = parseChoices(flags.policies); err != nil {
		return err
	}
	r.filtered = len(flags.conns) > 0 || flags.from != "" || flags.to != ""
	r.filter, err = parseConnFilter(flags.conns, flags.from, flags.to)
	return err
}

// parseChoices reads policies. The control among them adds nothing, as it always runs.
func parseChoices(policies []string) (all []replay.Choice, err error) {
	if len(policies) == 0 {
		return nil, errors.New("no policy, want one at least")
	}
	for _, text := range policies {
		if text == replay.Oracle {
			continue
		}
		if slices.ContainsFunc(all, func(c replay.Choice) bool { return c.Text == text }) {
			return nil, fmt.Errorf("policy %q is there twice", text)
		}
		c, err := replay.ParseChoice(text)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}
