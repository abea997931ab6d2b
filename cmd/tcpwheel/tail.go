package main

import (
	"fmt"

	"github.com/spf13/cobra"

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
}

func newTail() *cobra.Command {
	t := new(tailCommand)
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "how soon a lost last segment is sent again, by whose TCP",
		Long: "Tail measures how long senders take to notice that the last segment of a\n" +
			"response was lost, once: our TCP by timer policies, gVisor's, and Linux's, over\n" +
			"an emulated path, as seen on the path. It tells the time from the segment's\n" +
			"first transmission to the next, which timer sent it, and when the response was\n" +
			"complete, all from its first transmission on.\n\n" +
			"In vain is what was sent again beyond what was lost, in that run and in one\n" +
			"without losses, in which the client puts off the ACK of a lone segment by 40 ms,\n" +
			"as the last column shows. With --delay-acks it does so in both.\n\n" +
			"The client is the kernel, in a network namespace that the command makes and\n" +
			"removes, as is that of Linux's sender: it needs root. With --virtual all runs\n" +
			"in virtual time, without Linux and without root, and always the same.\n\n" +
			"A policy is the name of one or of a profile, or NAME:FLOOR with another floor on\n" +
			"the variation in the timeout. With --within it exits with 3 if the first policy\n" +
			"takes more round trips than that, or sends in vain.",
		Example: "  tcpwheel tail --virtual --policy per-segment,per-segment:20ms,rfc6298",
		RunE:    func(cmd *cobra.Command, _ []string) error { return t.run(cmd) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	durationFlag(f, &t.config.RTT, "rtt", "10ms", "round-trip time of the path")
	f.IntVar(&t.config.Count, "count", 20, "connections of each run")
	f.IntSliceVar(&t.config.Segments, "segments", []int{1, 10}, "sizes of the response")
	f.StringSliceVar(&t.policies, "policy", []string{tcptimers.DefaultPolicy}, "timer policies of our TCP")
	f.StringSliceVar(&t.beside, "beside", []string{tail.GVisor, tail.Linux}, "other senders")
	f.BoolVar(&t.config.DelayAcks, "delay-acks", false, "put ACKs off also where the segment is lost")
	f.BoolVar(&t.config.Virtual, "virtual", false, "in virtual time")
	f.Float64Var(&t.within, "within", 0, "exit with 3 beyond so many round trips (0: never)")
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
		return usage(cmd, fmt.Errorf("tail: within %v round trips of %d policies, want a number from 0 on, and one at least", t.within, len(t.policies)))
	}
	var progress func(string)
	status := statusLine{w: cmd.ErrOrStderr()}
	if isTerminal(status.w) {
		progress = status.show
	}
	results, err := tail.Run(cmd.Context(), *c, progress)
	status.stop()
	if err != nil {
		return err
	}
	write := tail.WriteTable
	if t.asJSON {
		write = writeRecords[tail.Result]
	}
	if err := write(cmd.OutOrStdout(), results); err != nil {
		return err
	}
	return tailBar(results, t.within)
}

// tailBar returns an error if the first sender breaks the bar: so many round trips, and nothing in vain. 0 is no bar.
func tailBar(results []tail.Result, within float64) error {
	for _, r := range results {
		switch {
		case within == 0 || r.Sender != results[0].Sender:
		case r.ResendRTT > within:
			return &violation{fmt.Errorf("tail: %s, %d segments: sent again after %.1f round trips, want %v at most", r.Sender, r.Segments, r.ResendRTT, within)}
		case r.Spurious+r.ControlSpurious > 0:
			return &violation{fmt.Errorf("tail: %s, %d segments: sent again %d times in vain, want none", r.Sender, r.Segments, r.Spurious+r.ControlSpurious)}
		}
	}
	return nil
}
