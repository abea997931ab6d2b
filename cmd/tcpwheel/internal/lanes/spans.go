package lanes

import (
	"slices"
	"time"

	"tcpwheel/wheel/stat"
)

// sortedSpans is a list of spans in rising order, so that a quantile costs nothing.
type sortedSpans []time.Duration

func (s *sortedSpans) add(d time.Duration) {
	i, _ := slices.BinarySearch(*s, d)
	*s = slices.Insert(*s, i, d)
}

// quantile returns the q-quantile, as in package stat; 0 of none.
func (s sortedSpans) quantile(q float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	return s[stat.Rank(len(s), q)]
}
