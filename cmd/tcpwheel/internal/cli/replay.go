package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/pcaps/replay"
	pages "tcpwheel/pcaps/report"
	"tcpwheel/wheel"
)

// replaying is the replay command at work.
type replaying struct {
	inputFlags
	study    replay.Study
	policies []string
	maxConns int
	wire     bool
	stdout   io.Writer
	stderr   io.Writer
	cut      bool // a file was cut short

	pages.Replays
	first  map[string]wheel.Time // packet of each file
	faults []error               // of connections: bugs
}

func newReplay() *cobra.Command {
	r := replaying{maxConns: 1 << 16}
	cmd := &cobra.Command{
		Use:   "replay [FILE...]",
		Short: "what the losses of captures would have cost with other timers",
		Long: `Replay takes the losses, delays and applications of each connection out of a capture and runs it again in virtual time, once for each policy of timers. FILE - is standard input. ` + inputHelp + ` Without a FILE the samples are replayed.

The control is the same replay with the captured retransmission times. A loss counts only if the control repairs it in the captured time, within 10 % or 2 ms. A policy saves the control's recovery time less its own. 'tcpwheel help verdicts' says when it does.

A POLICY is NAME[@TICK] with settings, as per-segment@10ms-tlp (tcpwheel help policies): ` + strings.Join(replay.PolicyNames(), ", ") + `. "captured" is the stack that explains the captured timers best.`,
		Example: "  tcpwheel replay\n  tcpwheel replay --policy linux,per-segment@1ms --conn :24600 sample:burst",
		RunE: func(cmd *cobra.Command, files []string) error {
			r.stdout, r.stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			given := len(files) > 0
			if !given {
				files = sampleCaptures()
			}
			if err := r.check(cmd.Flags().Changed, files); err != nil {
				return usage(cmd, err)
			}
			if !given {
				fmt.Fprintf(r.stderr, "tcpwheel: replay: no file given: the %d sample captures are taken (tcpwheel samples)\n", len(files))
			}
			return r.run(cmd, files)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&r.policies, "policy", replay.DefaultPolicies(), "`policies` of timers to try, separated by commas")
	f.Lookup("policy").DefValue = "[]" // it is long
	f.StringVar(&r.study.Congestion, "congestion", "newreno", "congestion `control` of all: "+strings.Join(congestion.Names(), ", "))
	f.BoolVar(&r.wire, "wire", false, "feed an engine what the captured end received, and print where it answers otherwise (policy: linux)")
	r.register(f, "losses")
	return cmd
}

// check reads the flags that are text, and returns what is wrong. changed reports whether a flag was
// given.
func (r *replaying) check(changed func(flag string) bool, files []string) (err error) {
	switch {
	case !slices.Contains(congestion.Names(), r.study.Congestion):
		return fmt.Errorf("congestion %q, want one of %s", r.study.Congestion, strings.Join(congestion.Names(), ", "))
	case r.wire && (changed("json") || changed("html")):
		return errors.New("replay: --wire prints a table alone: want it without --json and --html")
	case r.wire && !changed("policy"):
		r.policies = []string{"linux"}
	}
	if changed("html") {
		if err := checkOutFile("html", r.html, files); err != nil {
			return err
		}
	}
	if r.study.Choices, err = parseChoices(r.policies); err != nil {
		return err
	}
	return r.inputFlags.check()
}

// parseChoices reads policies. The control among them adds nothing, as it always runs.
func parseChoices(policies []string) (all []replay.Choice, err error) {
	if len(policies) == 0 {
		return nil, errors.New("no policy, want one at least")
	}
	for _, text := range policies {
		if text == replay.Control {
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
