package sweep

import (
	"slices"
	"time"

	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/wheel/stat"
)

// Row is a combination under one seed, for tables and figures, and for other programs. Its
// parameters have the names of the plan's lists.
type Row struct {
	Combination int    `json:"combination" help:"its number, from 0: conditions first, then senders"`
	Sender      string `json:"sender" help:"label of the sender: its timers, or the plan's name for them"`
	Condition   string `json:"condition" help:"the lists with several values, such as rtt=20ms; empty without any"`
	Seed        int    `json:"seed" help:"from 1; runs of one seed meet the same losses"`

	Subject    string        `json:"subject" help:"engine, binding or gvisor"`
	Timers     string        `json:"timers" help:"text of the sender's timers"`
	Name       string        `json:"name" help:"of the sender's timers: the plan's, or their text"`
	Peer       string        `json:"peer" help:"text of the receivers' timers"`
	Workload   string        `json:"workload" help:"when objects begin"`
	Bytes      uint64        `json:"bytes" unit:"bytes" help:"of an object"`
	Flows      int           `json:"flows" help:"from the sender, each to its own receiver"`
	RTT        time.Duration `json:"rtt_s" help:"of the path without queues"`
	Rate       string        `json:"rate" help:"of the shared link"`
	Queue      int           `json:"queue" unit:"packets" help:"most packets that wait; 0 is no bound"`
	Jitter     time.Duration `json:"jitter_s" help:"uniform variation of the delay"`
	Reorder    float64       `json:"reorder" help:"share of packets that are late, 0 to 1"`
	Loss       string        `json:"loss" help:"towards the receivers"`
	AckLoss    string        `json:"ack_loss" help:"towards the sender"`
	Control    string        `json:"control" help:"congestion control, if the plan has a list of them"`
	SACK       string        `json:"sack" help:"true or false, if the plan has a list of them"`
	Timestamps string        `json:"timestamps" help:"true or false, if the plan has a list of them"`
	Tick       time.Duration `json:"tick_s" help:"of expiry, if the plan has a list of them"`
	Floor      time.Duration `json:"floor_s" help:"RTO floor, if the plan has a list of them"`
	RTTTick    time.Duration `json:"rtt_tick_s" help:"of the RTT clock, if the plan has a list of them"`
	Wheel      string        `json:"wheel" help:"scheme of the timing wheel, if the plan has a list of them"`

	Time       time.Duration   `json:"time_s" help:"of an object, mean"`
	Median     time.Duration   `json:"median_s" help:"time that half of the run's objects keep"`
	P95        time.Duration   `json:"p95_s" help:"time that 95 % of the run's objects keep"`
	P99        time.Duration   `json:"p99_s" help:"time that 99 % of the run's objects keep"`
	Shortest   time.Duration   `json:"shortest_s" help:"time of the fastest object"`
	Longest    time.Duration   `json:"longest_s" help:"time of the slowest object"`
	Times      []time.Duration `json:"-"` // of all objects
	Objects    int             `json:"objects" help:"that count: after the warm-up"`
	Unfinished int             `json:"unfinished" help:"objects that the limit cut off"`
	Goodput    float64         `json:"goodput" unit:"bit/s" help:"all flows together, first start to last end"`

	First      bool          `json:"first" help:"whether the sender is the first one of its condition"`
	FirstTime  time.Duration `json:"first_time_s" help:"of an object of the first sender, mean"`
	Difference time.Duration `json:"difference_s" help:"from the first sender, object by object, mean"`
	Sooner     int           `json:"sooner" help:"objects that took over 1 % less than with the first sender"`
	Later      int           `json:"later" help:"objects that took over 1 % more"`

	Sent            int             `json:"sent" unit:"segments" help:"data segments, retransmissions included"`
	Lost            int             `json:"lost" unit:"segments" help:"data segments that the path lost"`
	Retransmissions int             `json:"retransmissions" unit:"segments" help:"data segments that were sent before"`
	Spurious        int             `json:"spurious" unit:"segments" help:"retransmissions of segments that were not lost"`
	Timeouts        uint64          `json:"timeouts" help:"of the sender"`
	Probes          uint64          `json:"probes" help:"for lost tails"`
	Repaired        int             `json:"repaired" help:"lost transmissions whose bytes were sent another time"`
	WaitSum         time.Duration   `json:"wait_sum_s" help:"from lost transmissions to the next of those bytes, in all"`
	Waits           []time.Duration `json:"-"` // each of them

	Counted  bool   `json:"counted" help:"whether its wheel's operations were counted: not gVisor's own timers"`
	Starts   uint64 `json:"starts" help:"START_TIMER of the sender's wheel"`
	Stops    uint64 `json:"stops" help:"STOP_TIMER"`
	Expiries uint64 `json:"expiries" help:"EXPIRY_PROCESSING"`
	Visits   uint64 `json:"visits" help:"records that the wheel looked at"`
	Wakeups  uint64 `json:"wakeups" help:"ticks with a busy slot"`

	shown
}

// shown is where figures show a combination: along x, in lines and panels.
type shown struct {
	Along      string  `json:"-"` // the list along x, the longest numeric one; empty without any
	Unit       string  `json:"-"` // of that list's numbers
	Numeric    bool    `json:"-"` // whether that list has numbers
	X          float64 `json:"-"` // the value of that list
	XLabel     string  `json:"-"` // its label; the sender without such a list
	Everywhere bool    `json:"-"` // whether the sender has no such value
	Line       string  `json:"-"` // the sender, without that list
	Panel      string  `json:"-"` // the condition, without that list
}

// rowsOf returns a row for each result, in order.
func rowsOf(p *Plan, results []testbed.Result) []Row {
	rows := make([]Row, 0, len(results))
	first := map[string]int{}
	figures := p.shows()
	for i, c := range p.combinations() {
		row := p.row(c)
		row.Combination, row.shown = i, figures(c)
		base, ok := first[row.Condition]
		if !ok {
			first[row.Condition], base = i, i
		}
		row.First = base == i
		for n := range p.Seeds {
			of := row
			of.Seed = p.FirstSeed + n
			of.measure(&results[i*p.Seeds+n], &results[base*p.Seeds+n])
			rows = append(rows, of)
		}
	}
	return rows
}

// row returns what a combination is.
func (p *Plan) row(c combination) Row {
	rate := pick(p.Rate, c, "rate")
	loss, ackLoss := pick(p.Loss, c, "loss"), pick(p.AckLoss, c, "ack_loss")
	labels := p.labels(c)
	return Row{
		Sender: p.sender(c), Condition: p.condition(c), Name: labels["timers"],
		Subject: pick(p.Subject, c, "subject"), Timers: pick(p.Timers, c, "timers").Text,
		Peer: pick(p.Peer, c, "peer").Text, Workload: pick(p.Workload, c, "workload"),
		Bytes: pick(p.Bytes, c, "bytes"), Flows: pick(p.Flows, c, "flows"),
		RTT: pick(p.RTT, c, "rtt"), Rate: rate.String(), Queue: pick(p.Queue, c, "queue"),
		Jitter: pick(p.Jitter, c, "jitter"), Reorder: pick(p.Reorder, c, "reorder"),
		Loss: loss.String(), AckLoss: ackLoss.String(), Control: labels["control"], SACK: labels["sack"],
		Timestamps: labels["timestamps"], Tick: pick(p.Tick, c, "tick"), Floor: pick(p.Floor, c, "floor"),
		RTTTick: pick(p.RTTTick, c, "rtt_tick"), Wheel: labels["wheel"],
	}
}

// measure sets what a run measured, also against the first sender's run under the same seed.
func (row *Row) measure(r, first *testbed.Result) {
	if len(r.Times) == 0 {
		return // no object counts
	}
	row.Time, row.FirstTime = time.Duration(stat.Mean(r.Times)), time.Duration(stat.Mean(first.Times))
	row.Shortest, row.Longest = slices.Min(r.Times), slices.Max(r.Times)
	at := func(q float64) time.Duration { return time.Duration(stat.Quantile(r.Times, q)) }
	row.Median, row.P95, row.P99 = at(0.5), at(0.95), at(0.99)
	row.Times, row.Objects, row.Unfinished, row.Goodput = r.Times, len(r.Times), r.Unfinished, r.Goodput()
	row.Sent, row.Lost, row.Retransmissions, row.Spurious = r.Sent, r.Lost, r.Retransmitted, r.Spurious
	row.Timeouts, row.Probes, row.Repaired = r.Timeouts, r.Probes, r.Repaired
	row.WaitSum, row.Waits = r.WaitSum, r.Waits
	if w := r.Wheel; w != nil {
		row.Counted = true
		row.Starts, row.Stops, row.Expiries, row.Visits, row.Wakeups = w.Starts, w.Stops, w.Expiries, w.Visits, w.Wakeups
	}
	var sum time.Duration
	for i, ours := range r.Times {
		theirs := first.Times[i]
		sum += ours - theirs
		switch share := float64(ours-theirs) / float64(max(1, theirs)); {
		case share < -0.01:
			row.Sooner++
		case share > 0.01:
			row.Later++
		}
	}
	row.Difference = sum / time.Duration(len(r.Times))
}

// shows returns where figures show each combination.
func (p *Plan) shows() func(c combination) shown {
	axes := p.axes()
	numeric := p.varying((*axis).numeric)
	conditions := p.varying(func(a *axis) bool { return !a.sender })
	along := -1
	if len(numeric) > 0 {
		along = numeric[0]
	} else if len(conditions) > 0 {
		along = conditions[0]
	}
	return func(c combination) (s shown) {
		label := func(i int) string { return axes[i].labels[c[i]] }
		if along < 0 {
			s.XLabel, s.Line, s.Panel = p.sender(c), "all objects", p.condition(c)
		} else {
			a := &axes[along]
			s.Along, s.Unit, s.Numeric, s.XLabel = a.key, a.unit, a.numeric(), label(along)
			s.Line, s.Panel = p.sender(c, a.key), p.condition(c, a.key)
			if s.Numeric {
				s.X = a.values[c[along]]
			}
			s.Everywhere = a.sender && p.pointless(c, a.key)
		}
		return s
	}
}
