package experiments

// Select returns the items that keep accepts, in their order.
func Select[T any](all []T, keep func(*T) bool) (kept []T) {
	for i := range all {
		if keep(&all[i]) {
			kept = append(kept, all[i])
		}
	}
	return kept
}

// Group is the items with one key.
type Group[K comparable, T any] struct {
	Key   K
	Items []T
}

// GroupBy groups items by a key, in order of first occurrence.
func GroupBy[K comparable, T any](all []T, key func(*T) K) (groups []Group[K, T]) {
	index := map[K]int{}
	for i := range all {
		k := key(&all[i])
		at, ok := index[k]
		if !ok {
			at = len(groups)
			index[k], groups = at, append(groups, Group[K, T]{Key: k})
		}
		groups[at].Items = append(groups[at].Items, all[i])
	}
	return groups
}

// Values returns a number of each item.
func Values[T any](all []T, of func(*T) float64) []float64 {
	values := make([]float64, len(all))
	for i := range all {
		values[i] = of(&all[i])
	}
	return values
}
