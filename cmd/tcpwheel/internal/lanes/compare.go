package lanes

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tcpwheel/internal/setting"
	"tcpwheel/tcptimers"
)

// Comparison is a pair of lanes that differ in one thing, and what that is. The first four are steps:
// each begins with the second lane of the one before.
type Comparison struct {
	Key     string    `json:"key"`
	Button  string    `json:"button"`
	Heading string    `json:"heading"`
	Why     string    `json:"why"`
	Labels  [2]string `json:"labels"`

	lanes [2]string
}

const (
	oldClock   = "rfc6298@500ms+rtt-tick=500ms+rto-min=1s+var-min=50ms"
	newClock   = "rfc6298@1ms+rtt-tick=1ms+rto-min=1s+var-min=50ms"
	noFloor    = "rfc6298@1ms+rtt-tick=1ms+rto-min=1ms+var-min=50ms"
	newRescue  = noFloor + "+rack+tlp+frto"
	perSegment = newRescue + "+rexmit=per-segment"
)

// Comparisons are those that a page offers.
var Comparisons = []Comparison{
	{"clock", "1 a finer clock", "The same TCP with a clock of 500 ms and with a clock of 1 ms",
		"Timers expire on ticks, and round trips are counted in them. The least timeout stays 1 s, so the fine clock saves only the wait for the tick.",
		[2]string{"clock of 500 ms", "clock of 1 ms"}, [2]string{oldClock, newClock}},
	{"floor", "2 then no floor", "The same TCP, clock of 1 ms, with a least timeout of 1 s and with none",
		"RFC 6298 asks for a least timeout of 1 s. Without it a timeout is what the path needs: here the round trip and 50 ms for a delayed ACK. It may then come too early, so count the spurious retransmissions.",
		[2]string{"floor of 1 s", "no floor"}, [2]string{newClock, noFloor}},
	{"recovery", "3 then RACK and TLP", "The same TCP, fine clock, no floor, that finds losses by three duplicate ACKs and by RACK and TLP",
		"RACK finds a loss by the ACK of one later packet, and a tail loss probe repairs an end that no later packet follows. Fewer losses wait for the timeout.",
		[2]string{"duplicate ACKs", "RACK and TLP"}, [2]string{noFloor, newRescue}},
	{"timer", "4 then a timer per segment", "The same TCP, with RACK and TLP, with one timer for a connection and with a timer for each segment",
		"One timer restarts with each ACK, so a later packet waits longer than its timeout. A timer per segment expires one timeout after its own packet left. With all before, little is left to save.",
		[2]string{"one timer", "timer per segment"}, [2]string{newRescue, perSegment}},
	{"4.4bsd", "4.4BSD as it was", "4.4BSD’s timers as they were, and a timer per segment: all steps at once",
		"The list below has all in which they differ.",
		[2]string{"4.4BSD", "per-segment"}, [2]string{"bsd", "per-segment"}},
	{"vs-linux", "Linux", "Linux’s timers and a timer per segment",
		"Linux has RACK and TLP and a least timeout of the round trip and 200 ms. The list below has all in which they differ.",
		[2]string{"Linux", "per-segment"}, [2]string{"linux", "per-segment"}},
	{"lwip", "lwIP", "lwIP’s timers, and a timer per segment",
		"Small devices run lwIP: ticks of 500 ms and duplicate ACKs, as in 4.4BSD. The list below has all in which they differ.",
		[2]string{"lwIP", "per-segment"}, [2]string{"lwip", "per-segment"}},
}

// comparisonOf returns the comparison that has these lanes, nil if there is none.
func comparisonOf(names []string) *Comparison {
	for i := range Comparisons {
		if slices.Equal(names, Comparisons[i].lanes[:]) {
			return &Comparisons[i]
		}
	}
	return nil
}

// lanesOf returns lanes with the key of a comparison, alone, as its lanes.
func lanesOf(names []string) []string {
	if len(names) == 0 {
		return Comparisons[0].lanes[:]
	}
	for i := range Comparisons {
		if len(names) == 1 && names[0] == Comparisons[i].Key {
			return Comparisons[i].lanes[:]
		}
	}
	return names
}

// described is the comparison that has these lanes, or one made up of their names.
func described(names []string) Comparison {
	if c := comparisonOf(names); c != nil {
		return *c
	}
	c := Comparison{Heading: strings.Join(names, ", ") + ", side by side"}
	if len(names) > 1 {
		c.Why = "The list below has all in which the first two differ."
	}
	return c
}

// labels returns what lanes are called.
func labels(names []string) []string {
	if c := comparisonOf(names); c != nil {
		return c.Labels[:]
	}
	return names
}

// differences lists the settings of timers in which the first two lanes differ, nil if one has no
// such settings.
func differences(names []string) (all []string) {
	if len(names) < 2 {
		return nil
	}
	var of [2]map[string]string
	for i := range of {
		p, err := tcptimers.ParsePolicy(names[i])
		if err != nil {
			return nil // gVisor
		}
		text, err := setting.Marshal(&p)
		var tree map[string]any
		if err != nil || json.Unmarshal(text, &tree) != nil {
			panic(fmt.Sprintf("BUG: policy %s: %v", names[i], err))
		}
		of[i] = map[string]string{}
		flatten(of[i], "", tree)
	}
	both := maps.Clone(of[0])
	maps.Copy(both, of[1])
	for _, name := range slices.Sorted(maps.Keys(both)) {
		if x, y := cmp.Or(of[0][name], "none"), cmp.Or(of[1][name], "none"); x != y {
			all = append(all, name+": "+x+", "+y)
		}
	}
	return all
}

// flatten collects the values of nested objects, by their joined names.
func flatten(into map[string]string, prefix string, tree map[string]any) {
	for name, v := range tree {
		if sub, ok := v.(map[string]any); ok {
			flatten(into, prefix+name+".", sub)
			continue
		}
		into[prefix+name] = fmt.Sprint(v)
	}
}
