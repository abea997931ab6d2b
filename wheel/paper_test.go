package wheel

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// One test per claim of Varghese and Lauck, "Hashed and Hierarchical Timing Wheels" (IEEE/ACM ToN
// 5(6), 1997), in exact counts. For the insertion costs of Scheme 2 see scheme2_test.go, for Fig.
// 9 callouts_test.go, for Nichols' precision nichols_test.go, for Appendix B sharded_test.go.

// paperWheel is a facility that counts, with a tick of 1 ns. Its epoch is tick 0.
func paperWheel(t *testing.T, scheme string, cfg Config) Facility {
	t.Helper()
	cfg.Tick, cfg.Count = 1, true
	f, err := New(scheme, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// counted returns the counts of do.
func counted(f Facility, do func()) Counts {
	before := f.Counts()
	do()
	return f.Counts().Sub(before)
}

func nothing(Timer) {}

// wheels6 are the forms of Scheme 6. Each must keep the paper's counts.
var wheels6 = []string{"scheme6", "scheme6-eager", "scheme6-list"}

// wheels7 are the forms of Scheme 7 with full migration.
var wheels7 = []string{"scheme7", "scheme7-lazy"}

func TestTableII(t *testing.T) {
	// Table II, "latency metrics for three previously used schemes", and the text of Schemes 4 to
	// 7. A class is what one routine looks at with n running timers: records visited, comparisons
	// and moves.
	const (
		one = iota
		logN
		all
	)
	within := func(class int, n, got uint64) bool {
		switch class {
		case one:
			return got <= 8
		case logN:
			return got <= 4*uint64(bits.Len64(n))
		}
		return n <= got && got <= 3*n
	}
	name := []string{"O(1)", "O(log n)", "O(n)"}
	for _, row := range []struct {
		scheme            string
		start, stop, tick int
	}{
		{"scheme1", one, one, all},
		{"scheme2", all, one, one},
		// "if timers are always inserted at the rear of the list, ... O(1)"
		{"scheme2-rear", one, one, one},
		{"scheme3", logN, logN, one},
		{"scheme3-tree", all, one, one}, // "unbalanced binary trees easily degenerate into a linear list"
		{"scheme4", one, one, one},
		{"scheme5", one, one, one},
		{"scheme6", one, one, one},
		{"scheme6-eager", one, one, one},
		{"scheme6-list", one, one, one},
		{"scheme7", one, one, one},
		{"scheme7-lazy", one, one, one},
		{"callout", all, one, one},
	} {
		t.Run(row.scheme, func(t *testing.T) {
			for _, n := range []uint64{100, 1000, 4000} {
				costs := tableII(t, row.scheme, n)
				for i, class := range []int{row.start, row.stop, row.tick} {
					if !within(class, n, costs[i]) {
						t.Errorf("n=%d: %s took %d steps, want %s", n, [...]string{"START", "STOP", "a tick"}[i], costs[i], name[class])
					}
				}
			}
		})
	}
}

// tableII returns the steps of a START, a STOP and a tick with n running timers.
func tableII(t *testing.T, scheme string, n uint64) (costs [3]uint64) {
	cfg := Config{}
	if scheme == "scheme4" {
		// "we can guarantee that all timers are set for periods less than MaxInterval"
		cfg.Slots = 1 << 14
	}
	f := paperWheel(t, scheme, cfg)
	f.Schedule(f.New(0), 1<<20) // far away, so that no tick below finds the structure empty
	var mid Timer
	for i := range n {
		timer := f.New(i)
		f.Schedule(timer, Time(2*i+5000))
		if i == n/2 {
			mid = timer
		}
	}
	last := f.New(n)
	for i, do := range []func(){
		func() { f.Schedule(last, Time(2*n+5000)) },
		func() { f.Stop(mid) },
		func() { f.Advance(f.Now()+1, 0, nothing) },
	} {
		c := counted(f, do)
		costs[i] = max(c.Visits(), c.Comparisons, c.Moves)
	}
	return costs
}

func TestScheme6VisitsEveryTimerOncePerRotation(t *testing.T) {
	// §VI-A2: "every TableSize ticks we decrement once all timers that are still living",
	// whatever the hash: it "controls the variance" of the cost of a tick and not the mean.
	const M, n = 256, 5000
	random := rand.New(rand.NewPCG(1, 0))
	for _, scheme := range wheels6 {
		for _, spread := range []struct {
			name string
			tick func(i int) Time
		}{
			{"at random", func(int) Time { return 100_000 + Time(random.IntN(1<<20)) }},
			{"all in one slot", func(i int) Time { return 100_000 - 100_000%M + Time(i)*M }},
			{"all at once", func(int) Time { return 1 << 20 }},
		} {
			t.Run(scheme+"/"+spread.name, func(t *testing.T) {
				f := paperWheel(t, scheme, Config{Slots: M})
				for i := range n {
					f.Schedule(f.New(uint64(i)), spread.tick(i))
				}
				for range 4 {
					c := counted(f, func() {
						for range M {
							f.Advance(f.Now()+1, 0, nothing)
						}
					})
					if c.TickVisits != n {
						t.Fatalf("%d visits in %d ticks with %d timers living, want %d", c.TickVisits, M, n, n)
					}
				}
			})
		}
	}
}

func TestScheme6VisitsATimerOfIntervalJ(t *testing.T) {
	// §VI-A2, in whole visits: a timer of j ticks is visited ⌊(j-1)/M⌋+1 times, the last time to
	// expire. For intervals of mean T that is T/M on average, if M is small compared with T.
	for _, M := range []int{2, 16, 256} {
		for _, j := range []int{1, 2, M - 1, M, M + 1, 2 * M, 2*M + 1, 10*M - 1, 1000} {
			for _, scheme := range wheels6 {
				f := paperWheel(t, scheme, Config{Slots: M})
				f.Advance(5, 0, nothing)
				f.Schedule(f.New(0), f.Now()+Time(j))
				for f.Len() > 0 {
					f.Advance(f.Now()+1, 0, nothing)
				}
				if got, want := f.Counts().TickVisits, uint64((j-1)/M+1); j > 0 && got != want {
					t.Errorf("%s, M=%d: a timer of %d ticks was visited %d times, want %d", scheme, M, j, got, want)
				}
			}
		}
	}
}

func TestScheme7MovesATimerAtMostOncePerLevel(t *testing.T) {
	// §VI-B: a timer of Scheme 7 moves at most once for each level below the one it is started
	// on: "m is the maximum number of lists to migrate between".
	random := rand.New(rand.NewPCG(2, 0))
	for _, m := range []int{2, 3, 4, 5} {
		f := paperWheel(t, "scheme7", Config{Slots: 16, Levels: m})
		span := int64(1) << (4 * m)
		for range 1000 {
			timer := f.New(0)
			c := counted(f, func() {
				f.Schedule(timer, f.Now()+1+Time(random.Int64N(span-1)))
				for f.Len() > 0 {
					at, _ := f.NextWakeup()
					f.Advance(at, 0, nothing)
				}
			})
			if c.Migrations > uint64(m-1) {
				t.Fatalf("m=%d: a timer migrated %d times, want at most %d", m, c.Migrations, m-1)
			}
			f.Free(timer)
		}
	}
}

func TestWorkPerTickOfSchemes6And7(t *testing.T) {
	// §VI-B: "The average cost per unit time for an average of n timers then becomes n·c(6)/M for
	// Scheme 6, n·c(7)·m/T for Scheme 7". With n timers that run for T ticks each and start again
	// when they expire, the counts are exact. A rotation of Scheme 6 visits each timer once. T
	// ticks of Scheme 7 move each timer at most m-1 times and expire it once.
	const n, T = 1000, 1 << 14
	f6 := paperWheel(t, "scheme6", Config{Slots: 256})
	f7 := paperWheel(t, "scheme7", Config{Slots: 32, Levels: 3})
	for _, f := range []Facility{f6, f7} {
		again := func(timer Timer) { f.Schedule(timer, f.Now()+T) }
		for i := range n {
			f.Schedule(f.New(0), Time(1+i*T/n))
		}
		f.Advance(2*T, 0, again) // all timers have started again
		c := counted(f, func() { f.Advance(f.Now()+4*T, 0, again) })
		if f == f6 {
			if got, want := c.TickVisits, uint64(n*4*T/256); got != want {
				t.Errorf("Scheme 6: %d visits in %d ticks, want n·t/M = %d", got, 4*T, want)
			}
			continue
		}
		if most := uint64(4 * n * 2); c.Migrations > most || c.Migrations < most/4 {
			t.Errorf("Scheme 7: %d migrations in %d ticks, want at most n·(m-1)·t/T = %d, and not far fewer", c.Migrations, 4*T, most)
		}
		if c.Expiries != 4*n {
			t.Errorf("Scheme 7: %d expiries, want %d", c.Expiries, 4*n)
		}
	}
}

func TestInterruptsPerTimer(t *testing.T) {
	// Appendix A: "In Scheme 6, the host is interrupted an average of T/M times per timer
	// interval ... In Scheme 7 the host is interrupted at most m times". A host that is
	// interrupted only on busy slots calls Advance only at NextWakeup.
	interrupts := func(f Facility, interval Time) (n int) {
		f.Schedule(f.New(0), f.Now()+interval)
		for f.Len() > 0 {
			at, ok := f.NextWakeup()
			if !ok {
				t.Fatal("a timer runs, but NextWakeup reports none")
			}
			f.Advance(at, 0, nothing)
			n++
		}
		return n
	}
	for _, T := range []int{1, 100, 1000, 10_000, 100_000} {
		for _, scheme := range wheels6 {
			f := paperWheel(t, scheme, Config{Slots: 256})
			if got, want := interrupts(f, Time(T)), (T-1)/256+1; got != want {
				t.Errorf("%s: %d interrupts for an interval of %d ticks, want %d", scheme, got, T, want)
			}
			if got := int(f.Counts().Wakeups); got != (T-1)/256+1 {
				t.Errorf("%s: %d wake-ups counted for an interval of %d ticks, want %d", scheme, got, T, (T-1)/256+1)
			}
		}
		for _, scheme := range wheels7 {
			for _, m := range []int{3, 4, 5} {
				f := paperWheel(t, scheme, Config{Slots: 64, Levels: m})
				f.Advance(12345, 0, nothing)
				if got := interrupts(f, Time(T)); got > m {
					t.Errorf("%s, %d levels: %d interrupts for an interval of %d ticks, want at most %d", scheme, m, got, T, m)
				}
			}
		}
	}
}

func TestInterruptIsSharedByTheTimersOfASlot(t *testing.T) {
	for _, scheme := range wheels6 {
		f := paperWheel(t, scheme, Config{Slots: 256})
		for range 100 {
			f.Schedule(f.New(0), 1000)
		}
		for range 1000 {
			f.Advance(f.Now()+1, 0, nothing)
		}
		if c := f.Counts(); c.Wakeups != 4 || c.TickVisits != 400 || c.Expiries != 100 {
			t.Errorf("%s: %d wake-ups, %d visits, %d expiries for 100 timers of one tick, want 4, 400, 100",
				scheme, c.Wakeups, c.TickVisits, c.Expiries)
		}
	}
}

func TestTheExampleOfScheme7(t *testing.T) {
	// §VI-B, Figs. 7 and 8: "Let the current time be 11 days 10 h 24 min 30 s. Then to set a timer
	// of 50 min and 45 s, we first calculate the absolute time at which the timer will expire. This
	// is 11 days 11 h 15 min 15 s." It expires there in every scheme, and moves at most twice.
	at := func(days, h, m, s Time) Time { return ((days*24+h)*60+m)*60 + s }
	for _, scheme := range append([]string{"scheme1", "scheme2", "scheme3", "scheme5"}, append(wheels6, wheels7...)...) {
		f := paperWheel(t, scheme, Config{})
		f.Advance(at(11, 10, 24, 30), 0, nothing)
		f.Schedule(f.New(0), f.Now()+at(0, 0, 50, 45))
		if n, _ := f.Advance(at(11, 11, 15, 14), 0, nothing); n != 0 {
			t.Errorf("%s: expired before 11 days 11:15:15", scheme)
		}
		if n, _ := f.Advance(at(11, 11, 15, 15), 0, nothing); n != 1 || f.Counts().Migrations > 2 {
			t.Errorf("%s: %d expired at 11 days 11:15:15 after %d migrations, want 1, at most 2", scheme, n,
				f.Counts().Migrations)
		}
	}
}

func TestLogicSimulationWheelsOverflow(t *testing.T) {
	// §IV-B: "as time increases within a cycle and we travel down the array it becomes more
	// likely that event records will be inserted in the overflow list", and rotating half way
	// through "reduces but does not completely avoid this effect". Of timers of M/4 ticks,
	// started at every tick, each that overflows moves once when the wheel rotates.
	const M = 256
	moved := map[string]uint64{}
	for _, scheme := range []string{"logicsim", "logicsim-half", "scheme6-list"} {
		f := paperWheel(t, scheme, Config{Slots: M})
		for range 16 * M {
			f.Schedule(f.New(0), f.Now()+M/4)
			f.Advance(f.Now()+1, 0, nothing)
		}
		moved[scheme] = f.Counts().Moves
	}
	if moved["scheme6-list"] != 0 {
		t.Errorf("Scheme 6 rotates at every tick and moved %d timers, want 0", moved["scheme6-list"])
	}
	if moved["logicsim"] < 16*M/8 {
		t.Errorf("the wheel that rotates at wrap moved %d timers of %d, want a quarter or so", moved["logicsim"], 16*M)
	}
	if moved["logicsim-half"] >= moved["logicsim"] {
		t.Errorf("rotating at half moved %d timers, at wrap %d: want fewer", moved["logicsim-half"], moved["logicsim"])
	}
}

func ExampleFacility() {
	w := MustNew(Default, Config{Tick: 1_000_000}) // 1 ms
	t := w.New(7)
	w.Schedule(t, 1_500_000)
	at, _ := w.NextExpiry(1_000_000_000)
	fmt.Println("sleep until", at)
	w.Advance(at, 0, func(t Timer) { fmt.Println("owner", w.Owner(t), "expires at", w.Now()) })
	// Output:
	// sleep until 2ms
	// owner 7 expires at 2ms
}
