package judge

import "math/bits"

// Shapley is what one of several changes contributes to the difference that all make together.
type Shapley struct {
	Value float64 // the mean over all orders in which the changes may be made
	First float64 // made before all others
	Last  float64 // made after all others
}

// Contributions returns what each of n changes contributes. of is the result after the changes in
// a set, whose bit i is change i; a contribution is by how much a change lowers it. The values add
// up to of(none) - of(all) (L. Shapley, "A value for n-person games", 1953). It costs n·2^n calls
// of of.
func Contributions(n int, of func(set uint) float64) []Shapley {
	factorial := make([]float64, n+1)
	factorial[0] = 1
	for i := 1; i <= n; i++ {
		factorial[i] = float64(i) * factorial[i-1]
	}
	all := make([]Shapley, n)
	for i := range all {
		bit := uint(1) << i
		for set := range uint(1) << n {
			if set&bit != 0 {
				continue
			}
			gain := of(set) - of(set|bit)
			k := bits.OnesCount(set)
			all[i].Value += float64(factorial[k] * factorial[n-k-1] / factorial[n] * gain)
			if k == 0 {
				all[i].First = gain
			}
			if k == n-1 {
				all[i].Last = gain
			}
		}
	}
	return all
}
