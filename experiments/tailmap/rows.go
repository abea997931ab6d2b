package tailmap

// Row is a lost tail and its repair, or a transmission of the diagram.
type Row struct {
	Cell
	Tail
	Trips   int `json:"trips" unit:"round trips" help:"until a window of one segment that doubles has sent the tail"`
	Bounded int `json:"bounded" unit:"round trips" help:"the same if it doubles up to half of the flight"`
	Paced   int `json:"paced" unit:"round trips" help:"the same if it sends one segment, then twice as many"`

	transmission
}

// transmission is one of the diagram.
type transmission struct {
	Sent
	Number int `json:"number" help:"of the transmission"`
}

// rows returns the tails, then the transmissions of the diagram.
func rows(_ *Plan, cells []Cell) (tails []Row) {
	var sent []Row
	for _, c := range cells {
		for _, t := range c.Tails {
			row := Row{Cell: c, Tail: t, Trips: rounds(t.Lost, t.Lost), Bounded: rounds(t.Lost, max(t.Lost/2, 2)),
				Paced: paced(t.Lost)}
			tails = append(tails, row)
			row.Kind = "sent"
			for i, s := range t.Sent {
				row.transmission = transmission{s, i}
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
