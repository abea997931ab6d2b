package all

// keep returns the items that want accepts, in their order.
func keep[T any](all []T, want func(*T) bool) (kept []T) {
	for i := range all {
		if want(&all[i]) {
			kept = append(kept, all[i])
		}
	}
	return kept
}

// group is the items with one key.
type group[K comparable, T any] struct {
	Key   K
	Items []T
}

// groupBy groups items by a key, in order of first occurrence.
func groupBy[K comparable, T any](all []T, key func(*T) K) (groups []group[K, T]) {
	index := map[K]int{}
	for i := range all {
		k := key(&all[i])
		at, ok := index[k]
		if !ok {
			at = len(groups)
			index[k], groups = at, append(groups, group[K, T]{Key: k})
		}
		groups[at].Items = append(groups[at].Items, all[i])
	}
	return groups
}

// valuesOf returns a number of each item.
func valuesOf[T any](all []T, of func(*T) float64) []float64 {
	values := make([]float64, len(all))
	for i := range all {
		values[i] = of(&all[i])
	}
	return values
}
