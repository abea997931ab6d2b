//go:build !js

package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tcpwheel/experiments/tail"
	"tcpwheel/tcptimers"
)

// tailCommand are the flags of tail.
type tailCommand struct {
	config   tail.Config
	policies []string
	beside   []string
	within   float64
	asJSON   bool
	html     string
	pcap     string
}

func newTail() *cobra.Command {
	t := new(tailCommand)
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "how soon each TCP retransmits a lost last segment",
		Long: "Tail measures how long senders take to retransmit the last segment of a response\n" +
			"after it was lost once: our TCP with timer policies, gVisor's, and Linux's. It\n" +
			"measures on an emulated path: the time from the segment's first transmission to\n" +
			"its retransmission, in ms and in RTTs, the timer that sent it, and the time until\n" +
			"the response was complete.\n\n" +
			"The column spurious counts unnecessary retransmissions in that run and in a run\n" +
			"without losses. In the latter the client delays the ACK of a lone segment by\n" +
			"40 ms; ACK after is the delay as measured. With --delay-acks it does so in both.\n\n" +
			"The client is the kernel's TCP, and so is Linux's sender, in network namespaces\n" +
			"that the command makes and removes. That needs root. With --virtual everything\n" +
			"runs in virtual time, without Linux and root, with the same result each time.\n\n" +
			"--html writes a page with a figure for each size. --pcap writes the packets of\n" +
			"the runs with losses. A comment names the timer that sent a packet.\n\n" +
			"A policy is NAME or NAME@TICK, perhaps with settings, as in linux+rto-floor=5ms:\n" +
			"tcpwheel glossary settings. With --within it exits with 3 if the first policy takes more\n" +
			"RTTs than that, or retransmits spuriously.",
		Example: "  tcpwheel tail --virtual --policy rfc6298,linux,linux+rto-floor=20ms",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !t.config.Virtual {
				if err := needLinux("tail without --virtual", namespaces); err != nil {
					return err
				}
			}
			return t.run(cmd)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	durationFlag(f, &t.config.RTT, "rtt", "10ms", "round-trip time of the path")
	f.IntVar(&t.config.Count, "count", 20, "connections of each run")
	f.IntSliceVar(&t.config.Segments, "segments", []int{1, 10}, "sizes of the response")
	f.StringSliceVar(&t.policies, "policy", []string{tcptimers.DefaultPolicy, "bsd"}, "timer policies of our TCP")
	f.StringSliceVar(&t.beside, "beside", []string{tail.GVisor, tail.Linux}, "other senders")
	f.BoolVar(&t.config.DelayAcks, "delay-acks", false, "delay ACKs also where the segment is lost")
	f.BoolVar(&t.config.Virtual, "virtual", false, "in virtual time")
	f.Float64Var(&t.within, "within", 0, "exit with 3 above so many RTTs (0: never)")
	f.StringVar(&t.html, "html", "", "page to write")
	f.StringVar(&t.pcap, "pcap", "", "pcapng file to write")
	f.BoolVar(&t.asJSON, "json", false, "print one JSON object per line")
	return cmd
}

func (t *tailCommand) run(cmd *cobra.Command) error {
	c := &t.config
	if !cmd.Flags().Changed("beside") && c.Virtual {
		t.beside = []string{tail.GVisor}
	}
	for _, p := range t.policies {
		c.Senders = append(c.Senders, tail.Ours(p))
	}
	c.Senders = append(c.Senders, t.beside...)
	if err := c.Check(); err != nil {
		return usage(cmd, fmt.Errorf("tail: %w", err))
	}
	if t.within < 0 || t.within > 0 && len(t.policies) == 0 {
		return usage(cmd, fmt.Errorf("tail: within %v RTTs of %d policies, want 0 or more, and at least one policy", t.within, len(t.policies)))
	}
	for _, out := range []struct{ flag, name string }{{"html", t.html}, {"pcap", t.pcap}} {
		if out.name != "" {
			if err := checkOutFile(out.flag, out.name, nil); err != nil {
				return usage(cmd, fmt.Errorf("tail: %w", err))
			}
		}
	}
	results, err := t.measure(cmd)
	if err != nil {
		return err
	}
	if t.html != "" {
		err := writeWhole(t.html, func(w io.Writer) error { return tail.WritePage(w, results, t.command(cmd)) })
		if err != nil {
			return err
		}
	}
	write := tail.WriteTable
	if t.asJSON {
		write = writeRecords[tail.Result]
	}
	if err := write(cmd.OutOrStdout(), results); err != nil {
		return err
	}
	return checkWithin(results, t.within)
}

// command returns the call without the files that it writes.
func (t *tailCommand) command(cmd *cobra.Command) string {
	words := []string{cmd.CommandPath()}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "html" && f.Name != "pcap" && f.Name != "json" {
			words = append(words, "--"+f.Name+"="+strings.Trim(f.Value.String(), "[]"))
		}
	})
	return strings.Join(words, " ")
}

// measure runs all senders, and writes the capture if one is wanted.
func (t *tailCommand) measure(cmd *cobra.Command) (results []tail.Result, err error) {
	var progress func(string)
	status := statusLine{w: cmd.ErrOrStderr()}
	if isTerminal(status.w) {
		progress = status.show
	}
	defer status.stop()
	if t.pcap == "" {
		return tail.Run(cmd.Context(), t.config, progress)
	}
	err = writeWhole(t.pcap, func(w io.Writer) (err error) {
		buffered := bufio.NewWriter(w)
		if t.config.Capture, err = tail.NewCapture(buffered); err != nil {
			return err
		}
		if results, err = tail.Run(cmd.Context(), t.config, progress); err == nil {
			err = errors.Join(t.config.Capture.Err(), buffered.Flush())
		}
		return err
	})
	return results, err
}

// checkWithin returns a violation if the first sender takes more than that many round trips or
// retransmits unnecessarily. 0 is no bound.
func checkWithin(results []tail.Result, within float64) error {
	for _, r := range results {
		switch {
		case within == 0 || r.Sender != results[0].Sender:
		case r.RetransmitRTTs > within:
			return &violation{fmt.Errorf("tail: %s, last of %d segments: retransmitted after %.1f RTTs, want at most %v", r.Sender, r.Segments, r.RetransmitRTTs, within)}
		case r.Spurious+r.ControlSpurious > 0:
			return &violation{fmt.Errorf("tail: %s, last of %d segments: %d spurious retransmissions, want none", r.Sender, r.Segments, r.Spurious+r.ControlSpurious)}
		}
	}
	return nil
}
