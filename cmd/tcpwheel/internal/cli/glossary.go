//go:build !js

package cli

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tcpwheel/experiments/spelling"
	"tcpwheel/experiments/tail"
	"tcpwheel/internal/record"
	"tcpwheel/internal/setting"
	"tcpwheel/netstack/sim/script"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/events"
	"tcpwheel/pcaps/track"
	"tcpwheel/pcaps/truth"
	"tcpwheel/tcptimers"
	"tcpwheel/tun/link"
	"tcpwheel/wheel/wheelbench"
)

// glossaryPart is a group of terms.
type glossaryPart struct {
	title string
	terms []glossaryTerm
}

type glossaryTerm struct{ name, meaning string }

// glossary has every term that the output, the help and the documents use in a sense of their own.
var glossary = []glossaryPart{
	{"Losses in captures", []glossaryTerm{
		{"episode", "a loss with its repair: from the first retransmission until everything in flight then is acknowledged"},
		{"D", helpOf[track.EpisodeRecord]("d_s")},
		{"A", helpOf[track.EpisodeRecord]("a_s")},
		{"P", helpOf[track.EpisodeRecord]("p_s")},
		{"T_rec", helpOf[track.EpisodeRecord]("t_rec_s")},
		{"excess", helpOf[track.EpisodeRecord]("excess_s")},
		{"ideal", helpOf[track.EpisodeRecord]("ideal_s")},
		{"timer tax", helpOf[track.EpisodeRecord]("timer_tax_s")},
		{"time lost", helpOf[track.EpisodeRecord]("time_lost_s")},
		{"stall", "an episode that lost time"},
		{"never repaired", "a loss whose data was still missing when its connection or the capture ended: counted apart from the time lost"},
		{"unmeasured", "an episode whose end the capture lacks: echo (its sender echoes timestamps that were not captured), silence (it waited too quietly) or no-acks"},
		{"outcome", helpOf[track.ConnRecord]("outcome")},
		{"timer wait", helpOf[track.EpisodeRecord]("timer_wait_s")},
		{"gap", "a silence that a timer ended: what the answer about a host's timers rests on"},
		{"kind", helpOf[track.EpisodeRecord]("kind")},
		{"spurious", "an unnecessary retransmission: an earlier transmission of the bytes arrived"},
		{"verdict", "analyze: whether a retransmission was spurious (yes, no, unknown); studies: whether a claim was reproduced"},
		{"evidence", helpOf[track.EpisodeRecord]("evidence")},
		{"ambiguous", helpOf[track.EpisodeRecord]("ambiguous")},
		{"vantage", helpOf[track.EpisodeRecord]("vantage")},
		{"settled", "an episode with its final values: one second after its end with --follow, at the end of its connection in files"},
		{"gate", "a threshold that accuracy and replay --validate must pass, or they exit with 3"},
	}},
	{"Replays", []glossaryTerm{
		{"replay", "a captured connection run again in virtual time under other timers"},
		{"path trace", "the fate and delay of each transmission in a capture"},
		{"key", "how a replay looks up a fate in the path trace: by range (bytes), by time, or by index (number)"},
		{"imputed", "filled in, because the capture does not show this fate"},
		{"horizon", "the time of the first fate drawn at random; what follows is not compared"},
		{"open loop", "replay --wire: an engine gets what the captured end received, and what it sends is only compared"},
		{"oracle", "a replay with the captured retransmission times: it measures the error of the path alone"},
		{"captured", "as a policy: the one whose timers best explain the capture"},
	}},
	{"Timers of TCP", []glossaryTerm{
		{"RTT", "round-trip time: from a segment's transmission to its acknowledgement"},
		{"SRTT, RTTVAR", "the smoothed RTT and its mean deviation (RFC 6298)"},
		{"RTO", "retransmission timeout: SRTT + 4·RTTVAR, within bounds, doubled by each timeout"},
		{"policy", "a set of rules for TCP's timers: per-segment, rfc6298, rfc7765, bsd or linux; NAME@TICK sets its tick"},
		{"profile", "a policy with all knobs set for a kind of network: internet, datacenter, linux-jiffies"},
		{"tick", "the step of a clock; timers expire only on ticks"},
		{"granularity", "how fine ticks, RTT clock and floor are"},
		{"floor", "the least RTO, 200 ms in Linux and 1 s in RFC 6298"},
		{"phase", "when the ticks are: one tick for all timers (BSD), or each timer's own"},
		{"heartbeat", "4.4BSD's 200 ms sweep, which sends all delayed ACKs"},
		{"delayed ACK", "an acknowledgement that waits for a second segment or a timer"},
		{"TLP", "tail loss probe: a retransmission of the last segment before the RTO (RFC 8985)"},
		{"RACK", "loss detection by the order of transmission times (RFC 8985)"},
		{"F-RTO", "detection of spurious timeouts (RFC 5682)"},
		{"R1, R2", "RFC 9293's thresholds: report a bad path, give the connection up"},
	}},
	{"Timing wheels", []glossaryTerm{
		{"scheme", "a data structure for timers, by the number that the timing-wheel paper gives it"},
		{"slot", "a list of a wheel: the timers whose tick is congruent to its number"},
		{"START, STOP", "the paper's names for arming and stopping a timer"},
		{"expiry", "the end of a timer's time, when its function is called"},
		{"lateness", "from a timer's deadline, or its tick, to its expiry"},
		{"lane", "one of several stacks side by side with the same requests and losses"},
		{"shard", "a wheel with its own lock; or a part of a study's run"},
	}},
	{"Values in flags and plans", []glossaryTerm{
		{"duration", "25ms, 1.5s, 200us, 1m30s or 0, always with a unit (nc -w also takes seconds)"},
		{"rate", "bit/s: 100Mbit, 1.5Gbit, 64kbit or 1e8; none is no limit"},
		{"probability", "from 0 to 1, or in percent: 0.02 or 2%"},
		{"size", "bytes: 1500, 64KiB, 1.5MB or 1e6; KiB is 1024 bytes, kB 1000"},
		{"count", "a whole number: 1000, 1_000_000 or 1e6"},
		{"switch", "on, true or 1; off, false or 0; in the text of a policy +NAME and -NAME"},
		{"text of a policy", "NAME[@TICK] [SETTING=VALUE] [+SWITCH] [-SWITCH] as in linux@1ms rto-min=5ms -tlp, or linux@1ms+rto-min=5ms-tlp"},
		{"setting", "a value of timers, connections, engines or scenarios by name, with _ or -: list them with tcpwheel glossary settings"},
		{"limit", "of a queue: 100 packets, or 64KiB"},
		{"loss", "none, a probability, or models joined by a semicolon: gilbert-elliott:p=0.01,r=0.3;packets:3,7-9"},
	}},
	{"Studies", []glossaryTerm{
		{"class", "A: exact, a law; P: compared with published figures; S: compared with a published shape"},
		{"claim", "a published result, an own law or a check, with the band that the measured one must meet"},
		{"cell", "one combination of a plan's values, run alone"},
		{"subject", "the TCP that a study measures: this engine, gVisor's or the kernel's"},
		{"live part", "a part of a study that times this machine"},
	}},
}

// helpOf returns the help of a field of a record.
func helpOf[T any](field string) string { return record.Help(reflect.TypeFor[T](), field) }

// records are the records whose fields the glossary explains, by the value of their field type.
var records = []struct {
	name string
	of   reflect.Type
}{
	{"episode", reflect.TypeFor[track.EpisodeRecord]()},
	{"connection", reflect.TypeFor[flowRow]()},
	{"host", reflect.TypeFor[track.HostRecord]()},
	{"file", reflect.TypeFor[fileRecord]()},
	{"recovery", reflect.TypeFor[replayRecord]()},
	{"policy", reflect.TypeFor[policyRecord]()},
	{"judged", reflect.TypeFor[judgedRecord]()},
	{"wire", reflect.TypeFor[wireRecord]()},
	{"packet", reflect.TypeFor[events.Packet]()},
	{"segment", reflect.TypeFor[events.Passed]()},
	{"timer", reflect.TypeFor[events.Timer]()},
	{"recovered", reflect.TypeFor[events.Repair]()},
	{"link", reflect.TypeFor[link.Summary]()},
	{"tail", reflect.TypeFor[tail.Result]()},
	{"bench", reflect.TypeFor[wheelbench.Result]()},
	{"accuracy", reflect.TypeFor[viewRecord]()},
	{"replay_accuracy", reflect.TypeFor[replayAccuracyRecord]()},
	{"damage_row", reflect.TypeFor[truth.DamageRow]()},
	{"simbench", reflect.TypeFor[simSeries]()},
}

// recordNames lists the records.
func recordNames() string {
	var names []string
	for _, r := range records {
		names = append(names, r.name)
	}
	return strings.Join(names, ", ")
}

// recordParts returns the fields named want, or those of "record NAME".
func recordParts(want string) (parts []glossaryPart) {
	for _, r := range records {
		part := glossaryPart{title: "Fields of the record " + r.name}
		for _, t := range record.Terms(r.of) {
			if want == t.Name || want == "record "+r.name {
				part.terms = append(part.terms, glossaryTerm{t.Name, t.Help})
			}
		}
		parts = append(parts, part)
	}
	return parts
}

// settingParts returns the settings named want, or all of them for "settings".
func settingParts(want string) (parts []glossaryPart) {
	seen := map[string]bool{}
	plain := func(name string) string { return strings.ReplaceAll(name, "_", "-") }
	for _, of := range []struct {
		title string
		all   []setting.Setting
	}{
		{"Settings of timers", setting.All(tcptimers.Policy{})},
		{"Settings of connections, not of replays", setting.All(tcp.Config{})},
		{"Settings of engines, in scenarios", setting.All(tcp.EngineConfig{})},
		{"Settings of a scenario: --NAME=VALUE before its first event", script.Options()},
	} {
		part := glossaryPart{title: of.title}
		for _, s := range of.all {
			names := append([]string{s.Name}, s.Aliases...)
			if seen[s.Name] || want != "settings" && !slices.ContainsFunc(names, func(name string) bool { return plain(name) == plain(want) }) {
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
			part.terms = append(part.terms, glossaryTerm{strings.Join(names, ", "), value + ": " + s.Help})
		}
		parts = append(parts, part)
	}
	return parts
}

// writeGlossary prints the terms that contain want, or all terms, and the fields of records and the
// settings that want names.
func writeGlossary(w io.Writer, want string) error {
	var b bytes.Buffer
	for i, part := range slices.Concat(glossary, recordParts(want), settingParts(want)) {
		var terms []glossaryTerm
		width := 0
		for _, t := range part.terms {
			if i >= len(glossary) || strings.Contains(strings.ToLower(t.name), strings.ToLower(want)) {
				terms = append(terms, t)
				width = max(width, len(t.name))
			}
		}
		if len(terms) == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s\n", part.title)
		for _, t := range terms {
			for i, line := range wrapped(t.meaning, terminalColumns-width-4) {
				name := t.name
				if i > 0 {
					name = ""
				}
				fmt.Fprintf(&b, "  %-*s  %s\n", width, name, line)
			}
		}
	}
	if b.Len() == 0 {
		err := fmt.Errorf("glossary: no term %q, see all with 'tcpwheel glossary'", want)
		if likely, ok := spelling.Nearest(want, glossaryTerms()); ok {
			return &usageError{err: err, hint: didYouMean(likely), failed: true}
		}
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

func newGlossary() *cobra.Command {
	return &cobra.Command{
		Use:   "glossary [TERM]",
		Short: "explain the terms of the output, a line each",
		Long: "Glossary explains the terms of the output, the help and the documents: all, or\nall that contain TERM. TERM may also be a field of JSON, CSV and tables, as d_s,\n" +
			"or record NAME for all fields of one:\n" + recordNames() + ".\n\n" +
			"TERM may be a setting of TCP too, as rto-min, or settings for all of them: in\nthe texts of policies, in flags, plans, scenarios and the demo.",
		Example: "  tcpwheel glossary\n  tcpwheel glossary 'timer tax'\n  tcpwheel glossary record episode\n  tcpwheel glossary settings",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, words []string) error {
			return writeGlossary(cmd.OutOrStdout(), strings.Join(words, " "))
		},
	}
}
