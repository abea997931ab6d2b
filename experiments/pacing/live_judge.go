package pacing

import (
	"fmt"
	"math"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
)

// judgeClock judges the times of a released packet.
func judgeClock(p *Plan, all []timing) *experiments.Outcome {
	most := p.Flows[len(p.Flows)-1]
	times := func(queue string) experiments.Measure {
		for _, t := range all {
			if t.queue == queue && t.flows == most {
				return judge.Said("%v times as long as the wheel for a packet", t.ratio).Judging(t.ratio.Value)
			}
		}
		return experiments.Measured(math.NaN(), "")
	}
	out := &experiments.Outcome{}
	out.Judge(
		experiments.Claim{
			Name: "eiffel", Class: experiments.OfOthers, Tag: experiments.FromPrint,
			Text: fmt.Sprintf("a wheel with a bitmap of its busy slots paces so many times the flows of a red-black tree, at "+
				"%d flows", most),
			Published: "3 to 40 times, in cores or in flows", Source: "Saeed et al., Eiffel, NSDI 2019, abstract",
			Basis: "the least that was printed", Measured: times("tree"),
			Expected:  experiments.AtLeast(3, "").OrDiffers(experiments.Above(1, "")),
			Otherwise: "here both move the retransmission timer on a wheel",
			Look: experiments.Look{Read: experiments.ReadAbstract,
				Quote: "We show that it outperforms state of the art systems by 3-40x in terms of either number of cores " +
					"utilized for network processing or number of flows given fixed processing capacity.",
				Turns: "flows, and what else a packet costs: the abstract compares whole packet schedulers in the kernel and " +
					"in user space, and here only the queues are timed, with a wheel for the retransmission timers in both"},
		},
		experiments.Claim{
			Name: "heap", Class: experiments.Law, Tag: experiments.Computed,
			Text:   fmt.Sprintf("container/heap for both timers takes longer than one wheel, at %d flows", most),
			Source: "Varghese and Lauck, 1997, Table II: log n against 1", Basis: "the order", Measured: times("heap"),
			Expected:  experiments.Above(1, "times as long"),
			Otherwise: "the heap is in the caches, or other work ran on this machine",
		})
	t := experiments.Table{Name: "clock", Title: "A released packet on this machine: its release is set, and its flow's " +
		"retransmission timer moved; flows of one packet each 12 ms (1 Mbit/s) that a processor would pace if it did " +
		"nothing else", Columns: []string{"queue", "flows", "ns per packet", "fastest", "slowest", "times one wheel",
		"least", "most", "flows per processor", "bytes per flow"}}
	for _, x := range all {
		t.Add(x.queue, x.flows, x.packet.Value, x.packet.Lo, x.packet.Hi, x.ratio.Value, x.ratio.Lo, x.ratio.Hi,
			1e9/x.packet.Value*0.012, x.bytes)
	}
	out.Tables = append(out.Tables, t)
	return out
}

// judgeSenders judges the gaps of real senders.
func judgeSenders(p *Plan, all []sender) *experiments.Outcome {
	of := func(name string) (cells []Cell) {
		for _, s := range all {
			if s.name == name {
				cells = append(cells, s.Cell)
			}
		}
		return cells
	}
	out := &experiments.Outcome{}
	out.Judge(sameAsTCP("this kernel's TCP", of("kernel"), map[string]string{
		"no-pacing": "other work on this machine, which joins trains",
		"goodput":   "gap_bytes below 20 MB, as the slow start weighs more",
		"dropped":   "whether HyStart ends the slow start before the queue is full, which a busy machine decides",
	}, [3]string{"other work on this machine joins trains, or its kernel's version leaves others",
		"losses leave the bottleneck idle, or this machine was busy",
		"nearly all are lost where HyStart does not end the slow start in time"})...)
	out.Judge(
		experiments.Claim{
			Name: "precise", Class: experiments.Law, Tag: experiments.Computed,
			Text:      "the binding with pacing, as 'up --pacing', spaces packets as precisely as fq was found to do",
			Source:    "gaps.csv, of quiche over fq without GSO: from the data of Kempf et al., QUIC Steps",
			Basis:     "their measurement, by their own rule for trains",
			Measured:  experiments.Measured(perSent(of("binding-paced"), alone), "% of the packets alone"),
			Expected:  experiments.AtLeast(fqAlone, "%").OrDiffers(experiments.AtLeast(50, "%")),
			Otherwise: "this machine was busy, so that the timer's expiry came late",
		},
		experiments.Claim{
			Name: "rate", Class: experiments.Law, Tag: experiments.Computed, Text: "pacing costs the binding no goodput",
			Source: "definition of pacing: its rate is 1.2 windows in a round trip",
			Basis:  "a tenth of what the binding has without pacing",
			Measured: experiments.Measured(100*(perTook(of("binding-paced"))/perTook(of("binding"))-1),
				"% more than without pacing"),
			Expected:  experiments.AtLeast(-10, "%").OrDiffers(experiments.AtLeast(-50, "%")),
			Otherwise: "on a busy machine a release that comes late delays all later ones",
		})
	t := gapsTable(p.Train, nil)
	t.Name, t.Columns = "kernel", append([]string{"sender", "packets"}, t.Columns[2:]...)
	for _, s := range all {
		c := []Cell{s.Cell}
		t.Add(s.name, s.Sent, perSent(c, alone), perSent(c, upTo5), s.Longest, s.Dropped, perTook(c)/1e6)
	}
	out.Tables = append(out.Tables, t)
	return out
}
