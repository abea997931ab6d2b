//go:build !js

package cli

import (
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
		listTerms("Policies", []term{
			{"per-segment, internet", "a timer for each segment, RTO of SRTT + at least 50 ms, tick of 1 ms: the default"},
			{"datacenter", "a timer for each segment, RTO of SRTT + at least 5 ms, tick of 10 µs"},
			{"rfc6298", "one timer, a floor of 1 s, no RACK, TLP or F-RTO"},
			{"rfc7765", "the same with RTO restart"},
			{"linux", "one timer, RTO of SRTT + at least 200 ms, jiffies of 4 ms: linux@1ms for kernels with 1000 Hz"},
			{"bsd", "4.4BSD: one timer, ticks of 500 ms, delayed ACKs every 200 ms"},
			{"lwip", "lwIP: one timer, ticks of 500 ms, delayed ACKs every 250 ms"},
			{"captured, gvisor, windows", "replay only: the stack that explains the captured timers best, and two known ones"},
		}),
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
		listTerms("Values", []term{
			{"duration", "25ms, 1.5s, 200us, 1m30s or 0, always with a unit"},
			{"rate", "bit/s: 100Mbit, 1.5Gbit, 64kbit or 1e8; none is no limit; trace:FILE varies, in mahimahi's format; trace:sample:NAME (tcpwheel samples)"},
			{"probability", "from 0 to 1, or in percent: 0.02 or 2%"},
			{"size", "bytes: 1500, 64KiB, 1.5MB or 1e6; KiB is 1024 bytes, kB 1000"},
			{"count", "a whole number: 1000, 1_000_000 or 1e6"},
			{"limit", "of a queue: 100 packets, or 64KiB"},
			{"loss", "none, a probability, or models joined by a semicolon"},
		}),
		listTerms("Models of loss", []term{
			{"0.02, 2%", "each packet by chance"},
			{"gilbert-elliott:p=0.01,r=0.3", "bursts: p begins one, r ends it; good=0 and bad=1 are the losses"},
			{"packets:3,7-9", "these packets of a direction, counted from 1"},
			{"ranges:0-1448@1", "the first transmission of these bytes of each TCP stream"},
			{"outages:1s-1.5s", "every packet sent then"},
			{"trace:00101*", "packet by packet, 1 is lost; the star repeats it"},
		}),
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
	return listTerms("Ways to look up what becomes of a packet", []term{
		{"by range", "the n-th transmission of bytes fares as in the capture; sums are by range"},
		{"by time", "a packet fares as what left then"},
		{"by index", "the n-th packet fares as the n-th"},
	}) + "\n" + listTerms("Verdicts on a policy, of five losses or more", []term{
		{"saves, costs", "all three agree, and the interval of 99 % is on one side of 0, by more than 3 % of its recovery times and half of what the control may be wrong by"},
		{"no effect", "interval, lookups and control are within 5 %, or 1 ms a loss, less two round trips"},
		{"cannot tell", "it lacks what the line names"},
	})
}

func termsTopic() string {
	return strings.Join([]string{
		listTerms("Losses in captures", []term{
			{"episode", "a loss with its repair: from the first retransmission until everything in flight then is acknowledged"},
			{"D, A, P", "detection, attempts and proof: the parts of the recovery time T_rec (d_s, a_s and p_s in JSON)"},
			{"ideal", "the shortest possible D; D less the ideal is the timer tax"},
			{"time lost", "how long the receiver's application got nothing that the path could have brought"},
			{"timer wait", "the part of the time lost that the sender waited for its timers"},
			{"stall", "an episode that lost time"},
			{"never repaired", "a loss whose data was still missing when its connection or the capture ended: counted apart from the time lost"},
			{"unmeasured", "an episode whose end the capture lacks: echo (its sender echoes timestamps that were not captured), silence (it waited too quietly) or no-acks"},
			{"gap", "a silence that a timer ended: the answer about a host's timers rests on these"},
			{"kind", "the cause of an episode's first retransmission"},
			{"spurious", "an unnecessary retransmission: an earlier transmission of the bytes arrived"},
			{"vantage", "the point of capture: sender, receiver, middle, both or unknown"},
		}),
		listTerms("Replays", []term{
			{"replay", "a captured connection run again in virtual time under other timers"},
			{"path trace", "the fate and delay of each transmission in a capture"},
			{"lookup", "how a replay finds a fate in the path trace: by range (bytes), by time, or by index (number)"},
			{"imputed", "filled in, because the capture does not show this fate"},
			{"horizon", "the time of the first fate drawn at random; later events are not compared"},
			{"open loop", "replay --wire: an engine gets the packets that the captured end received, and its own are only compared"},
			{"control", "the replay with the captured retransmission times: it measures the error of the path alone"},
		}),
		listTerms("Timers of TCP", []term{
			{"RTT, SRTT, RTTVAR", "round-trip time from a segment's transmission to its ACK, its smoothed mean and its mean deviation (RFC 6298)"},
			{"RTO", "retransmission timeout: SRTT + 4·RTTVAR, within bounds, doubled by each timeout"},
			{"tick", "the step of a clock; timers expire only on ticks"},
			{"granularity", "how fine ticks, RTT clock and floor are"},
			{"floor", "the least RTO, 200 ms in Linux and 1 s in RFC 6298"},
			{"phase", "when the ticks are: one tick for all timers (BSD), or each timer's own"},
			{"TLP", "tail loss probe: a retransmission of the last segment before the RTO (RFC 8985)"},
			{"RACK", "loss detection by the order of transmission times (RFC 8985)"},
			{"F-RTO", "detection of spurious timeouts (RFC 5682)"},
		}),
		listTerms("Studies", []term{
			{"class", "A: exact, a law; P: compared with published figures; S: compared with a published shape"},
			{"claim", "a published result, an own law or a check, with the band that the measured one must meet"},
			{"cell", "one combination of a plan's values, run alone"},
			{"subject", "the TCP that a study measures: this engine, gVisor's or the kernel's"},
			{"live part", "a part of a study that times this machine"},
		}),
	}, "\n")
}
