package wheel

import (
	"math"
	"math/bits"
)

// lazyLevels are the clock of scheme7-lazy and of an Of, and the busy slots of their levels: all
// that does not depend on where records lie. A list is known by its number: level and slot, or
// beyond.
type lazyLevels struct {
	// The short paths of START take deadlines from first on: less than span later if the timer's
	// place comes up in time, less than reach later if it is in no list.
	first Time // 1 ns after the instant of cur
	span  uint64
	reach uint64

	dueBy uint64 // first, in ns after the origin: earlier deadlines are due
	scale uint64 // ⌊2^64/size⌋+1: multiplying by it divides intervals below reach by size
	next  uint64 // cur+1
	mask  uint64 // slots of a level - 1

	inner [lazySlots / 64]uint64 // a bit per slot of level 0: 1 if it is busy

	started uint64 // timers started and ended: two sums, so that neither waits for the other
	ended   uint64

	ticker
	now        uint64   // the instant of cur, in ns after the origin
	cur        uint64   // the last tick processed, or the one being processed
	coming     uint64   // earliest tick at which a coarser slot or the list beyond may come up
	wrap       uint64   // tick at which the list beyond comes up
	end        uint64   // where the current Advance ends
	target     uint64   // the latest tick asked for; see front.target
	maxReach   uint64   // reach while the end of time is far
	last       Time     // the instant of the last tick, or the origin if the facility counts
	busy       []uint64 // as inner for the coarser levels, in whole words
	words      uint32   // words of a level
	levels     uint8
	bits       uint8 // log2 of the slots of a level
	counting   bool  // span, reach and dueBy stay 0, so that no short path is taken
	expiring   bool  // inside the expiry function
	unfinished bool  // an Advance was cut short by its limit
}

const lazySlots = 1 << 12 // most slots of a level

func (w *lazyLevels) init(cfg Config) {
	w.ticker = newTicker(cfg.Origin, cfg.Tick)
	w.levels, w.bits, w.mask = levels(cfg), slotBits(cfg), uint64(cfg.Slots-1)
	w.coming, w.wrap, w.counting = noTick, noTick, cfg.Count
	w.words = uint32(cfg.Slots+63) / 64
	w.busy = make([]uint64, w.words*uint32(w.levels-1))
	w.last = cfg.Origin
	if !cfg.Count {
		w.last = w.time(w.div(math.MaxInt64))
	}
	if size, slots := uint64(w.size), uint64(cfg.Slots); size > 1 && size <= math.MaxUint32/slots {
		w.maxReach, w.scale = w.mask*size, math.MaxUint64/size+1
	}
	w.setCur(0)
}

// beyond is the number of the list of timers beyond the last level.
func (w *lazyLevels) beyond() uint32 { return uint32(w.levels) << w.bits }

// Now returns the instant of the last tick processed, or of the one being processed.
func (w *lazyLevels) Now() Time { return w.origin + Time(w.now) }

// Len returns the number of running timers.
func (w *lazyLevels) Len() int { return int(w.started - w.ended) }

// setCur moves the clock to a tick, and lets the short paths be taken if the facility does not
// count and the end of time is not reached.
func (w *lazyLevels) setCur(tick uint64) {
	w.cur, w.next, w.now = tick, tick+1, tick*uint64(w.size)
	w.first, w.dueBy, w.span = w.origin+Time(w.now)+1, 0, 0
	if w.first > w.origin && w.first <= w.last {
		w.dueBy = w.now + 1
		w.span = uint64(w.last) - uint64(w.first) + 1
	}
	w.reach = min(w.maxReach, w.span)
}

// bitsOf returns the words with the bits of a level's busy slots.
func (w *lazyLevels) bitsOf(level uint8) []uint64 {
	if level == 0 {
		return w.inner[:w.words]
	}
	return w.busy[uint32(level-1)*w.words:][:w.words]
}

// listFor returns the list for a timer that is due after now, its level, and the first deadline for
// which the list comes up in time. It marks the list busy.
func (w *lazyLevels) listFor(deadline uint64) (list uint32, level uint8, from uint64) {
	tick, shift := w.up(deadline), uint8(0)
	for ; level < w.levels; level, shift = level+1, shift+w.bits {
		if n := tick >> (shift & 63); n-w.cur>>(shift&63) <= w.mask {
			slot, comes := uint32(n&w.mask), n<<(shift&63)
			w.bitsOf(level)[slot>>6] |= 1 << (slot & 63)
			if level > 0 {
				w.coming = min(w.coming, comes)
			}
			return uint32(level)<<(w.bits&31) | slot, level, (comes-1)*uint64(w.size) + 1
		}
	}
	start := tick >> shift << shift // the level wraps around, and reaches the tick from there
	w.wrap, w.coming = min(w.wrap, start), min(w.coming, start)
	return w.beyond(), level, (start-1)*uint64(w.size) + 1
}

// step moves cur to the first tick up to end at which a list may come up. If there is none it moves
// cur to end, and returns false.
func (w *lazyLevels) step() bool {
	if w.cur >= w.end {
		return false
	}
	tick := w.coming
	if m := w.inner[w.next&w.mask>>6&(lazySlots/64-1)] >> (w.next & w.mask & 63); m != 0 {
		tick = min(tick, w.next+uint64(bits.TrailingZeros64(m)))
	} else {
		tick = min(tick, w.nextSlot(0))
	}
	if tick > w.end {
		w.setCur(w.end)
		return false
	}
	w.setCur(tick)
	return true
}

// cascade passes the coarser lists that come up at cur to takeApart, with their levels: coarse
// levels first.
func (w *lazyLevels) cascade(takeApart func(list uint32, level uint8)) {
	w.coming = noTick
	if w.cur == w.wrap {
		w.wrap = noTick
		takeApart(w.beyond(), w.levels)
	}
	for level := w.levels - 1; level > 0; level-- {
		shift := level * w.bits & 63
		slot := uint32(w.cur >> shift & w.mask)
		if word := &w.bitsOf(level)[slot>>6]; w.cur>>shift<<shift == w.cur && *word>>(slot&63)&1 != 0 {
			*word &^= 1 << (slot & 63)
			takeApart(uint32(level)<<w.bits|slot, level)
		}
	}
	w.coming = w.wrap
	for level := uint8(1); level < w.levels; level++ {
		w.coming = min(w.coming, w.nextSlot(level))
	}
}

// nextSlot returns the tick at which the next busy slot of a level comes up, or noTick.
func (w *lazyLevels) nextSlot(level uint8) uint64 {
	shift := level * w.bits & 63
	n := w.cur >> shift
	if ahead := nextBusy(w.bitsOf(level), n, w.mask); ahead != 0 {
		return (n + ahead) << shift
	}
	return noTick
}

// nextBusy returns how many slots after slot n of a ring the next busy one lies, up to a rotation,
// or 0 if none is busy. The ring has mask+1 slots, and a bit for each in whole words.
func nextBusy(busy []uint64, n, mask uint64) uint64 {
	words := uint64(len(busy))
	from := (n + 1) & mask
	// The word of slot from comes first with the slots from there on, and last with those before.
	for k := range words + 1 {
		i := (from>>6 + k) & (words - 1)
		m := busy[i]
		switch k {
		case 0:
			m = m >> (from & 63) << (from & 63)
		case words:
			m &= 1<<(from&63) - 1
		}
		if m != 0 {
			slot := i<<6 + uint64(bits.TrailingZeros64(m))
			return 1 + (slot-from)&mask
		}
	}
	return 0
}

// nextExpiry returns the exact instant of the next expiry, if that is not after limit. first is the
// earliest deadline of the timers that came up, or idle. earliest returns that of a list, or first
// if that is earlier.
func (w *lazyLevels) nextExpiry(limit Time, first uint64, earliest func(list uint32, first uint64) uint64) (Time, bool) {
	last := w.floor(limit)
	for level := range w.levels {
		shift := level * w.bits
		n := w.cur >> shift
		end := n + w.mask
		for {
			ahead := nextBusy(w.bitsOf(level), n, w.mask)
			n += ahead
			// A slot that comes up at tick v holds no timer that is due before v.
			if v := n << shift; ahead == 0 || n > end || v > last || v*uint64(w.size) > first {
				break
			}
			first = earliest(uint32(level)<<w.bits|uint32(n&w.mask), first)
		}
	}
	if w.wrap <= last && w.wrap*uint64(w.size) <= first {
		first = earliest(w.beyond(), first)
	}
	if tick := max(w.cur, w.up(first)); first < idle && tick <= last {
		return w.time(tick), true
	}
	return 0, false
}

// nextWakeup returns the first instant at which Advance may have work to do. due says that timers
// are due now.
func (w *lazyLevels) nextWakeup(due bool) (Time, bool) {
	switch {
	case w.Len() == 0:
		return 0, false
	case due:
		return w.Now(), true
	}
	return w.time(min(w.nextSlot(0), w.coming)), true
}

// choose follows Ratas, as scheme7.choose does: the latest tick on a slot boundary of the coarsest
// level that has one in the range.
func (w *lazyLevels) choose(lo, hi uint64) uint64 {
	for level := w.levels; level > 0 && hi > w.cur; level-- {
		shift := level * w.bits
		if tick := hi >> shift << shift; tick >= max(lo, w.cur+1) {
			return tick
		}
	}
	return hi
}
