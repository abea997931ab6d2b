package host

import "slices"

// rangeSet is the received part of a stream, as ordered ranges that neither overlap nor touch. It
// is the simple, slow twin of the engine's reassembly.
type rangeSet []byteRange

// byteRange is [from, to).
type byteRange struct{ from, to uint64 }

// add adds [from, to), which may overlap the set.
func (s *rangeSet) add(from, to uint64) {
	if from >= to {
		return
	}
	i, _ := slices.BinarySearchFunc(*s, from, func(r byteRange, from uint64) int {
		if r.to < from {
			return -1
		}
		return 1
	})
	j := i
	for j < len(*s) && (*s)[j].from <= to {
		from, to = min(from, (*s)[j].from), max(to, (*s)[j].to)
		j++
	}
	*s = slices.Replace(*s, i, j, byteRange{from, to})
}

// prefix returns the length received without a gap from 0.
func (s rangeSet) prefix() uint64 {
	if len(s) == 0 || s[0].from != 0 {
		return 0
	}
	return s[0].to
}
