package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/replay"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// replaying is replay at work.
type replaying struct {
	study         replay.Study
	filter        connFilter
	filtered      bool
	top           int
	maxConns      int
	asJSON, asCSV bool
	scripts       bool
	html          string
	validating    bool
	wire          bool
	stdout        io.Writer
	stderr        io.Writer

	results  []*replay.Result
	first    map[*replay.Result]wheel.Time
	conns    int
	lossy    int
	refusals []refusedConn
}

// refusedConn is a connection that had losses and cannot be replayed.
type refusedConn struct {
	file, conn, reason string
}

func newReplay() *cobra.Command {
	var (
		r        replaying
		policies []string
		vary     []string
		conns    []string
		from, to string
	)
	cmd := &cobra.Command{
		Use:   "replay [FILE...]",
		Short: "what the losses of captures would have cost with other timers",
		Long: "Replay takes the losses, delays and applications of each connection out of a\n" +
			"capture and runs it again in virtual time, once for each policy of timers.\n" +
			"Congestion control, ACKs and windows stay the same for all. A FILE that is - is\n" +
			"standard input; sample:NAME is a sample capture (tcpwheel samples), and without\n" +
			"a FILE those are taken that were made at the sender.\n\n" +
			"A POLICY is NAME[@TICK] and then +tlp, -tlp, +rack, -rack, +frto or -frto, as\n" +
			"in per-segment@10ms-tlp. Names are\n  " + strings.Join(wrapNames(replay.PolicyNames()), "\n  ") + "\n" +
			"where captured is the one that explains the capture best.\n\n" +
			"What becomes of a packet is decided by three keys: the n-th transmission of\n" +
			"octets fares as it did in the capture (by range), what is sent at a time fares\n" +
			"as what was sent then (by time), or the n-th packet as the n-th (by index).\n" +
			"Their spread is the uncertainty. Where the capture tells less than 95 % of the\n" +
			"fates there is no verdict.\n\n" +
			"It exits with 0 if there was no loss, nothing to compare or some verdict, with 1\n" +
			"if no connection with a loss could be replayed, and with 3 if no policy had a\n" +
			"verdict.",
		Example: "  tcpwheel replay --policy linux,per-segment@1ms --conn :443 lossy.pcapng.gz",
		RunE: func(cmd *cobra.Command, files []string) error {
			if len(files) == 0 {
				files = sampleCaptures()
				fmt.Fprintf(cmd.ErrOrStderr(), "tcpwheel: replay: no file given: the %d sample captures are taken (tcpwheel samples)\n", len(files))
			}
			switch {
			case r.asJSON && r.asCSV:
				return usage(cmd, errors.New("replay: --json and --csv, want one of them"))
			case r.scripts && !r.asJSON:
				return usage(cmd, errors.New("replay: --scripts without --json"))
			case r.top < 0:
				return usage(cmd, fmt.Errorf("top %d, want 0 or more", r.top))
			case r.maxConns < 1:
				return usage(cmd, fmt.Errorf("max-conns %d, want at least 1", r.maxConns))
			case !slices.Contains(congestion.Names(), r.study.Control):
				return usage(cmd, fmt.Errorf("control %q, want one of %s", r.study.Control, strings.Join(congestion.Names(), ", ")))
			}
			if r.html != "" {
				if err := checkOutFile("html", r.html, files); err != nil {
					return usage(cmd, err)
				}
			}
			if r.wire {
				if r.validating || r.scripts {
					return usage(cmd, errors.New("replay: --wire with --validate or --scripts, want it alone"))
				}
				if !cmd.Flags().Changed("policy") {
					policies = []string{replay.Captured}
				}
			}
			if r.validating {
				if cmd.Flags().Changed("policy") || len(vary) > 0 || r.scripts {
					return usage(cmd, errors.New("replay: --validate with --policy, --vary or --scripts, want its own policies and losses"))
				}
				policies = validators
				if !cmd.Flags().Changed("control") {
					r.study.Control = "cubic"
				}
			}
			var err error
			if r.study.Choices, err = parseChoices(policies, vary); err != nil {
				return usage(cmd, err)
			}
			r.filtered = len(conns) > 0 || from != "" || to != ""
			if r.filter, err = parseConnFilter(conns, from, to); err != nil {
				return usage(cmd, err)
			}
			r.stdout, r.stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return r.run(cmd, files)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&policies, "policy", replay.DefaultPolicies(), "`policies` of timers to try, separated by commas")
	f.Lookup("policy").DefValue = "[]" // it is long
	f.StringSliceVar(&vary, "vary", nil, "try each policy with and without `these`: tlp, rack,\nfrto, separated by commas")
	f.StringVar(&r.study.Control, "control", "newreno", "congestion `control` of all:\n"+strings.Join(congestion.Names(), ", "))
	f.StringArrayVar(&conns, "conn", nil, "only this `connection`: its number, or an end,\nas 10.0.0.1, 10.0.0.1:80 or :80")
	f.StringVar(&from, "from", "", "only connections from that `time` on:\n2026-01-02T15:04:05Z, or since the first packet, as\n1.5s")
	f.StringVar(&to, "to", "", "only connections up to that `time`")
	f.IntVar(&r.top, "top", 10, "losses in the table: the longest, or with\n--validate those that are farthest off")
	f.IntVar(&r.maxConns, "max-conns", 1<<16, "connections at once, to bound memory")
	f.BoolVar(&r.asJSON, "json", false, "print one JSON object per line")
	f.BoolVar(&r.asCSV, "csv", false, "print a line of CSV for each loss and policy")
	f.StringVar(&r.html, "html", "", "write a page with diagrams to this `file` too")
	f.BoolVar(&r.wire, "wire", false, "feed an engine what the captured end heard, and\ntell what it sends (policy: captured)")
	f.BoolVar(&r.validating, "validate", false, "captures of Linux: how near replays come to them")
	f.BoolVar(&r.scripts, "scripts", false, "with --json: the scripts of the connections too")
	return cmd
}

// parseChoices reads policies, each with and without what is varied, in all ways.
func parseChoices(policies, vary []string) (all []replay.Choice, err error) {
	if len(policies) == 0 {
		return nil, errors.New("no policy, want one at least")
	}
	for i, knob := range vary {
		if !slices.Contains(replay.Knobs(), knob) || slices.Contains(vary[:i], knob) {
			return nil, fmt.Errorf("vary %q, want each of %s once at most", knob, strings.Join(replay.Knobs(), ", "))
		}
	}
	for _, base := range policies {
		if _, err := replay.ParseChoice(base); err != nil {
			return nil, err
		}
		texts := []string{base}
		for _, knob := range vary {
			if strings.Contains(base, "+"+knob) || strings.HasSuffix(base, "-"+knob) || strings.Contains(base, "-"+knob+"-") || strings.Contains(base, "-"+knob+"+") {
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

// wrapNames puts names into lines of at most 78 columns.
func wrapNames(names []string) (lines []string) {
	line := ""
	for i, name := range names {
		if i < len(names)-1 {
			name += ","
		}
		if line != "" && len(line)+1+len(name) > 78 {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += name
	}
	return append(lines, line)
}

func (r *replaying) run(cmd *cobra.Command, files []string) error {
	r.first = map[*replay.Result]wheel.Time{}
	var failed error
	for _, name := range files {
		err := r.file(cmd, name)
		if errors.Is(err, context.Canceled) {
			return err
		}
		if err != nil && failed != nil {
			fmt.Fprintf(r.stderr, "tcpwheel: error: %v\n", failed)
		}
		if err != nil {
			failed = err
		}
	}
	if failed != nil && r.conns == 0 {
		return failed
	}
	var err error
	switch {
	case r.validating:
		if err = r.validate(); failed == nil {
			return err
		}
	case r.wire:
		if err = r.wires(); err == nil {
			err = failed
		}
		return err
	case r.asJSON:
		err = r.writeJSON()
	case r.asCSV:
		err = writeCSV(r.stdout, r.records())
	default:
		err = r.writeTables()
	}
	if err == nil && r.html != "" {
		err = r.writeHTML()
	}
	if err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	return r.verdict()
}

// verdict returns why there is nothing to compare though there was a loss that counts, nil if there is.
func (r *replaying) verdict() error {
	if r.lossy == 0 {
		return nil
	}
	if len(r.results) == 0 {
		return fmt.Errorf("replay: none of %s with losses can be replayed", plural(int64(r.lossy), "connection"))
	}
	given := false // for some connection and policy
	for i := range r.study.Choices {
		if s := replay.Summarize(r.results, i); s.N > 0 {
			return nil
		} else if s.Refused < len(r.results) {
			given = true
		}
	}
	switch c := replay.CapturedSummary(r.results); {
	case !given:
		return &violation{fmt.Errorf("replay: no verdict: the capture tells less than %.0f %% of what the policies sent", 100*(1-replay.MostImputed))}
	case c.N > 0:
		return &violation{errors.New("replay: no verdict: where one could be had, no policy repairs what was lost")}
	}
	return nil
}

// file replays the connections of a file. One that is cut short is replayed up to the cut, and that is said.
func (r *replaying) file(cmd *cobra.Command, name string) error {
	var (
		first wheel.Time
		begun bool
		wrong error
	)
	shown := name
	if name == "-" {
		shown = "standard input"
	}
	rec := replay.NewRecorder(replay.Config{MaxConns: r.maxConns, Done: func(c *track.Conn, s *replay.Script, err error) {
		if wrong != nil || !r.filter.hasConn(c, first) || cmd.Context().Err() != nil {
			return
		}
		r.conns++
		if s == nil && err == nil {
			return
		}
		r.lossy++
		var x *replay.Result
		if err == nil {
			study := &r.study
			if r.wire {
				study = &replay.Study{} // only the open loop is run
			}
			x, err = study.Run(shown, c, s)
		}
		var refusal *replay.Refusal
		switch {
		case errors.As(err, &refusal):
			r.refusals = append(r.refusals, refusedConn{shown, fmt.Sprintf("%v > %v", c.Flows[0].Src, c.Flows[0].Dst), refusal.Reason})
		case err != nil:
			wrong = fmt.Errorf("%s: connection %d: %w", shown, c.ID, err)
		default:
			r.results = append(r.results, x)
			r.first[x] = first
		}
	}})
	_, err := readCapture(cmd, name, func(p *capture.Packet) error {
		if !begun {
			first, begun = p.Time, true
		}
		rec.Add(p)
		return wrong
	})
	rec.Close()
	if n := rec.Evicted(); n > 0 {
		fmt.Fprintf(r.stderr, "tcpwheel: %s: %s left out to bound memory, see --max-conns\n", shown, plural(int64(n), "connection"))
	}
	if errors.Is(err, capture.ErrCutShort) {
		fmt.Fprintf(r.stderr, "tcpwheel: %v; what comes before was replayed\n", err)
		err = nil
	}
	if wrong != nil {
		return wrong
	}
	if err == nil {
		err = cmd.Context().Err()
	}
	return err
}
