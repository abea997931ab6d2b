package tailmap

import "time"

// Row is a lost tail and its repair, or a transmission of the diagram. Times of a tail count from
// the first transmission of its first lost segment.
type Row struct {
	Kind  Kind          `json:"kind" help:"map, age (segments apart), tick (coarser ticks), gvisor, ladder or sent"`
	Floor string        `json:"floor" help:"on the timeout"`
	RTT   time.Duration `json:"rtt_ns"`
	Gap   time.Duration `json:"gap_ns" help:"between the segments of a flight"`
	Tick  time.Duration `json:"tick_ns" help:"of expiry"`
	Seed  int           `json:"seed" help:"of the phase of the tick"`

	Rule           string        `json:"rule" help:"of the sender's timers"`
	Segments       int           `json:"segments" help:"of gVisor's responses"`
	Lost           int           `json:"lost" unit:"segments"`
	RTO            time.Duration `json:"rto_ns" help:"when the flight left"`
	Retransmission time.Duration `json:"retransmission_ns" help:"the first one of the tail"`
	Complete       time.Duration `json:"complete_ns" help:"the ACK of the whole tail"`
	Age            time.Duration `json:"age_ns" help:"the last ACK before the retransmission"`

	Trips   int `json:"trips" unit:"round trips" help:"until a window of one segment that doubles has sent the tail"`
	Bounded int `json:"bounded" unit:"round trips" help:"the same if it doubles up to half of the flight (RFC 5681 §3.1)"`
	Paced   int `json:"paced" unit:"round trips" help:"until one segment, then twice as many in each trip, have sent it"`

	At      time.Duration `json:"at_ns" help:"of a transmission, since the flight left"`
	Number  int           `json:"number" help:"of the transmission"`
	Segment int           `json:"segment" help:"that is transmitted, from 1"`
	Again   bool          `json:"again" help:"whether the transmission is a retransmission"`
}

// rows returns the tails, then the transmissions of the diagram.
func rows(_ *Plan, cells []Cell) (tails []Row) {
	var sent []Row
	for _, c := range cells {
		for _, t := range c.Tails {
			row := Row{Kind: c.Kind, Floor: c.Floor, RTT: c.RTT, Gap: c.Gap, Tick: c.Tick, Seed: c.Seed,
				Rule: t.Rule, Segments: t.Segments, Lost: t.Lost, RTO: t.RTO, Retransmission: t.Retransmission,
				Complete: t.Complete, Age: t.Age, Trips: rounds(t.Lost, t.Lost),
				Bounded: rounds(t.Lost, max(t.Lost/2, 2)), Paced: paced(t.Lost)}
			tails = append(tails, row)
			row.Kind = "sent"
			for i, s := range t.Sent {
				row.At, row.Number, row.Segment, row.Again = s.At, i, s.Segment, s.Again
				sent = append(sent, row)
			}
		}
	}
	return append(tails, sent...)
}

// rounds returns the round trips until a window has sent n segments. The window starts at one
// segment, doubles up to bound, and then grows by one. Without the bound that is ⌈log₂(n+1)⌉.
func rounds(n, bound int) (trips int) {
	for window := 1; n > 0; trips++ {
		n -= window
		if window*2 > bound {
			window = max(bound, window+1)
		} else {
			window *= 2
		}
	}
	return trips
}

// paced returns the round trips of a recovery that the SACK of a probe starts: RFC 9937 allows one
// segment for the SACK, and then twice as many in each round trip.
func paced(n int) (trips int) {
	trips = 1
	for sent := 1; sent < n; sent *= 2 {
		trips++
	}
	return trips
}
