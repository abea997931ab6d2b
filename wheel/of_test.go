package wheel

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"
)

// An Of keeps the contract of Facility: as two schemes of the tests, of and of-batch, it is held to
// all of it. Batches of one timer differ from Advance in nothing.
func init() {
	for _, name := range []string{"of", "of-batch"} {
		builders = append(builders, builder{name: name, slots: 256, most: lazySlots, build: newOfFacility,
			about: "timers inside their owners, behind the interface"})
	}
}

// ofFacility is a Facility on an Of: it gives entries numbers, which an Of does without.
type ofFacility struct {
	*Of[Timer]
	name    string
	entries []*Entry[Timer] // by number
	owners  []uint64
	used    []bool
	free    []Timer // the next of New is the last
}

func newOfFacility(name string, cfg Config) Facility {
	cfg.Count = false
	w, err := NewOf[Timer](cfg)
	if err != nil {
		panic(err)
	}
	f := &ofFacility{Of: w, name: name, entries: make([]*Entry[Timer], 1), owners: make([]uint64, 1), used: make([]bool, 1)}
	f.Reserve(16)
	return f
}

func (f *ofFacility) Reserve(n int) {
	if n > maxRecords {
		panic(fmt.Sprintf("BUG: wheel: reserve %d timers, want at most %d", n, maxRecords))
	}
	made := Timer(len(f.entries))
	more := make([]Entry[Timer], max(0, n+1-int(made)))
	for i := range more {
		f.entries = append(f.entries, &more[i])
	}
	f.owners = append(f.owners, make([]uint64, len(more))...)
	f.used = append(f.used, make([]bool, len(more))...)
	var unused []Timer
	for t := made + Timer(len(more)); t > made; t-- {
		unused = append(unused, t-1)
	}
	f.free = append(slices.Grow(unused, n), f.free...)
}

func (f *ofFacility) New(owner uint64) Timer {
	if len(f.free) == 0 {
		f.Reserve(2 * len(f.entries))
	}
	t := f.free[len(f.free)-1]
	f.free = f.free[:len(f.free)-1]
	*f.entries[t] = Entry[Timer]{Owner: t}
	f.owners[t], f.used[t] = owner, true
	return t
}

func (f *ofFacility) entry(t Timer) *Entry[Timer] {
	if !f.used[t] {
		panic(fmt.Sprintf("BUG: wheel: timer %d is not in use", t))
	}
	return f.entries[t]
}

func (f *ofFacility) Free(t Timer) {
	f.Of.Remove(f.entry(t))
	f.used[t] = false
	f.free = append(f.free, t)
}

func (f *ofFacility) Owner(t Timer) uint64                 { return f.owners[t] }
func (f *ofFacility) Schedule(t Timer, at Time)            { f.Of.Schedule(f.entry(t), at) }
func (f *ofFacility) ScheduleRange(t Timer, from, to Time) { f.Of.ScheduleRange(f.entry(t), from, to) }
func (f *ofFacility) Stop(t Timer) bool                    { return f.Of.Stop(f.entry(t)) }
func (f *ofFacility) Deadline(t Timer) (Time, bool)        { return f.Of.Deadline(f.entry(t)) }
func (f *ofFacility) Counts() Counts                       { return Counts{} }
func (f *ofFacility) ResetCounts()                         {}
func (f *ofFacility) Scheme() string                       { return f.name }

func (f *ofFacility) Advance(now Time, limit int, expire func(Timer)) (n int, done bool) {
	if f.name == "of" {
		return f.Of.Advance(now, limit, func(e *Entry[Timer]) { expire(e.Owner) })
	}
	var due [1]*Entry[Timer]
	for ; limit <= 0 || n < limit; n++ {
		if f.AdvanceBatch(now, due[:]) == 0 {
			return n, true
		}
		f.expiring = true
		expire(due[0].Owner)
		f.expiring = false
	}
	return n, false
}

func (f *ofFacility) check() error {
	running, placed := 0, 0
	for _, e := range f.entries {
		if e == nil {
			continue // number 0
		}
		if e.deadline != 0 {
			running++
		}
		if e.next != nil {
			placed++
		} else if e.deadline != 0 {
			return fmt.Errorf("of: timer %d runs and is in no list", e.Owner)
		}
	}
	held, err := f.held()
	if err == nil && (running != f.Len() || placed != held) {
		err = fmt.Errorf("of: %d running, want %d; %d placed, %d held", running, f.Len(), placed, held)
	}
	return err
}

// held returns the number of entries in all lists, or the first broken link, busy bit or deadline.
func (f *ofFacility) held() (held int, err error) {
	w := f.Of
	slots := int(w.beyond())
	for i := range w.lists {
		l := &w.lists[i]
		first, n := l.next, 0
		if l == w.list(lazyDue) {
			first = w.due
		}
		comes := w.cur + 1 // the tick at which the list comes up, or an earlier one
		if i < slots {
			level, slot := uint8(i>>w.bits), uint64(i)&w.mask
			shift := level * w.bits
			comes = (w.cur>>shift + (slot-w.cur>>shift)&w.mask) << shift
			busy := w.bitsOf(level)[slot>>6]>>(slot&63)&1 != 0
			if empty := first == l; busy == empty {
				return held, fmt.Errorf("of: level %d, slot %d: busy bit %t, empty %t", level, slot, busy, empty)
			}
			if busy && (comes <= w.cur || level > 0 && comes < w.coming) {
				return held, fmt.Errorf("of: level %d, slot %d comes up at %d, now %d, coming %d", level, slot, comes, w.cur, w.coming)
			}
		}
		for prev, e := l, first; e != l; prev, e = e, e.next {
			if e.prev != prev && e != w.due || n > len(f.entries) {
				return held, fmt.Errorf("of: list %d: broken at timer %d", i, e.Owner)
			}
			if tick := w.up(e.deadline - 1); i < slots && e.deadline != 0 && tick < comes {
				return held, fmt.Errorf("of: timer %d expires at tick %d, before its list %d comes up at %d", e.Owner, tick, i, comes)
			}
			n++
		}
		held += n
	}
	return held, nil
}

func TestOfRefusesWhatItCannotDo(t *testing.T) {
	for _, cfg := range []Config{{Count: true}, {Slots: 3}, {Slots: 1 << 13}, {Tick: -1}, {Levels: 9}} {
		if w, err := NewOf[int](cfg); err == nil || w != nil {
			t.Errorf("NewOf(%+v) = %v, %v, want an error", cfg, w, err)
		}
	}
}

func TestOfAllocatesNothingAfterNewOf(t *testing.T) {
	w, err := NewOf[int](Config{})
	if err != nil {
		t.Fatal(err)
	}
	entries := make([]Entry[int], 1000)
	now := Time(0)
	expired := 0
	n := testing.AllocsPerRun(10, func() {
		for i := range entries {
			w.Schedule(&entries[i], now.Add(time.Duration(i)*time.Second))
		}
		now = now.Add(500 * time.Second)
		w.Advance(now, 0, func(*Entry[int]) { expired++ })
	})
	if n != 0 || expired == 0 {
		t.Errorf("%v allocations, %d timers expired, want none and some", n, expired)
	}
}

// TestBatchesExpireWhatAdvanceDoes: batches of any size hold the timers that Advance passes to its
// function, in its order, those of one tick at a time, while the program starts them again.
func TestBatchesExpireWhatAdvanceDoes(t *testing.T) {
	type expiry struct {
		i  int
		at Time
	}
	run := func(batch int) (all []expiry) {
		w, err := NewOf[int](Config{Tick: time.Microsecond, Slots: 8})
		if err != nil {
			t.Fatal(err)
		}
		entries := make([]Entry[int], 200)
		start := func(i int, now Time) { w.Schedule(&entries[i], now+Time(1+i%50*(i+7))*us/3) }
		for i := range entries {
			entries[i].Owner = i
			start(i, 0)
		}
		expire := func(e *Entry[int], now Time) {
			i := e.Owner
			all = append(all, expiry{i, now})
			if i%3 > 0 {
				start(i, now)
			}
		}
		due := make([]*Entry[int], batch)
		for now := Time(0); now < 5*ms; now += 300 * us {
			if batch == 0 {
				w.Advance(now, 0, func(e *Entry[int]) { expire(e, w.Now()) })
				continue
			}
			for n := w.AdvanceBatch(now, due); n > 0; n = w.AdvanceBatch(now, due) {
				for _, e := range due[:n] {
					if _, running := w.Deadline(e); running {
						t.Fatalf("timer %d is in a batch and runs", e.Owner)
					}
				}
				for _, e := range due[:n] {
					expire(e, w.Now())
				}
			}
		}
		return all
	}
	want := run(0)
	if len(want) < 1000 {
		t.Fatalf("%d expiries, want more", len(want))
	}
	for _, batch := range []int{1, 2, 7, 1000} {
		if got := run(batch); !slices.Equal(got, want) {
			t.Errorf("batches of %d expire %d timers, not the %d of Advance in its order", batch, len(got), len(want))
		}
	}
}

// TestRemoveForgetsTheOwner: Stop leaves a reference in the wheel until the timer's place comes up,
// and Remove does not.
func TestRemoveForgetsTheOwner(t *testing.T) {
	type conn struct {
		idle Entry[int]
		_    [1 << 16]byte
	}
	w, err := NewOf[int](Config{})
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan bool, 1)
	func() {
		c := new(conn)
		runtime.AddCleanup(c, func(gone chan bool) { gone <- true }, gone)
		w.Schedule(&c.idle, Time(time.Hour))
		if !w.Remove(&c.idle) || w.Remove(&c.idle) {
			t.Error("Remove does not report that the timer was running, and then that it was not")
		}
	}()
	for range 100 {
		runtime.GC()
		select {
		case <-gone:
			if w.Len() != 0 {
				t.Errorf("%d timers run, want none", w.Len())
			}
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Error("the wheel still refers to a removed timer's owner")
}

// BenchmarkCollection is a garbage collection with 10^6 running timers, each in an owner of its
// own: as entries of an Of, and as handles of a Facility.
func BenchmarkCollection(b *testing.B) {
	const n = 1_000_000
	at := func(i int) Time { return Time(time.Minute) + Time(i)*us }
	b.Run("of", func(b *testing.B) {
		w, err := NewOf[int](Config{})
		if err != nil {
			b.Fatal(err)
		}
		owners := make([]*Entry[int], n)
		for i := range owners {
			owners[i] = new(Entry[int])
			w.Schedule(owners[i], at(i))
		}
		for b.Loop() {
			runtime.GC()
		}
		runtime.KeepAlive(owners)
	})
	b.Run("facility", func(b *testing.B) {
		w := MustNew(Default, Config{})
		owners := make([]*[5]Timer, n)
		for i := range owners {
			owners[i] = new([5]Timer)
			owners[i][0] = w.New(uint64(i))
			w.Schedule(owners[i][0], at(i))
		}
		for b.Loop() {
			runtime.GC()
		}
		runtime.KeepAlive(owners)
	})
}
