package truth

import (
	"fmt"
	"io"
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

// write writes the table, without the rows of what there is none of.
func (c *Confusion) write(w io.Writer) {
	fmt.Fprintf(w, "%14s", "true \\ found")
	for k := range track.Kinds {
		fmt.Fprintf(w, "%9s", track.Kind(k))
	}
	fmt.Fprintf(w, "%9s\n", "missed")
	for i := range c {
		if c[i] == [track.Kinds + 1]int{} {
			continue
		}
		name := "none"
		if i < track.Kinds {
			name = track.Kind(i).String()
		}
		fmt.Fprintf(w, "%14s", name)
		for _, n := range c[i] {
			fmt.Fprintf(w, "%9d", n)
		}
		fmt.Fprintln(w)
	}
}

// Verdicts counts retransmissions that arrived: by whether they were spurious, and by what was said.
type Verdicts [2][3]int

// Precision returns the part of what was called spurious that is, in percent.
func (v *Verdicts) Precision() float64 {
	return percent(v[1][track.Spurious], v[0][track.Spurious]+v[1][track.Spurious])
}

// Recall returns the part of what is spurious that was called so, in percent.
func (v *Verdicts) Recall() float64 {
	return percent(v[1][track.Spurious], v[1][track.Undecided]+v[1][track.Necessary]+v[1][track.Spurious])
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
}

// Kinds returns the part of the episodes that are of the right kind, in percent.
func (s *Tally) Kinds() float64 { return percent(s.Episodes.Right()) }

// Write writes the tables.
func (s *Tally) Write(w io.Writer) {
	right, all := s.Episodes.Right()
	fmt.Fprintf(w, "%d of %d episodes are of the right kind: %.2f %%\n", right, all, s.Kinds())
	if s.InPlace > 0 {
		fmt.Fprintf(w, "of those, probes in place of a timeout that were called timeouts: %d\n", s.InPlace)
	}
	s.Episodes.write(w)
	right, all = s.Packets.Right()
	fmt.Fprintf(w, "%d of %d retransmitted packets: %.2f %%\n", right, all, percent(right, all))
	s.Packets.write(w)
	v := &s.Verdicts
	fmt.Fprintf(w, "spurious: %.2f %% of what is called so is, %.2f %% of what is is called so\n", v.Precision(), v.Recall())
	if s.Unreported > 0 {
		fmt.Fprintf(w, "beside those that were not found, as their DSACKs were lost: %d\n", s.Unreported)
	}
	fmt.Fprintf(w, "%14s%9s%9s%9s\n", "spurious", track.Undecided, track.Necessary, track.Spurious)
	for i, name := range [2]string{"no", "yes"} {
		fmt.Fprintf(w, "%14s%9d%9d%9d\n", name, v[i][track.Undecided], v[i][track.Necessary], v[i][track.Spurious])
	}
}
