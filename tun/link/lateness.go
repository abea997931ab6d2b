package link

import (
	"math/bits"
	"time"
)

// lateness is a histogram of durations in bounded memory. A class is at most an eighth of its lower
// bound wide.
type lateness struct {
	classes [8 * 64]uint64
	n       uint64
	max     time.Duration
}

// class returns the class of a duration: itself below 8 ns, else one of 8 classes per power of two.
func class(d time.Duration) int {
	u := uint64(max(d, 0))
	if u < 8 {
		return int(u)
	}
	exp := bits.Len64(u) - 4 // u is 8 to 15 times 2^exp
	return 8*(exp+1) + int(u>>exp) - 8
}

// least returns the smallest duration of a class.
func least(class int) time.Duration {
	if class < 8 {
		return time.Duration(class)
	}
	exp := class/8 - 1
	return time.Duration(uint64(8+class%8) << exp)
}

func (l *lateness) add(d time.Duration) {
	l.classes[class(d)]++
	l.n++
	l.max = max(l.max, d)
}

// quantile returns an upper bound, at most an eighth too large, of the quantile q. It is 0 without
// samples.
func (l *lateness) quantile(q float64) time.Duration {
	rank := uint64(q * float64(l.n))
	for i, n := range l.classes {
		if n > rank {
			return min(least(i+1)-1, l.max)
		}
		rank -= n
	}
	return l.max
}
