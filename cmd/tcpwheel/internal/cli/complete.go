//go:build !js

package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/pcaps/replay"
	"tcpwheel/tcptimers"
	"tcpwheel/tun/up"
	"tcpwheel/wheel/wheelbench"
)

// flagValues has the values of flags, by the names of flags. "replay --policy" takes precedence for
// the command replay. Lists are completed after the last comma.
var flagValues = map[string]func() []string{
	"policy":        tcptimers.Names,
	"replay policy": replay.PolicyNames,
	"congestion":    congestion.Names,
	"lanes":         func() []string { return slices.Concat(comparisonKeys(), tcptimers.Names(), []string{up.GVisor}) },
	"tcp":           func() []string { return []string{up.Ours, up.GVisor} },
	"rate":          traceRates,
	"schemes":       func() []string { return append(wheelbench.Schemes(), all) },
	"workloads": func() (names []string) {
		for _, w := range wheelbench.Workloads() {
			names = append(names, w.Name)
		}
		return append(names, all)
	},
}

// argumentValues has the values of arguments, by the paths of commands.
var argumentValues = map[string]func() []string{
	"tcpwheel analyze":         sampleArguments,
	"tcpwheel replay":          sampleArguments,
	"tcpwheel experiment show": studyNames,
	"tcpwheel experiment run":  studyNames,
}

// completeValues lets the shell complete the values of flags and arguments of cmd and of its
// subcommands. Where files are arguments, too, it completes their names.
func completeValues(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		values := flagValues[cmd.Name()+" "+f.Name]
		if values == nil {
			values = flagValues[f.Name]
		}
		if values == nil {
			return
		}
		list := strings.HasSuffix(f.Value.Type(), "Slice")
		err := cmd.RegisterFlagCompletionFunc(f.Name, func(_ *cobra.Command, _ []string, typed string) (found []string, _ cobra.ShellCompDirective) {
			before := typed[:strings.LastIndex(typed, ",")+1]
			if !list {
				before = ""
			}
			for _, v := range values() {
				found = append(found, before+v)
			}
			return startingWith(typed, found), cobra.ShellCompDirectiveNoFileComp
		})
		if err != nil {
			panic("BUG: " + err.Error())
		}
	})
	if values := argumentValues[cmd.CommandPath()]; values != nil {
		cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			directive := cobra.ShellCompDirectiveDefault
			if cmd.Name() == "show" {
				directive = cobra.ShellCompDirectiveNoFileComp
			}
			return startingWith(typed, slices.DeleteFunc(values(), func(v string) bool { return slices.Contains(args, v) })), directive
		}
	}
	for _, sub := range cmd.Commands() {
		completeValues(sub)
	}
}

// startingWith returns the values that begin with what was typed.
func startingWith(typed string, values []string) []string {
	return slices.DeleteFunc(values, func(v string) bool { return !strings.HasPrefix(v, typed) })
}

func traceRates() (rates []string) {
	for _, s := range sim.SampleTraces {
		rates = append(rates, "trace:"+samplePrefix+s.Name)
	}
	return append(rates, "none")
}

func sampleArguments() []string { return prefixed(sampleNames()) }
