package truth

import (
	"time"

	"tcpwheel/pcaps/track"
)

// Confusion counts by true kind and found kind. The last column is missed ones, the last row false
// ones.
type Confusion [track.Kinds + 1][track.Kinds + 1]int

// Right returns the number found as what they are, and the number of all.
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

// Verdicts counts retransmissions that arrived, by whether they were spurious and by verdict.
type Verdicts [2][3]int

// parts returns precision and recall of the verdict spurious.
func (v *Verdicts) parts() (precision, recall Part) {
	right := v[1][track.Spurious]
	return Part{right, v[0][track.Spurious] + right}, Part{right, v[1][track.Undecided] + v[1][track.Necessary] + right}
}

// Precision returns the truly spurious part of those called spurious, in percent.
func (v *Verdicts) Precision() float64 {
	p, _ := v.parts()
	return percent(p.Right, p.All)
}

// Recall returns the part of the spurious ones that was called so, in percent.
func (v *Verdicts) Recall() float64 {
	_, p := v.parts()
	return percent(p.Right, p.All)
}

// percent returns 100 for 0 of 0.
func percent(part, all int) float64 {
	if all == 0 {
		return 100
	}
	return 100 * float64(part) / float64(all)
}

// Tally is the result of a comparison. Tallies add up.
type Tally struct {
	Episodes Confusion // by the first retransmission
	Packets  Confusion
	Verdicts Verdicts
	InPlace  int // probes called timeouts, which count as right

	// Unreported counts spurious retransmissions that were not found because the ACK with the DSACK
	// was lost. Verdicts leaves them out.
	Unreported int

	Errors []time.Duration // of D, for episodes of the right kind

	Flows []FlowShares // one entry per flow

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

// Kinds returns the episodes of the right kind, in percent.
func (s *Tally) Kinds() float64 { return percent(s.Episodes.Right()) }
