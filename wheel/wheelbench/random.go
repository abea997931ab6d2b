package wheelbench

import "math/bits"

// wyrand is Wang Yi's 64-bit generator: a sum and a product, inlined, with the same numbers on
// every machine. The next number depends on the sum alone, so that timed code does not wait for
// it.
type wyrand uint64

func newWyrand(seed uint64) wyrand { return wyrand(seed) }

func (x *wyrand) next() uint64 {
	*x += 0xa0761d6478bd642f
	hi, lo := bits.Mul64(uint64(*x), uint64(*x)^0xe7037ed1a0b428db)
	return hi ^ lo
}

// maxInterval is the longest interval of the workloads, in ticks.
const maxInterval = 10_000

// interval returns 1 to maxInterval from the upper half of r, without a division.
func interval(r uint64) uint64 { return 1 + r>>32*maxInterval>>32 }

// below returns 0 to n-1 from the lower half of r. n is at most 2^32.
func below(r, n uint64) uint64 { return r & (1<<32 - 1) * n >> 32 }
