package ledger

import "slices"

// Range is the positions from Start up to but excluding End. It is empty unless Start < End.
type Range struct{ Start, End int64 }

// Len returns the number of positions, 0 for an empty range.
func (r Range) Len() int64 { return max(r.End-r.Start, 0) }

// Overlaps reports whether r and o have a position in common.
func (r Range) Overlaps(o Range) bool { return r.Start < o.End && o.Start < r.End }

// Contains reports whether o lies inside r.
func (r Range) Contains(o Range) bool { return r.Start <= o.Start && o.End <= r.End }

// Set is a set of positions, as ranges in order that neither overlap nor touch. The zero value is
// empty.
type Set []Range

// find returns the index of the first range that ends at or after pos.
func (s Set) find(pos int64) int {
	i, _ := slices.BinarySearchFunc(s, pos, func(r Range, pos int64) int {
		if r.End < pos {
			return -1
		}
		return 1
	})
	return i
}

// Add adds r and returns how many positions are new.
func (s *Set) Add(r Range) (added int64) {
	if r.Start >= r.End {
		return 0
	}
	all := *s
	if n := len(all); n > 0 && all[n-1].Start <= r.Start && r.Start <= all[n-1].End { // mostly
		added = max(r.End-all[n-1].End, 0)
		all[n-1].End += added
		return added
	}
	i := all.find(r.Start)
	j, had := i, int64(0)
	for j < len(all) && all[j].Start <= r.End {
		had += all[j].Len()
		r.Start, r.End = min(r.Start, all[j].Start), max(r.End, all[j].End)
		j++
	}
	*s = slices.Replace(all, i, j, r)
	return r.Len() - had
}

// Contains reports whether all of r is in the set.
func (s Set) Contains(r Range) bool {
	if r.Start >= r.End {
		return true
	}
	i := s.find(r.Start + 1)
	return i < len(s) && s[i].Contains(r)
}

// Until returns the end of the range that contains pos or ends there; pos if there is none. For a
// stream that has arrived from position pos on it is RCV.NXT.
func (s Set) Until(pos int64) int64 {
	if i := s.find(pos); i < len(s) && s[i].Start <= pos {
		return s[i].End
	}
	return pos
}

// Common returns the parts of r that are in s, in order.
func (s Set) Common(r Range) (parts []Range) {
	for i := s.find(r.Start + 1); i < len(s) && s[i].Start < r.End; i++ {
		parts = append(parts, Range{max(s[i].Start, r.Start), min(s[i].End, r.End)})
	}
	return parts
}

// Forget removes all positions before pos.
func (s *Set) Forget(pos int64) {
	all := slices.Delete(*s, 0, s.find(pos+1))
	if len(all) > 0 {
		all[0].Start = max(all[0].Start, pos)
	}
	*s = all
}

// Len returns the number of positions.
func (s Set) Len() (n int64) {
	for _, r := range s {
		n += r.Len()
	}
	return n
}
