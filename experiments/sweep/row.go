package sweep

import (
	"slices"
	"time"

	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/wheel/stat"
)

// Row is a run for the claims of a user's folder: a combination under one seed. Its parameters have
// the names of the plan's lists.
type Row struct {
	Sender    string `json:"sender" help:"label of the sender: its timers, or the plan's name for them"`
	Condition string `json:"condition" help:"the lists with several values, such as rtt=20ms; empty without any"`
	Seed      int    `json:"seed" help:"from 1; runs of one seed meet the same losses"`

	Subject  string        `json:"subject" help:"engine, binding or gvisor"`
	Timers   string        `json:"timers" help:"text of the sender's timers"`
	Peer     string        `json:"peer" help:"text of the receivers' timers"`
	Workload string        `json:"workload" help:"when objects begin"`
	Bytes    uint64        `json:"bytes" unit:"bytes" help:"of an object"`
	Flows    int           `json:"flows" help:"from the sender, each to its own receiver"`
	RTT      time.Duration `json:"rtt_ns" help:"of the path without queues"`
	Rate     string        `json:"rate" help:"of the shared link"`
	Queue    int           `json:"queue" unit:"packets" help:"most packets that wait; 0 is no bound"`
	Jitter   time.Duration `json:"jitter_ns" help:"uniform variation of the delay"`
	Reorder  float64       `json:"reorder" help:"share of packets that are late, 0 to 1"`
	Loss     string        `json:"loss" help:"towards the receivers"`
	AckLoss  string        `json:"ack_loss" help:"towards the sender"`
	Tick     time.Duration `json:"tick_ns" help:"of expiry, if the plan has a list of them"`
	Floor    time.Duration `json:"floor_ns" help:"RTO floor, if the plan has a list of them"`
	RTTTick  time.Duration `json:"rtt_tick_ns" help:"of the RTT clock, if the plan has a list of them"`

	Mean       time.Duration `json:"mean_ns" help:"time of an object"`
	Median     time.Duration `json:"median_ns" help:"time that half of the run's objects keep"`
	P95        time.Duration `json:"p95_ns" help:"time that 95 % of the run's objects keep"`
	P99        time.Duration `json:"p99_ns" help:"time that 99 % of the run's objects keep"`
	Longest    time.Duration `json:"longest_ns" help:"time of the slowest object"`
	Objects    int           `json:"objects" help:"that count: after the warm-up"`
	Unfinished int           `json:"unfinished" help:"objects that the limit cut off"`
	Goodput    float64       `json:"goodput" unit:"bit/s" help:"all flows together, from the first start to the last end"`

	Sent            int           `json:"sent" unit:"segments" help:"data segments, retransmissions included"`
	Lost            int           `json:"lost" unit:"segments" help:"data segments that the path lost"`
	Retransmissions int           `json:"retransmissions" unit:"segments" help:"data segments that were sent before"`
	Spurious        int           `json:"spurious" unit:"segments" help:"retransmissions of segments that were not lost"`
	Timeouts        uint64        `json:"timeouts" help:"of the sender"`
	Probes          uint64        `json:"probes" help:"for lost tails"`
	Repaired        int           `json:"repaired" help:"lost transmissions whose bytes were sent another time"`
	WaitSum         time.Duration `json:"wait_sum_ns" help:"from lost transmissions to the next of the same bytes, in all"`
}

// rowsOf returns a row for each result, in order.
func rowsOf(p *Plan, results []testbed.Result) any {
	rows := make([]Row, 0, len(results))
	for i, c := range p.combinations() {
		for seed := 1; seed <= p.Seeds; seed++ {
			r := &results[i*p.Seeds+seed-1]
			rate := pick(p.Rate, c, "rate")
			loss, ackLoss := pick(p.Loss, c, "loss"), pick(p.AckLoss, c, "ack_loss")
			row := Row{
				Sender: p.sender(c), Condition: p.condition(c), Seed: seed,
				Subject: pick(p.Subject, c, "subject"), Timers: pick(p.Timers, c, "timers").Text, Peer: pick(p.Peer,
					c, "peer").Text,
				Workload: pick(p.Workload, c, "workload"), Bytes: pick(p.Bytes, c, "bytes"), Flows: pick(p.Flows, c,
					"flows"),
				RTT: pick(p.RTT, c, "rtt"), Rate: rate.String(), Queue: pick(p.Queue, c, "queue"),
				Jitter:  pick(p.Jitter, c, "jitter"),
				Reorder: pick(p.Reorder, c, "reorder"), Loss: loss.String(), AckLoss: ackLoss.String(),
				Tick: pick(p.Tick, c, "tick"), Floor: pick(p.Floor, c, "floor"), RTTTick: pick(p.RTTTick, c,
					"rtt_tick"),
				Objects: len(r.Times), Unfinished: r.Unfinished, Goodput: r.Goodput(),
				Sent: r.Sent, Lost: r.Lost, Retransmissions: r.Retransmitted, Spurious: r.Spurious,
				Timeouts: r.Timeouts, Probes: r.Probes, Repaired: r.Repaired, WaitSum: r.WaitSum,
			}
			if len(r.Times) > 0 {
				row.Mean, row.Longest = time.Duration(stat.Mean(r.Times)), slices.Max(r.Times)
				at := func(q float64) time.Duration { return time.Duration(stat.Quantile(r.Times, q)) }
				row.Median, row.P95, row.P99 = at(0.5), at(0.95), at(0.99)
			}
			rows = append(rows, row)
		}
	}
	return rows
}
