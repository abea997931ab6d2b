package wheel

import "math/bits"

// bitmap marks the busy slots of a wheel: the paper's scanning chip (Appendix A) in software. A
// second level marks the words that are not zero, and a third level the words of the second. So
// the next busy slot of up to 2^24 is found in a few instructions, over any gap.
type bitmap struct {
	words []uint64 // a bit per slot
	sums  []uint64 // a bit per word
	top   []uint64 // a bit per word of sums; at most 2^24/2^18 = 64 words
}

func newBitmap(slots int) bitmap {
	w := (slots + 63) / 64
	s := (w + 63) / 64
	return bitmap{words: make([]uint64, w), sums: make([]uint64, s), top: make([]uint64, (s+63)/64)}
}

func (b *bitmap) set(i uint32) {
	b.words[i>>6] |= 1 << (i & 63)
	b.sums[i>>12] |= 1 << (i >> 6 & 63)
	b.top[i>>18] |= 1 << (i >> 12 & 63)
}

func (b *bitmap) clear(i uint32) {
	if b.words[i>>6] &^= 1 << (i & 63); b.words[i>>6] == 0 {
		if b.sums[i>>12] &^= 1 << (i >> 6 & 63); b.sums[i>>12] == 0 {
			b.top[i>>18] &^= 1 << (i >> 12 & 63)
		}
	}
}

func (b *bitmap) has(i uint32) bool { return b.words[i>>6]>>(i&63)&1 != 0 }

// idle reports that none of the n slots after i is busy, n ≥ 1. It looks at the word of i alone, and
// returns false where they reach beyond it.
func (b *bitmap) idle(i, slots uint32, n uint64) bool {
	return n < uint64(min(slots, i|63+1)-i) && b.words[i>>6]>>(i&63+1)<<(64-n) == 0
}

// next returns the first busy slot from i on, without wrapping around.
func (b *bitmap) next(i uint32) (uint32, bool) {
	w := i >> 6
	if int(w) >= len(b.words) {
		return 0, false
	}
	if m := b.words[w] >> (i & 63); m != 0 {
		return i + uint32(bits.TrailingZeros64(m)), true
	}
	return b.nextWord(w + 1)
}

// nextWord returns the first busy slot of the words from w on.
func (b *bitmap) nextWord(w uint32) (uint32, bool) {
	s := w >> 6
	if int(s) >= len(b.sums) {
		return 0, false
	}
	if m := b.sums[s] >> (w & 63); m != 0 {
		return b.first(w + uint32(bits.TrailingZeros64(m))), true
	}
	s++
	for t := s >> 6; int(t) < len(b.top); t++ {
		m := b.top[t]
		if t == s>>6 {
			m = m >> (s & 63) << (s & 63)
		}
		if m != 0 {
			s = t<<6 + uint32(bits.TrailingZeros64(m))
			return b.first(s<<6 + uint32(bits.TrailingZeros64(b.sums[s]))), true
		}
	}
	return 0, false
}

// first returns the first busy slot of word w, which is not zero.
func (b *bitmap) first(w uint32) uint32 {
	return w<<6 + uint32(bits.TrailingZeros64(b.words[w]))
}

// after returns how many slots after i the next busy slot of a ring lies: 1 to slots, or 0 if no
// slot is busy. slots is a power of two.
func (b *bitmap) after(i, slots uint32) uint32 {
	if s, ok := b.next((i + 1) & (slots - 1)); ok {
		return (s-i-1)&(slots-1) + 1
	}
	if s, ok := b.next(0); ok {
		return (s-i-1)&(slots-1) + 1
	}
	return 0
}
