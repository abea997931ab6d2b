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

// argumentValues has the values of arguments, by the paths of commands. With files, names of files
// are completed, too.
var argumentValues = map[string]struct {
	values func() []string
	files  bool
}{
	"tcpwheel analyze":         {sampleArguments, true},
	"tcpwheel replay":          {sampleArguments, true},
	"tcpwheel experiment show": {studyNames, false},
	"tcpwheel experiment run":  {studyNames, true},
}

// completeValues lets the shell complete the values of flags and arguments of cmd and of its
// subcommands.
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
		complete := func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			before := ""
			if i := strings.LastIndex(typed, ","); list && i >= 0 {
				before, typed = typed[:i+1], typed[i+1:]
			}
			return startingWith(before, typed, values()), cobra.ShellCompDirectiveNoFileComp
		}
		if err := cmd.RegisterFlagCompletionFunc(f.Name, complete); err != nil {
			panic("BUG: " + err.Error())
		}
	})
	if a, ok := argumentValues[cmd.CommandPath()]; ok {
		cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			directive := cobra.ShellCompDirectiveNoFileComp
			if a.files {
				directive = cobra.ShellCompDirectiveDefault
			}
			left := slices.DeleteFunc(a.values(), func(v string) bool { return slices.Contains(args, v) })
			return startingWith("", typed, left), directive
		}
	}
	for _, sub := range cmd.Commands() {
		completeValues(sub)
	}
}

// startingWith returns the values that begin with what was typed, each after before.
func startingWith(before, typed string, values []string) (found []string) {
	for _, v := range values {
		if strings.HasPrefix(v, typed) {
			found = append(found, before+v)
		}
	}
	return found
}

func traceRates() (rates []string) {
	for _, s := range sim.SampleTraces {
		rates = append(rates, "trace:"+samplePrefix+s.Name)
	}
	return append(rates, "none")
}

func sampleArguments() []string { return prefixed(sampleNames()) }
