//go:build !js

package cli

import (
	_ "embed"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tcpwheel/internal/setting"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/script"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
)

// newTopics returns the topics of help: commands that do nothing.
func newTopics() (topics []*cobra.Command) {
	for _, t := range []struct {
		name, short string
		text        func() string
	}{
		{"policies", "the timer policies, and the settings of TCP", policiesTopic},
		{"links", "emulated links: values, loss models, plans", linksTopic},
		{"devices", "devices, addresses and namespaces of up and link", devicesTopic},
		{"terms", "the terms of the output", termsTopic},
		{"verdicts", "when replay says that other timers save time", verdictsTopic},
		{"statuses", "the exit statuses", statusesTopic},
	} {
		cmd := &cobra.Command{Use: t.name, Short: t.short}
		cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { io.WriteString(cmd.OutOrStdout(), t.text()) })
		topics = append(topics, cmd)
	}
	return topics
}

// topicsText has the terms of the topics: a name, a bar and a meaning a line, under headings.
//
//go:embed topics.txt
var topicsText string

// terms lists the terms under a heading.
func terms(heading string) string {
	_, rest, ok := strings.Cut(topicsText, "# "+heading+"\n")
	if !ok {
		panic("BUG: no terms under " + heading)
	}
	rest, _, _ = strings.Cut(rest, "\n\n")
	var all []term
	for line := range strings.Lines(rest) {
		name, meaning, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " | ")
		all = append(all, term{name, meaning})
	}
	return listTerms(heading, all)
}

// settingsOf returns the settings of a type that are not in seen, and adds them to it.
func settingsOf(all []setting.Setting, seen map[string]bool) (terms []term) {
	for _, s := range all {
		if seen[s.Name] {
			continue
		}
		seen[s.Name] = true
		value := strings.Join(s.Values, ", ")
		if s.Kind == "switch" || value == "" {
			value = s.Kind
		}
		if s.Bounds != "" {
			value += ", " + s.Bounds
		}
		if s.Help != "" {
			value += ": " + s.Help
		}
		terms = append(terms, term{strings.Join(append([]string{s.Name}, s.Aliases...), ", "), value})
	}
	return terms
}

func policiesTopic() string {
	seen := map[string]bool{}
	return strings.Join([]string{
		`A policy is a set of rules for TCP's timers. Its text is a name, perhaps a tick,
and settings: NAME[@TICK] [SETTING=VALUE] [+SWITCH] [-SWITCH]. Settings follow
after blanks, or after + and - without blanks, so that these are the same:

  linux@1ms rto-min=5ms -tlp
  linux@1ms+rto-min=5ms-tlp

Names have _ or -. Replays take the settings of timers only.
`,
		terms("Policies"),
		listTerms("Settings of timers", settingsOf(setting.All(tcptimers.Policy{}), seen)),
		listTerms("Settings of connections, not of replays", settingsOf(setting.All(tcp.Config{}), seen)),
		listTerms("Settings of engines, in scenarios", settingsOf(setting.All(tcp.EngineConfig{}), seen)),
		listTerms("Settings of a scenario: --NAME=VALUE before its first event", settingsOf(script.Options(), seen)),
	}, "\n")
}

func linksTopic() string {
	return strings.Join([]string{
		`An emulated link delays, loses and impairs packets. The flags of up and link are
its fields; demo and the plans of studies take the same values. With the same
seed, packet n of a direction meets the same fate each time.
`,
		terms("Values"),
		terms("Models of loss"),
		listTerms("Fields: flags, keys of --a-to-b and --b-to-a, and of plans", settingsOf(setting.All(sim.LinkConfig{}), map[string]bool{})),
		describedBy("links", newLink()),
		paragraph("A flag holds for both directions and changes the plan. Up has no --a-to-b and no --b-to-a. "+
			"A plan is a JSON file. link's has a_to_b and b_to_a, up's from_stack and to_stack, and perhaps a seed:") + `
  {"from_stack": {"delay": "25ms", "loss": "packets:3,7-9"},
   "to_stack": {"delay": "25ms", "rate": "100Mbit"}, "seed": 7}
`,
	}, "\n")
}

func devicesTopic() string {
	return paragraph("Up as root, or link, makes its TUN devices where it is called, or in network namespaces. Up with --rootless makes "+
		"a user namespace with a network of its own, in which COMMAND runs, or a shell at a terminal, and ends with it and with its exit status. "+
		"Both remove their devices at the end.") + "\n" + describedBy("devices", newUp()) + "\n" + describedBy("devices", newLink())
}

func statusesTopic() string {
	return listTerms("Exit statuses", exitStatuses) + "\nlink and up end with the status of a COMMAND that fails.\n"
}

func verdictsTopic() string {
	return terms("Ways to look up what becomes of a packet") + "\n" + terms("Verdicts on a policy, of five losses or more")
}

func termsTopic() string {
	return strings.Join([]string{
		terms("Losses in captures"),
		terms("Replays"),
		terms("Timers of TCP"),
		terms("Studies"),
	}, "\n")
}
