package outage

import "time"

// row is a lost flight under one timer and under a timer for each segment, or a retransmission of
// the diagram.
type row struct {
	Cell
	Case
	Set  string `json:"set" help:"flight, or sent: a retransmission of the diagram"`
	Lost int    `json:"lost" unit:"segments" help:"of the flight"`

	OneTimeouts  int           `json:"one_timeouts" help:"under one timer, until all data was acknowledged"`
	OneBytes     int           `json:"one_bytes" unit:"bytes" help:"retransmitted in the first round trip"`
	OneSsthresh  uint32        `json:"one_ssthresh" unit:"bytes" help:"after that round trip"`
	OneFirst     time.Duration `json:"one_first_ns" help:"the first retransmission"`
	EachTimeouts int           `json:"each_timeouts" help:"the same under a timer for each segment"`
	EachBytes    int           `json:"each_bytes" unit:"bytes"`
	EachSsthresh uint32        `json:"each_ssthresh" unit:"bytes"`
	EachFirst    time.Duration `json:"each_first_ns"`
	Backoffs     int           `json:"backoffs" help:"of a timer for each segment, in that round trip"`
	Blind        int           `json:"blind" unit:"segments" help:"that it sends during the outage, after the flight"`
	Spare        time.Duration `json:"spare_ns" help:"its least wait for a retransmission, minus the RTO"`

	Sender string        `json:"sender" help:"of the diagram: each, one, or naive if each timer were an event"`
	At     time.Duration `json:"at_ns" help:"of a retransmission, from the begin of the flight"`
	Number int           `json:"number" help:"of the retransmission, from 1"`
}

func rows(_ *Plan, cells []Cell) (all []row) {
	var sent []row
	for _, c := range cells {
		good := c.Flight * c.Part / 100
		for _, x := range c.Cases {
			r := row{Cell: c, Case: x, Set: "flight", Lost: c.Flight - good,
				OneTimeouts: x.One.Timeouts, OneBytes: x.One.Bytes, OneSsthresh: x.One.Ssthresh, OneFirst: x.One.First,
				EachTimeouts: x.Each.Timeouts, EachBytes: x.Each.Bytes, EachSsthresh: x.Each.Ssthresh,
				EachFirst: x.Each.First, Backoffs: x.Each.Backoffs, Blind: x.Each.Blind, Spare: x.Each.Spare}
			all = append(all, r)
			if len(x.Each.Retransmissions) == 0 {
				continue
			}
			r.Set = "sent"
			add := func(sender string, number int, at time.Duration) {
				r.Sender, r.Number, r.At = sender, number, at
				sent = append(sent, r)
			}
			for i, a := range x.Each.Retransmissions {
				add("each", i+1, a.At)
			}
			for i, a := range x.One.Retransmissions {
				add("one", i+1, a.At)
			}
			for i, at := range starts(&c)[good:] {
				add("naive", i+1, at+c.RTO)
			}
		}
	}
	return append(all, sent...)
}
