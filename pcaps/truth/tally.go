package truth

import (
	"time"

	"tcpwheel/pcaps/track"
)

// Confusion counts by what is true and by what was found. The last column is what was not found, and the last row what is none.
type Confusion [track.Kinds + 1][track.Kinds + 1]int

// Right returns how many were found as what they are, and how many there are.
func (c *Confusion) Right() (right, all int) {
	for i := range c {
		for k, n := range c[i] {
			all += n
			if i == k {
				right += n
			}
		}
	}
	return right, all
}

// Verdicts counts retransmissions that arrived: by whether they were spurious, and by what was said.
type Verdicts [2][3]int

// parts returns what is spurious of what was called so, and what was called so of what is.
func (v *Verdicts) parts() (precision, recall Part) {
	right := v[1][track.Spurious]
	return Part{right, v[0][track.Spurious] + right}, Part{right, v[1][track.Undecided] + v[1][track.Necessary] + right}
}

// Precision returns the part of what was called spurious that is, in percent.
func (v *Verdicts) Precision() float64 {
	p, _ := v.parts()
	return percent(p.Right, p.All)
}

// Recall returns the part of what is spurious that was called so, in percent.
func (v *Verdicts) Recall() float64 {
	_, p := v.parts()
	return percent(p.Right, p.All)
}

// percent is 100 of nothing.
func percent(part, all int) float64 {
	if all == 0 {
		return 100
	}
	return 100 * float64(part) / float64(all)
}

// Tally is how an analysis came out. Tallies add up.
type Tally struct {
	Episodes Confusion // by the first retransmission
	Packets  Confusion
	Verdicts Verdicts
	InPlace  int // probes that were called timeouts, and count as right

	// Unreported is how many spurious retransmissions were not found of which no DSACK came to the sender, as the ACK with it was lost. They
	// are not among Verdicts.
	Unreported int

	Errors []time.Duration // of D, for episodes of the right kind

	Flows []FlowShares // by flow

	Labels Labels // tshark's, of the retransmitted packets
}

// Add adds o.
func (s *Tally) Add(o *Tally) {
	for i := range s.Episodes {
		for k := range s.Episodes[i] {
			s.Episodes[i][k] += o.Episodes[i][k]
			s.Packets[i][k] += o.Packets[i][k]
		}
	}
	for i := range s.Verdicts {
		for k := range s.Verdicts[i] {
			s.Verdicts[i][k] += o.Verdicts[i][k]
		}
	}
	s.InPlace += o.InPlace
	s.Unreported += o.Unreported
	s.Errors = append(s.Errors, o.Errors...)
	s.Flows = append(s.Flows, o.Flows...)
	s.Labels.add(&o.Labels)
}

// Kinds returns the part of the episodes that are of the right kind, in percent.
func (s *Tally) Kinds() float64 { return percent(s.Episodes.Right()) }
