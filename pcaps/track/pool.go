package track

import "math/bits"

// pool recycles arrays whose lengths are powers of two. Arrays that grow then leave no garbage, and
// the next ones are still in the caches. The zero value is ready to use.
type pool[T any] struct {
	free  [mostPooled + 1][][]T // by the logarithm of the length
	fresh []T                   // the rest of the last block of short arrays
}

const (
	mostPooled = 10  // the logarithm of the longest arrays to keep
	poolBlock  = 256 // elements that are allocated at once, for arrays of at most an eighth
)

// get returns an array of n elements, a power of two. Their values are undefined.
func (p *pool[T]) get(n int) []T {
	k := bits.TrailingZeros(uint(n))
	if k <= mostPooled {
		if all := p.free[k]; len(all) > 0 {
			a := all[len(all)-1]
			p.free[k] = all[:len(all)-1]
			return a
		}
	}
	if 8*n > poolBlock {
		return make([]T, n)
	}
	if len(p.fresh) < n {
		p.fresh = make([]T, poolBlock)
	}
	a := p.fresh[:n:n]
	p.fresh = p.fresh[n:]
	return a
}

// put takes back an array that get has returned, or nil.
func (p *pool[T]) put(a []T) {
	if len(a) == 0 {
		return
	}
	if k := bits.TrailingZeros(uint(len(a))); k <= mostPooled {
		p.free[k] = append(p.free[k], a)
	}
}

// grow returns a longer array of n elements that begins with those of a, which it takes back.
func (p *pool[T]) grow(a []T, n int) []T {
	b := p.get(n)
	copy(b, a)
	p.put(a)
	return b
}
