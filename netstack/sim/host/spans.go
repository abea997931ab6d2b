package host

import "slices"

// spans are the places in a stream that have arrived, as spans in order that neither overlap nor touch. It is the dumb twin of
// the engine's reassembly, and not fast.
type spans []span

// span is [from, to).
type span struct{ from, to uint64 }

// add adds [from, to), in whole or in part there already or not.
func (s *spans) add(from, to uint64) {
	if from >= to {
		return
	}
	i, _ := slices.BinarySearchFunc(*s, from, func(r span, from uint64) int {
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
	*s = slices.Replace(*s, i, j, span{from, to})
}

// prefix returns how much has arrived without a gap from 0 on.
func (s spans) prefix() uint64 {
	if len(s) == 0 || s[0].from != 0 {
		return 0
	}
	return s[0].to
}
