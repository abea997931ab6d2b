package stat

// Sample keeps an even part of many values: all of the first ones, then every second one, and so
// on. The zero value is empty.
type Sample[T any] struct {
	kept []T
	step int // one value in step is kept
	seen int
}

// Add adds a value. most is how many are kept at most: an even number, the same in all calls.
func (s *Sample[T]) Add(v T, most int) {
	if s.seen%s.Step() == 0 {
		if len(s.kept) >= most {
			s.Halve()
		}
		s.kept = append(s.kept, v)
	}
	s.seen++
}

// Halve drops every second value that is kept.
func (s *Sample[T]) Halve() {
	n := (len(s.kept) + 1) / 2
	for i := range n {
		s.kept[i] = s.kept[2*i]
	}
	s.kept, s.step = s.kept[:n], 2*s.Step()
}

// Kept returns the values that are kept, as they came. The caller may sort them when no more are
// added.
func (s *Sample[T]) Kept() []T { return s.kept }

// Seen returns how many values were added.
func (s *Sample[T]) Seen() int { return s.seen }

// Step returns how many values there are for each that is kept.
func (s *Sample[T]) Step() int { return max(s.step, 1) }
